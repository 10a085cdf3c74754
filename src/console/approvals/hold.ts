/** Waits for a person's decision, as long as the client does. */
import {
  type HeldCall,
  heldCallId,
  heldCallKey,
  heldMs,
  listHeldCalls,
  putHeldCall,
  readHeldCall,
  type StoredHeldCall,
} from "./decisions.ts";
import type { JudgedCall, Rule } from "./rule.ts";
import { placeFor } from "./places.ts";
import { type Clock, leastReadingMs, type Timers } from "../../lib/time.ts";
import type { Log } from "../../lib/log.ts";
import type { Storage } from "../../storage/mod.ts";
import { showExactly } from "../../files/mod.ts";
import { watchEntries } from "../../lib/stored_entries.ts";
import type { ToolContext } from "../../mcp/mod.ts";

// Puts a call in front of people: stores it with what it would do, where there is a place for it.

/** A text within a bound that says what it leaves out: an approval of a cut text must not look like one of all of it. */
function cutMiddle(text: string, maxCharacters: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= maxCharacters) return whole;
  const half = Math.floor(maxCharacters / 2);
  const left = whole.length - 2 * half;
  return `${whole.slice(0, half)}\n[${left} characters are not shown here]\n${whole.slice(-half)}`.toWellFormed();
}

const maxArgumentCharacters = 20_000;
const maxEffectCharacters = 50_000;
const maxShownPlaces = 20;
const maxPlaceCharacters = 200;
/** Each time another call, or a person, was quicker. */
const maxAttempts = 20;

/** Why a call was not stored. */
export type NotHeld = "too_many" | "busy";

interface AskedCall {
  readonly input: unknown;
  readonly judged: JudgedCall;
  readonly rule: Rule;
  /** All rules that ask about it. */
  readonly asking?: readonly Rule[];
  /** What the call would do. */
  readonly effect: string;
  /** Of all that the approval is for. */
  readonly effectDigest: string;
}

interface AskOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
}

/** The stored call: as it is where it waits or was decided with the same effect, else stored anew. */
export async function ask(asked: AskedCall, options: AskOptions): Promise<StoredHeldCall | NotHeld> {
  const { judged, rule } = asked;
  const { storage, log } = options;
  const call = toHeldCall(asked, options);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const found = await readHeldCall(storage, call.id);
    if (found?.call.state === "denied") return found;
    if (found?.call.effectDigest === call.effectDigest && !isStricter(rule, found.call)) return found;
    const place = found === null ? placeFor(judged, await listHeldCalls(storage)) : "free";
    if (place === "none") return "too_many";
    const displaced = place === "free" ? null : await readHeldCall(storage, place.id);
    if (displaced?.call.state === "approved") continue; // meanwhile
    if (!await putHeldCall(storage, call, { version: found?.version ?? null, displaced })) continue;
    note(log, found === null ? "waits" : "changed", call);
    if (displaced !== null) note(log, "displaced", displaced.call);
    const stored = await readHeldCall(storage, call.id);
    if (stored !== null) return stored;
  }
  return "busy";
}

/** Whether the call waits already, or may begin to. */
export async function hasPlace(storage: Storage, id: string, judged: JudgedCall): Promise<boolean> {
  return await readHeldCall(storage, id) !== null || placeFor(judged, await listHeldCalls(storage)) !== "none";
}

/** Whether the rule wants an administrator where the call was asked of the person. */
export function isStricter(rule: Rule, call: HeldCall): boolean {
  return rule.verdict === "ask" && rule.approver === "administrator" && call.approver === "person";
}

function toHeldCall(
  { input, judged, rule, asking = [], effect, effectDigest }: AskedCall,
  { clock, nameOfClient }: AskOptions,
): HeldCall {
  const { person, clientId, grantId, tool } = judged;
  const now = clock();
  return {
    id: heldCallId(judged, input),
    person,
    clientId,
    clientName: cutMiddle(showExactly(nameOfClient(clientId)), maxPlaceCharacters),
    grantId,
    tool,
    places: judged.places.slice(0, maxShownPlaces).map((place) => cutMiddle(showExactly(place), maxPlaceCharacters)),
    arguments: shown(JSON.stringify(input, null, 2), maxArgumentCharacters),
    effect: shown(effect, maxEffectCharacters),
    effectDigest,
    approver: rule.approver ?? "person",
    ruleId: rule.id,
    otherRuleIds: asking.map(({ id }) => id).filter((id) => id !== rule.id),
    createdAt: now,
    expiresAt: now + heldMs,
    state: "waiting",
  };
}

/** Cut before it is looked at letter by letter, and again where that made it longer. */
function shown(text: string, maxCharacters: number): string {
  return cutMiddle(showExactly(cutMiddle(text, maxCharacters)), maxCharacters);
}

function note(log: Log, outcome: "waits" | "changed" | "displaced", call: HeldCall): void {
  const { id, tool, person, clientId } = call;
  log.write("audit", "held_call", { outcome, held: id, tool, user: person, client: clientId });
}

/** How long a client is kept waiting: less than the 60 seconds after which most give up. */
const patienceMs = 45_000;
const progressEveryMs = 5_000;
const maxNameCharacters = 200;

export interface WaitOptions {
  readonly storage: Storage;
  readonly timers: Timers;
  readonly log: Log;
  /** Where people decide. */
  readonly pageUrl: string;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
  /** For tests; otherwise the constants of these names. */
  readonly patienceMs?: number;
  readonly leastReadingMs?: number;
}

interface WaitingCall {
  readonly id: string;
  readonly tool: string;
  /** The call once it is stored; or why it is not. The caller waits from the beginning, however long that takes. */
  readonly asking: Promise<StoredHeldCall | NotHeld>;
}

/** The decided call; `null` where the client is told to come again, or has gone. */
export async function waitForDecision(
  { id, tool, asking }: WaitingCall,
  context: ToolContext,
  options: WaitOptions,
): Promise<StoredHeldCall | NotHeld | null> {
  const { storage, timers, log, pageUrl } = options;
  const { promise, resolve, reject } = Promise.withResolvers<StoredHeldCall | NotHeld | null>();
  let isAsked = false;
  const watch = watchEntries(storage, [heldCallKey(id)], async () => {
    if (!isAsked) return; // what is stored is an earlier call's
    const now = await readHeldCall(storage, id);
    if (now === null || now.call.state !== "waiting") resolve(now);
  }, { log, timers });
  const giveUp = (): void => resolve(null);
  await context.handOut();
  const waitMs = context.supports("tasks") ? heldMs : options.patienceMs ?? patienceMs;
  const stopWaiting = timers.after(waitMs, giveUp);
  const startedAt = timers.elapsed();
  const url = `${pageUrl}?call=${id}`;
  const message = `Waiting for approval at ${url}`;
  const tell = (): void => context.progress({ progress: (timers.elapsed() - startedAt) / 1_000, message });
  const stopTelling = timers.every(progressEveryMs, tell);
  const signals = [context.signal, context.answerNow];
  for (const signal of signals) {
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
  }
  tell();
  asking.then((asked) => {
    if (typeof asked === "string" || asked.call.state !== "waiting") return resolve(asked);
    isAsked = true;
    watch.look();
  }, reject);
  if (context.supports("url_elicitation")) {
    const client = cutMiddle(showExactly(options.nameOfClient(context.principal.clientId)), maxNameCharacters);
    const words = `Decide whether ${client} may use ${tool}.`;
    const page = { method: "elicitation/create", params: { mode: "url", message: words, url } } as const;
    // Opening the page is all that the client can say yes to: the decision is made there.
    context.ask({ approval: page }).then((answers) => {
      const isRead = timers.elapsed() - startedAt >= (options.leastReadingMs ?? leastReadingMs);
      if (isRead && answers.ok && answers.value.approval.action !== "accept") giveUp();
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
