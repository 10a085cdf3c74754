/**
 * The gate in front of the tools: a call that a rule holds waits for a person, who decides on a page of this server.
 * No answer of a client approves anything.
 */
import {
  digestOf,
  type HeldCall,
  heldCallId,
  heldCallKey,
  heldMs,
  listHeldCalls,
  maxHeldCalls,
  putHeldCall,
  readHeldCall,
  type StoredHeldCall,
  takeHeldCall,
} from "./held_call.ts";
import { effectOf, maxEffectCharacters, placesOf } from "./effect.ts";
import { firstFitting, type JudgedCall, type Rule } from "./rule.ts";
import type { RuleStore } from "./rule_store.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Log } from "../lib/log/log.ts";
import type { Timers } from "../lib/time/timers.ts";
import { watchEntries } from "../lib/watch_entries.ts";
import type { Tool, ToolContext, ToolOutcome } from "../mcp/tool.ts";
import type { Storage } from "../storage/port.ts";

/** How long a client is kept waiting: less than the 60 seconds after which most give up. */
const patienceMs = 45_000;
const progressEveryMs = 5_000;
const maxArgumentCharacters = 20_000;
/** Calls of one person that wait. */
const maxWaitingOfPerson = 50;

interface GateOptions {
  readonly rules: RuleStore;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Where people decide. */
  readonly pageUrl: string;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
  /** For tests; otherwise the constant above. */
  readonly patienceMs?: number;
}

/** The tool behind the gate. Without rules a call costs a look at the length of a list. */
export function gateTool(tool: Tool, options: GateOptions): Tool {
  const { rules } = options;
  const changes = tool.annotations.readOnlyHint !== true;
  return {
    ...tool,
    run(input, context) {
      if (rules.current.length === 0) return tool.run(input, context);
      const { subject: person, clientId, grantId } = context.principal;
      const judged: JudgedCall = { person, clientId, grantId, tool: tool.name, changes, places: placesOf(tool, input) };
      const rule = firstFitting(rules.current, judged, options.clock());
      if (rule === null) return tool.run(input, context);
      if (rule.verdict === "allow") return tool.run(input, withoutQuestions(context));
      return rule.verdict === "deny" ? denied() : hold(tool, { input, context, judged, rule }, options);
    },
  };
}

interface Held {
  readonly input: never;
  readonly context: ToolContext;
  readonly judged: JudgedCall;
  readonly rule: Rule;
}

function denied(): ToolOutcome {
  return {
    ok: false,
    code: "denied_by_rule",
    message: "The owner of this server does not allow this call. Do not try to reach the same by another way.",
  };
}

/** Waits for a decision, then runs the call once, if it would still do what was approved. */
async function hold(tool: Tool, held: Held, options: GateOptions): Promise<ToolOutcome> {
  const { input, context } = held;
  const effect = await effectOf(tool, input, context);
  if (effect !== null && "failure" in effect) return effect.failure;
  const asked = await ask(tool, held, effect?.text ?? JSON.stringify(input, null, 2), options);
  if (asked === null) return tooMany();
  const decided = asked.call.state === "waiting" ? await waitForDecision(asked, context, options) : asked;
  const { log } = options;
  const { id, person, clientId } = asked.call;
  const fields = { held: id, tool: tool.name, user: person, client: clientId };
  if (decided === null) return waits(options.pageUrl);
  if (decided.call.state === "denied") {
    return { ok: false, code: "denied_by_person", message: deniedWords(decided.call) };
  }
  if (decided.call.effectDigest !== asked.call.effectDigest || !await takeHeldCall(options.storage, decided)) {
    return waits(options.pageUrl); // another call used the approval, or what was approved has changed
  }
  log.write("audit", "held_call", { outcome: "runs", by: decided.call.decidedBy, ...fields });
  return await tool.run(input, withoutQuestions(context));
}

/** Where a rule decides, the tool does not ask the client's person once more. */
function withoutQuestions(context: ToolContext): ToolContext {
  return new Proxy(context, {
    get(target, name) {
      if (name === "supports") {
        return (ability: Parameters<ToolContext["supports"]>[0]) =>
          ability !== "elicitation" && target.supports(ability);
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The stored call: as it is where it waits or was decided with the same effect, else stored anew. */
async function ask(
  tool: Tool,
  { input, judged, rule }: Held,
  effect: string,
  { storage, clock, log, nameOfClient }: GateOptions,
): Promise<StoredHeldCall | null> {
  const id = heldCallId(judged, input);
  const effectDigest = digestOf(effect);
  for (;;) {
    const found = await readHeldCall(storage, id);
    if (found !== null && found.call.state === "denied") return found;
    if (found !== null && found.call.effectDigest === effectDigest) return found;
    if (found === null && await isFull(storage, judged.person)) return null;
    const now = clock();
    const call: HeldCall = {
      id,
      person: judged.person,
      clientId: judged.clientId,
      clientName: nameOfClient(judged.clientId),
      grantId: judged.grantId,
      tool: tool.name,
      places: [...judged.places],
      arguments: JSON.stringify(input, null, 2).slice(0, maxArgumentCharacters),
      effect: effect.slice(0, maxEffectCharacters),
      effectDigest,
      approver: rule.approver ?? "person",
      createdAt: now,
      expiresAt: now + heldMs,
      state: "waiting",
    };
    if (!await putHeldCall(storage, call, found?.version ?? null)) continue;
    const fields = { held: id, tool: tool.name, user: judged.person, client: judged.clientId };
    log.write("audit", "held_call", { outcome: found === null ? "waits" : "changed", ...fields });
    const stored = await readHeldCall(storage, id);
    if (stored !== null) return stored;
  }
}

async function isFull(storage: Storage, person: string): Promise<boolean> {
  const all = await listHeldCalls(storage);
  return all.length >= maxHeldCalls || all.filter((call) => call.person === person).length >= maxWaitingOfPerson;
}

/** The decided call; `null` where the client is told to come again, or has gone. */
async function waitForDecision(
  { call }: StoredHeldCall,
  context: ToolContext,
  options: GateOptions,
): Promise<StoredHeldCall | null> {
  const { storage, timers, log, pageUrl } = options;
  const { promise, resolve, reject } = Promise.withResolvers<StoredHeldCall | null>();
  const watch = watchEntries(storage, [heldCallKey(call.id)], async () => {
    const now = await readHeldCall(storage, call.id);
    if (now === null || now.call.state !== "waiting") resolve(now);
  }, { log, timers });
  const giveUp = (): void => resolve(null);
  await context.handOut();
  const waitMs = context.supports("tasks") ? heldMs : options.patienceMs ?? patienceMs;
  const stopWaiting = timers.after(waitMs, giveUp);
  const startedAt = timers.elapsed();
  const url = `${pageUrl}?call=${call.id}`;
  const message = `Waiting for approval at ${url}`;
  const tell = (): void => context.progress({ progress: (timers.elapsed() - startedAt) / 1_000, message });
  const stopTelling = timers.every(progressEveryMs, tell);
  const signals = [context.signal, context.answerNow];
  for (const signal of signals) {
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
  }
  tell();
  watch.look();
  if (context.supports("url_elicitation")) {
    const words = `Decide whether ${call.clientName} may use ${call.tool}.`;
    const page = { method: "elicitation/create", params: { mode: "url", message: words, url } } as const;
    // Opening the page is all that the client can say yes to: the decision is made there.
    context.ask({ approval: page }).then((answers) => {
      if (answers.ok && answers.value.approval.action !== "accept") giveUp();
    }, reject);
  }
  try {
    return await promise;
  } finally {
    watch.stop();
    stopWaiting();
    stopTelling();
    for (const signal of signals) signal.removeEventListener("abort", giveUp);
  }
}

function waits(pageUrl: string): ToolOutcome {
  const message = `Nothing was done yet: this call waits for a person's approval at ${pageUrl}. ` +
    "Tell them, then call again with these same arguments.";
  return { ok: false, code: "approval_pending", message };
}

function tooMany(): ToolOutcome {
  const message = "Nothing was done: too many calls wait for approval. Try again after some were decided.";
  return { ok: false, code: "too_many_held_calls", message };
}

function deniedWords({ word }: HeldCall): string {
  const said = word === undefined || word === "" ? "" : ` They say: ${word}`;
  return `A person refused this call. Nothing was done.${said}`;
}
