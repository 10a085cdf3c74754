/**
 * The gate in front of the tools: a call that a rule holds waits for a person, who decides on a page of this server.
 * No answer of a client approves anything.
 */
import type { Resource, ResourceFamily, ResourceOutcome, Tool, ToolContext, ToolOutcome } from "../../mcp/mod.ts";
import { isObject } from "../../lib/json.ts";
import { ask, hasPlace, isStricter, type NotHeld, waitForDecision, type WaitOptions } from "./hold.ts";
import { type HeldCall, heldCallId, takeHeldCall } from "./decisions.ts";
import {
  type FindTrueNames,
  judgeByNames,
  namesBehindLinks,
  needsTrueNames,
  type PlaceReader,
  placesOf,
  withTrueNames,
} from "./places.ts";
import { askingRules, decidingRule, type JudgedCall, type Rule, type RuleStore } from "./rule.ts";
import { digestOf } from "../../lib/secrets.ts";
import type { Principal } from "../../lib/principal.ts";
import { suggestible } from "../../lib/suggestible.ts";
import type { Clock } from "../../lib/time.ts";
import { showName } from "../../files/mod.ts";

// What a call would do, before it does it.

/** What a dry run says of itself, at its beginning or its end: on the page of an approval everything is one. */
const ownWords = /^Dry run, nothing sent\. |\n\(dry run: [^()\n]*\)$/g;

interface Effect {
  /** For the person who decides. */
  readonly text: string;
  readonly madeFrom?: string | undefined;
}

/**
 * What the call would do, a failure too: the tool's own preview, or what it answers with `dry_run`; else its arguments.
 * The caller learns nothing of it.
 */
async function effectOf(tool: Tool, input: never, context: ToolContext): Promise<Effect> {
  const hasDryRun = isObject(input) && Object.hasOwn(input, "dry_run");
  if (tool.preview === undefined && !hasDryRun) return { text: JSON.stringify(input, null, 2) };
  const quiet = contextWith(context, quietly);
  const outcome = tool.preview === undefined
    ? await tool.run({ ...input as Record<string, unknown>, dry_run: true } as never, quiet)
    : await tool.preview(input, quiet);
  if (typeof outcome === "string") return { text: outcome };
  const texts = (content: Extract<ToolOutcome, { ok: true }>["content"]) =>
    content.flatMap((block) => block.type === "text" ? [block.text] : []);
  if (outcome.ok) {
    return { text: texts(outcome.content).join("\n\n").replaceAll(ownWords, ""), madeFrom: outcome.madeFrom };
  }
  return { text: [`This call would fail: ${outcome.message}`, ...texts(outcome.partial?.content ?? [])].join("\n") };
}

/** Of a dry run the caller hears nothing, and is asked nothing. */
const quietly: Partial<ToolContext> = {
  progress() {},
  log() {},
  noteChange() {},
  release() {},
  handOut: () => Promise.resolve(),
  supports: () => false,
};

/** The context with other members in place of its own. */
function contextWith(context: ToolContext, members: Partial<ToolContext>): ToolContext {
  return new Proxy(context, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

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
  const { name } = tool;
  return {
    ...tool,
    run(input, context) {
      if (rules.current.length === 0) return tool.run(input, context);
      const { subject: person, clientId, grantId } = context.principal;
      const call = {
        ...{ person, clientId, grantId, tool: name, changes },
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

// Resources behind the same rules: what no tool may read without a person, no resource gives, lists or completes.

/** Times that a page of a list is filled up. */
const maxRounds = 100;

interface ResourceGateOptions {
  readonly rules: RuleStore;
  readonly clock: Clock;
  /** `null` where the console is off: nothing can be approved. */
  readonly pageUrl: string | null;
  /** The tool that reads the same. */
  readonly tool: string;
  /** The names of the path or table that an address means. */
  placeOf(uri: string): readonly string[];
  /** Whether they are paths of the workspace. */
  isPath(uri: string): boolean;
  readonly findTrueNames: FindTrueNames;
}

/** The family behind the gate. */
export function gateResources(family: ResourceFamily, options: ResourceGateOptions): ResourceFamily {
  const { rules, clock, tool, placeOf, pageUrl, isPath, findTrueNames } = options;
  const stopping = async (principal: Principal, uri: string): Promise<Rule | null> => {
    const { subject: person, clientId, grantId } = principal;
    const names = placeOf(uri);
    const [places, otherNames] = [names.slice(0, 1), names.slice(1)];
    const paths = isPath(uri) ? names : [];
    const call: JudgedCall = { person, clientId, grantId, tool, changes: false, places, otherNames, paths };
    const rule = await judgeByNames(call, { principal, rules: rules.current, now: clock(), find: findTrueNames });
    return rule?.verdict === "allow" ? null : rule;
  };
  const seen = async <T>(principal: Principal, all: readonly T[], uriOf: (each: T) => string): Promise<T[]> => {
    if (rules.current.length === 0) return [...all];
    const open: T[] = [];
    for (const each of all) if (await stopping(principal, uriOf(each)) === null) open.push(each);
    return open;
  };
  const readIfOpen = async (uri: string, context: ToolContext): Promise<ResourceOutcome> => {
    const rule = await stopping(context.principal, uri);
    if (rule === null) return await family.read(uri, context);
    return {
      refusal: rule.verdict === "deny" || pageUrl === null
        ? "The owner of this server does not allow this."
        : "A person has to approve this. Use a tool, whose calls can wait for them.",
    };
  };
  const uriOf = ({ uri }: Resource): string => uri;
  const isOpen = async (principal: Principal, uri: string): Promise<boolean> =>
    rules.current.length === 0 || await stopping(principal, uri) === null;
  const { listPage, complete, watch } = family;
  return {
    ...family,
    async list(principal) {
      return await seen(principal, await family.list(principal), uriOf);
    },
    ...listPage === undefined ? {} : {
      async listPage(principal, position, limit) {
        // a page is filled up: one that is short would say how much is kept back
        const resources: Resource[] = [];
        for (let next = position, rounds = 1;; rounds++) {
          const page = await listPage(principal, next, limit - resources.length);
          if (page === null) return null;
          const open = await seen(principal, page.resources, uriOf);
          resources.push(...open);
          next = page.next;
          if (next === undefined) return { resources };
          const isFull = open.length === page.resources.length || resources.length >= limit;
          if (isFull || rounds === maxRounds) return { resources, next };
        }
      },
    },
    ...complete === undefined ? {} : {
      async complete(template, variable, value, others, principal) {
        const directory = value.slice(0, value.lastIndexOf("/") + 1);
        if (!await isOpen(principal, filledIn(template, variable, `${directory}?`))) return [];
        const values = await complete(template, variable, value, others, principal);
        return await seen(principal, values, (each) => filledIn(template, variable, each));
      },
    },
    mayWatch: (uri, principal) => isOpen(principal, uri),
    ...watch === undefined ? {} : {
      watch: (principal, listener) =>
        watch(principal, async ({ touches, isListChanged, changed }) => {
          const open = !isListChanged || changed === undefined ? null : await seen(principal, changed, (uri) => uri);
          listener({
            touches: async (uri) => await touches(uri) && await isOpen(principal, uri),
            isListChanged: isListChanged && open?.length !== 0,
          });
        }),
    },
    read(uri, context) {
      return rules.current.length === 0 ? family.read(uri, context) : readIfOpen(uri, context);
    },
  };
}

/** The address that a template (RFC 6570) makes of a value. */
function filledIn(template: string, variable: string, value: string): string {
  return template.replace(/\{\+?([a-z_]+)\}/, (whole, name: string) => name === variable ? value : whole);
}
