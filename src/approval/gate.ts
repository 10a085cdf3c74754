/**
 * The gate in front of the tools: a call that a rule holds waits for a person, who decides on a page of this server.
 * No answer of a client approves anything.
 */
import { ask, isStricter, type NotHeld } from "./ask.ts";
import { effectOf } from "./effect.ts";
import { type HeldCall, takeHeldCall } from "./held_call.ts";
import { type PlaceReader, placesOf } from "./places.ts";
import { waitForDecision, type WaitOptions } from "./wait_for_decision.ts";
import { firstFitting, type JudgedCall, type Rule } from "./rule.ts";
import { withoutHiddenNames } from "./suggestions.ts";
import { type FindTrueNames, namesBehindLinks, needsTrueNames, withTrueNames } from "./true_names.ts";
import type { RuleStore } from "./rule_store.ts";
import { digestOf } from "../lib/digest/content_digest.ts";
import type { Principal } from "../lib/principal.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Tool, ToolContext, ToolOutcome } from "../mcp/tool.ts";
import { showName } from "../workspace/file_display.ts";

interface HoldOptions extends WaitOptions {
  readonly rules: RuleStore;
  readonly clock: Clock;
  readonly placeReader: PlaceReader;
  readonly findTrueNames: FindTrueNames;
  /** Whether the caller still has the access with which the call began. */
  isLive(principal: Principal): Promise<boolean>;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
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
      const call: JudgedCall = {
        ...{ person, clientId, grantId, tool: name, changes },
        ...(successor === undefined ? {} : { successor }),
        ...placesOf(tool, input, options.placeReader),
      };
      const decide = (judged: JudgedCall): ToolOutcome | Promise<ToolOutcome> => {
        const rule = firstFitting(rules.current, judged, clock());
        if (rule === null) return tool.run(input, context);
        if (rule.verdict === "allow") return tool.run(input, withoutQuestions(context));
        if (rule.verdict === "deny") return denied();
        const { pageUrl } = options;
        return pageUrl === null ? noPage : hold(tool, { input, context, call, rule }, { ...options, pageUrl });
      };
      if (!needsTrueNames(rules.current, call, clock())) return decide(call);
      return resolveNames({ call, context }, options).then(decide)
        .then((outcome) => withoutHiddenNames(outcome, { call, rules: rules.current, now: clock() }));
    },
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
  readonly call: JudgedCall;
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
  const { input, context } = held;
  const described = await describe(tool, held, options);
  if ("ok" in described) return described;
  const asked = await ask({ ...held, ...described }, options);
  if (typeof asked === "string") return notHeld(asked);
  const decided = asked.call.state === "waiting" ? await waitForDecision(asked, context, options) : asked;
  const { log } = options;
  const { id, person, clientId } = asked.call;
  const fields = { held: id, tool: tool.name, user: person, client: clientId };
  if (decided === null) return waits(options.pageUrl);
  if (decided.call.state === "denied") {
    return { ok: false, code: "denied_by_person", message: deniedWords(decided.call) };
  }
  const now = decided === asked ? described : await describe(tool, held, options);
  if ("ok" in now) return now;
  if (decided.call.effectDigest !== digestOf(now.effect)) {
    await ask({ ...held, ...now }, options); // what was approved has changed since: the page shows what it is now
    return waits(options.pageUrl);
  }
  const rule = firstFitting(options.rules.current, now.judged, options.clock());
  if (rule?.verdict === "deny") return denied();
  if (rule !== null && isStricter(rule, decided.call) || context.signal.aborted) return waits(options.pageUrl);
  if (!await options.isLive(context.principal)) return accessEnded;
  // another call may have used the approval
  if (!await takeHeldCall(options.storage, decided)) return waits(options.pageUrl);
  const last = await resolveNames(held, options);
  if (String(last.trueNames?.ofCall) !== String(now.judged.trueNames?.ofCall)) return waits(options.pageUrl);
  log.write("audit", "held_call", { outcome: "runs", by: decided.call.decidedBy, ...fields });
  return await tool.run(input, withoutQuestions(context));
}

interface Described {
  /** What the call would do. */
  readonly effect: string;
  readonly judged: JudgedCall;
}

/** What the call would do to what, or its failure. */
async function describe(tool: Tool, held: Held, options: HoldOptions): Promise<Described | ToolOutcome> {
  const { input, context } = held;
  const judged = await resolveNames(held, options);
  const found = await effectOf(tool, input, context);
  if (found !== null && "failure" in found) return found.failure;
  const behind = namesBehindLinks(judged).map((name) => showName(name === "" ? "." : name));
  const links = behind.length === 0 ? "" : `Links lead to ${behind.join(", ")}.\n`;
  return { effect: links + (found?.text ?? JSON.stringify(input, null, 2)), judged };
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
