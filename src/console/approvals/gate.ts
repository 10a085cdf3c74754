/**
 * The gate in front of the tools: a call that a rule holds waits for a person, who decides on a page of this server.
 * No answer of a client approves anything.
 */
import { ask, hasPlace, isStricter, type NotHeld } from "./ask.ts";
import { contextWith, effectOf } from "./effect.ts";
import { type HeldCall, heldCallId, takeHeldCall } from "./held_call.ts";
import { type PlaceReader, placesOf } from "./places.ts";
import { waitForDecision, type WaitOptions } from "./wait_for_decision.ts";
import { askingRules, decidingRule, type JudgedCall, type Rule } from "./rule.ts";
import { type FindTrueNames, judgeByNames, namesBehindLinks, needsTrueNames, withTrueNames } from "./true_names.ts";
import type { RuleStore } from "./rule_store.ts";
import { digestOf } from "../../lib/content_digest.ts";
import type { Principal } from "../../lib/principal.ts";
import { suggestible } from "../../lib/suggestible.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../mcp/tool.ts";
import { showName } from "../../files/workspace/file_display.ts";

/** What is at the paths of a call: each for people, and with a version that differs whenever it does. */
export type FindStates = (
  principal: Principal,
  places: { readonly paths: readonly string[]; readonly targets: ReadonlySet<string> },
) => Promise<readonly { readonly words: string; readonly version: string }[]>;

interface HoldOptions extends WaitOptions {
  readonly rules: RuleStore;
  readonly clock: Clock;
  readonly placeReader: PlaceReader;
  readonly findTrueNames: FindTrueNames;
  readonly findStates: FindStates;
  /** Whether the caller still has the access with which the call began. */
  isLive(principal: Principal): Promise<boolean>;
}

/** `pageUrl` is `null` where the console is off: no call can be approved. */
type GateOptions = Omit<HoldOptions, "pageUrl"> & { readonly pageUrl: string | null };

/** The tool behind the gate. Without rules a call costs a look at the length of a list. */
export function gateTool(tool: Tool, options: GateOptions): Tool {
  const { rules, clock } = options;
  const changes = tool.annotations.readOnlyHint !== true;
  const { name, successor } = tool;
  return {
    ...tool,
    run(input, context) {
      if (rules.current.length === 0) return tool.run(input, context);
      const { subject: person, clientId, grantId } = context.principal;
      const call = {
        ...{ person, clientId, grantId, tool: name, changes },
        ...(successor === undefined ? {} : { successor }),
        ...placesOf(tool, input, options.placeReader),
      };
      const decide = (judged: JudgedCall): ToolOutcome | Promise<ToolOutcome> => {
        const rule = decidingRule(rules.current, judged, clock());
        if (rule === null) return tool.run(input, context);
        if (rule.verdict === "allow") return tool.run(input, withoutQuestions(context));
        if (rule.verdict === "deny") return denied();
        const { pageUrl } = options;
        return pageUrl === null ? noPage : hold(tool, { input, context, call, rule }, { ...options, pageUrl });
      };
      if (!needsTrueNames(rules.current, call, clock())) return decide(call);
      return suggestible.run(suggestibleTo({ call, context }, options), async () => {
        return await decide(await resolveNames({ call, context }, options));
      });
    },
  };
}

/** What the same tool may be asked for without a decision. */
function suggestibleTo(
  { call, context: { principal } }: Pick<Held, "call" | "context">,
  { rules, clock, findTrueNames: find }: Pick<GateOptions, "rules" | "clock" | "findTrueNames">,
) {
  const isOpen = (rule: Rule | null): boolean => rule === null || rule.verdict === "allow";
  const about = (place: string, paths: readonly string[]): JudgedCall => ({ ...call, places: [place], paths });
  return {
    path: async (path: string) =>
      isOpen(await judgeByNames(about(path, [path]), { principal, rules: rules.current, now: clock(), find })),
    place: (name: string) => isOpen(decidingRule(rules.current, about(name, []), clock())),
  };
}

function resolveNames(
  { call, context }: Pick<Held, "call" | "context">,
  { rules, clock, findTrueNames }: Pick<GateOptions, "rules" | "clock" | "findTrueNames">,
): Promise<JudgedCall> {
  const { principal } = context;
  return withTrueNames(call, { principal, rules: rules.current, now: clock(), find: findTrueNames });
}

interface Held {
  readonly input: never;
  readonly context: ToolContext;
  readonly call: JudgedCall & ReturnType<typeof placesOf>;
  readonly rule: Rule;
}

function denied(): ToolOutcome {
  return {
    ok: false,
    code: "denied_by_rule",
    message: "The owner of this server does not allow this call. Do not try to reach the same by another way.",
  };
}

const noPage: ToolOutcome = {
  ok: false,
  code: "no_approval_page",
  message: "Nothing was done. A rule wants a person's approval for this call, and the pages where people approve are " +
    "switched off on this server (CONSOLE=off). Calling again does not help. Tell the owner.",
};

/** Waits for a decision, then runs the call once, if it would still do what was approved. */
async function hold(tool: Tool, held: Held, options: HoldOptions): Promise<ToolOutcome> {
  const { input, context, call } = held;
  const { log, storage, pageUrl } = options;
  const id = heldCallId(call, input);
  // before anything is looked at: even when the answer comes must say nothing of what is there
  if (!await hasPlace(storage, id, call)) return notHeld("too_many");
  const asking = describe(tool, held, options).then((described) => ask({ ...held, ...described }, options));
  asking.catch(() => {}); // where the caller goes before it is known
  const decided = await waitForDecision({ id, tool: tool.name, asking }, context, options);
  if (typeof decided === "string") return notHeld(decided);
  if (decided === null) return waits(pageUrl);
  const { person, clientId } = decided.call;
  if (decided.call.state === "denied") {
    return { ok: false, code: "denied_by_person", message: deniedWords(decided.call) };
  }
  if (context.signal.aborted) return waits(pageUrl);
  if (!await options.isLive(context.principal)) return accessEnded;
  // another call may have used the approval
  if (!await takeHeldCall(storage, decided)) return waits(pageUrl);
  const now = await describe(tool, held, options); // the last look: what follows is the call itself
  const rule = decidingRule(options.rules.current, now.judged, options.clock());
  if (rule?.verdict === "deny") return denied();
  if (decided.call.effectDigest !== now.effectDigest || rule !== null && isStricter(rule, decided.call)) {
    // what was approved has changed since: the page shows what it is now
    await ask({ ...held, ...now, rule: rule?.verdict === "ask" ? rule : held.rule }, options);
    return waits(pageUrl);
  }
  const fields = { held: id, tool: tool.name, user: person, client: clientId };
  log.write("audit", "held_call", { outcome: "runs", by: decided.call.decidedBy, ...fields });
  return await tool.run(input, withoutQuestions(context));
}

interface Described {
  /** What the call would do, and what is there now that it is about. */
  readonly effect: string;
  /** Of the effect and of all that is there. */
  readonly effectDigest: string;
  readonly judged: JudgedCall;
  readonly asking: readonly Rule[];
}

/** What the call would do to what. */
async function describe(tool: Tool, held: Held, options: HoldOptions): Promise<Described> {
  const { input, context, call } = held;
  const judged = await resolveNames(held, options);
  const { text, madeFrom } = await effectOf(tool, input, context);
  const states = await options.findStates(context.principal, call);
  const behind = namesBehindLinks(judged).map((name) => showName(name === "" ? "." : name));
  const links = behind.length === 0 ? "" : `Links lead to ${behind.join(", ")}.\n`;
  const now = states.length === 0 ? "" : `\n\nNow: ${states.map(({ words }) => words).join("; ")}`;
  const effect = links + text + now;
  const asking = askingRules(options.rules.current, judged, options.clock());
  return { effect, effectDigest: digestOf(JSON.stringify([effect, states, madeFrom])), judged, asking };
}

/** Where a rule decides, the tool does not ask the client's person once more. */
function withoutQuestions(context: ToolContext): ToolContext {
  return contextWith(context, {
    supports: (ability) => ability !== "elicitation" && context.supports(ability),
  });
}

function waits(pageUrl: string): ToolOutcome {
  const message = `Nothing was done yet: this call waits for a person's approval at ${pageUrl}. ` +
    "Tell them, then call again with these same arguments.";
  return { ok: false, code: "approval_pending", message };
}

const accessEnded: ToolOutcome = {
  ok: false,
  code: "access_ended",
  message: "Nothing was done: the access of this connection ended while the call waited.",
};

function notHeld(why: NotHeld): ToolOutcome {
  const message = why === "too_many"
    ? "Nothing was done: too many calls wait for approval. Try again after some were decided."
    : "Nothing was done: many calls ask for approval at this moment. Try again in a minute.";
  return { ok: false, code: why === "too_many" ? "too_many_held_calls" : "approval_busy", message };
}

function deniedWords({ word }: HeldCall): string {
  const said = word === undefined || word === "" ? "" : ` They say: ${word}`;
  return `A person refused this call. Nothing was done.${said}`;
}
