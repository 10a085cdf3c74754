/**
 * The gate in front of tools and resources: a call that a rule holds waits for a person, who decides on a page of this
 * server. No answer of a client approves anything.
 */
import * as z from "zod";
import { askingRules, decidingRule, judgeByNames, placesOf, placesThatDecide, withTrueNames } from "./rule.ts";
import type { FindTrueNames, JudgedCall, PlaceReader, Rule, RuleStore } from "./rule.ts";
import { leastReadingMs, type Timers } from "../../lib/time.ts";
import type { Foundation, Storage, StorageKey } from "../../storage/mod.ts";
import type { Doer } from "../../oauth/mod.ts";
import { showExactly, showName } from "../../files/mod.ts";
import { watchEntries } from "../../lib/stored_entries.ts";
import { contextWith } from "../../mcp/mod.ts";
import type { Resource, ResourceFamily, Tool, ToolContext, ToolOutcome } from "../../mcp/mod.ts";
import { isObject, withSortedKeys } from "../../lib/json.ts";
import { lazyObject } from "../../lib/lazy_object.ts";
import type { Log, LogFields } from "../../lib/log.ts";
import { inTurns, joinNext, nextTurn } from "../../lib/turns.ts";
import { digestOf } from "../../lib/secrets.ts";
import type { Principal } from "../../lib/principal.ts";
import { suggestible } from "../../lib/suggestible.ts";

/** What is at the paths of a call: each for people, and with a version that differs whenever it does; `null`: not known. */
export type FindStates = (
  principal: Principal,
  places: { readonly paths: readonly string[]; readonly targets: ReadonlySet<string> },
) => Promise<readonly { readonly words: string; readonly version: string | null }[]>;

export interface GateOptions extends Foundation {
  readonly rules: RuleStore;
  readonly timers: Timers;
  readonly placeReader: PlaceReader;
  readonly findTrueNames: FindTrueNames;
  readonly findStates: FindStates;
  /** Where people decide; `null` where the console is off: no call can be approved. */
  readonly pageUrl: string | null;
  /** What a client calls itself. */
  nameOfClient(clientId: string): string;
  /** Whether the caller still has the access with which the call began. */
  isLive(principal: Principal): Promise<boolean>;
  /** `null`: there is no such user any more. */
  isAdministrator(userId: string): Promise<boolean | null>;
  /** For tests; otherwise the constants of these names. */
  readonly patienceMs?: number;
  readonly leastReadingMs?: number;
}

type HoldOptions = GateOptions & { readonly pageUrl: string };
type AskOptions = Pick<GateOptions, "storage" | "clock" | "log" | "nameOfClient">;

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
        if (rule.verdict === "deny") return denied;
        const { pageUrl } = options;
        return pageUrl === null ? noPage : hold(tool, { input, context, call, rule }, { ...options, pageUrl });
      };
      if (placesThatDecide(rules.current, call, clock()).length === 0) return decide(call); // no name has to be looked up
      return resolveNames({ call, context }, options).then((judged) =>
        suggestible.run(suggestibleTo({ call: judged, context }, options), async () => await decide(judged))
      );
    },
  };
}

/** What the same tool may be asked for without a decision, and what it may read without a further one. */
function suggestibleTo(
  { call, context: { principal } }: { readonly call: JudgedCall } & Pick<Held, "context">,
  { rules, clock, findTrueNames: find }: GateOptions,
) {
  const isOpen = (rule: Rule | null): boolean => rule === null || rule.verdict === "allow";
  const trueNames = { ofRules: new Map(), ...call.trueNames, ofCall: [] };
  const about = (place: string, paths: readonly string[]) => ({ ...call, places: [place], paths, trueNames });
  const isOpenPath = async (path: string, rules: readonly Rule[]): Promise<boolean> =>
    isOpen(await judgeByNames(about(path, [path]), { principal, rules, now: clock(), find }));
  let others: readonly Rule[] | undefined; // a call asks about many names
  const silent = () => others ??= rules.current.filter((rule) => decidingRule([rule], call, clock()) === null);
  return {
    path: (path: string) => isOpenPath(path, rules.current),
    place: (name: string) => isOpen(decidingRule(rules.current, about(name, []), clock())),
    table: (name: string) => isOpen(decidingRule(silent(), about(name, []), clock())),
    file: (path: string) => isOpenPath(path, silent()),
  };
}

function resolveNames(
  { call, context: { principal } }: Pick<Held, "call" | "context">,
  { rules, clock, findTrueNames }: GateOptions,
): Promise<JudgedCall> {
  return withTrueNames(call, { principal, rules: rules.current, now: clock(), find: findTrueNames });
}

interface Held {
  readonly input: never;
  readonly context: ToolContext;
  readonly call: JudgedCall & ReturnType<typeof placesOf>;
  readonly rule: Rule;
}

/** Waits for a decision, then runs the call once, if it would still do what was approved. */
async function hold(tool: Tool, held: Held, options: HoldOptions): Promise<ToolOutcome> {
  const { input, context, call } = held;
  const { log, storage, pageUrl } = options;
  const id = heldCallId(call, input);
  // before anything is looked at: even when the answer comes must say nothing of what is there
  const mayWait = await readHeldCall(storage, id) !== null ||
    hasPlace(call, await listHeldCalls(storage));
  if (!mayWait) return notHeld.too_many;
  const asking = describe(tool, held, options).then((described) => ask({ ...held, ...described }, options));
  asking.catch(() => {}); // where the caller goes before it is known
  const decided = await waitForDecision({ id, tool: tool.name, asking }, context, options);
  if (typeof decided === "string") return notHeld[decided];
  if (decided === null) return waits(pageUrl, id);
  if (decided.call.state === "denied") {
    const said = decided.call.word ? ` They say: ${decided.call.word}` : "";
    const why = decided.call.effectDigest === notComparable ? ` ${tooLarge}` : "";
    return refuse("denied_by_person", `A person refused this call. Nothing was done.${why}${said}`);
  }
  if (context.signal.aborted) return waits(pageUrl, id);
  // another call may have used the approval
  if (!await takeHeldCall(storage, decided)) return waits(pageUrl, id);
  const giveBack = async (): Promise<ToolOutcome> => { // nothing was done: the approval is still good
    await putHeldCall(storage, decided.call, null); // but where the same call was asked again meanwhile
    return waits(pageUrl, id);
  };
  if (context.signal.aborted) return await giveBack();
  const now = await describe(tool, held, options);
  const { effectDigest, decidedBy: userId = "" } = decided.call;
  const isAdministrator = await options.isAdministrator(userId);
  const isStanding = isAdministrator !== null && mayDecide(decided.call, { userId, isAdministrator });
  // the last look, which may take long: what follows is the call itself
  if (!await options.isLive(context.principal)) return accessEnded;
  if (context.signal.aborted) return await giveBack();
  const rule = decidingRule(options.rules.current, now.judged, options.clock());
  if (rule?.verdict === "deny") return denied;
  if (!isStanding || effectDigest !== now.effectDigest || rule !== null && isStricter(rule, decided.call)) {
    // who approved it may not any more, or what was approved has changed since: the page shows the new state
    await ask({ ...held, ...now, rule: rule?.verdict === "ask" ? rule : held.rule }, options);
    return waits(pageUrl, id);
  }
  auditHeldCall(log, decided.call, { outcome: "runs", by: userId });
  return await tool.run(input, withoutQuestions(context));
}

/** Names of the call that its caller did not write. */
function namesBehindLinks({ places, otherNames = [], trueNames }: JudgedCall): readonly string[] {
  const written = new Set([...places, ...otherNames]);
  return trueNames?.ofCall.filter((name) => !written.has(name)) ?? [];
}

/** What the call would do to the present state; the digest covers both, where all of it can be compared. */
async function describe(tool: Tool, held: Held, options: HoldOptions) {
  const { input, context, call } = held;
  const judged = await resolveNames(held, options);
  const { text, madeFrom } = await effectOf(tool, input, context);
  const states = await options.findStates(context.principal, call);
  const behind = namesBehindLinks(judged).map((name) => showName(name === "" ? "." : name));
  const links = behind.length === 0 ? "" : `Links lead to ${behind.join(", ")}.\n`;
  const now = states.length === 0 ? "" : `\n\nNow: ${states.map(({ words }) => words).join("; ")}`;
  const trial = isObject(input) && input["dry_run"] === true ? "A trial that changes nothing. " : "";
  const effect = links + trial + text + now;
  const asking = askingRules(options.rules.current, judged, options.clock());
  if (call.changes && (madeFrom === null || states.some(({ version }) => version === null))) {
    return { effect: `${tooLarge}\n${effect}`, effectDigest: notComparable, judged, asking };
  }
  return { effect, effectDigest: digestOf(JSON.stringify([effect, states, madeFrom])), judged, asking };
}

/** What a dry run says of itself, at its beginning or its end: on the page of an approval everything is one. */
const ownWords = /^Dry run, nothing sent\. |\n\(dry run: [^()\n]*\)$/g;

/**
 * What the call would do, a failure too: the tool's own preview, or what it answers with `dry_run`; else its arguments.
 * The caller learns nothing of it.
 */
async function effectOf(tool: Tool, input: never, context: ToolContext) {
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

/** Of a dry run, and of what a page does, no caller hears anything or is asked anything. */
export const quietly = {
  progress() {},
  log() {},
  noteChange() {},
  standAside: () => () => {},
  release() {},
  handOut: () => Promise.resolve(),
  supports: () => false,
} satisfies Partial<ToolContext>;

/** Where a rule decides, the tool does not ask the client's person once more. */
function withoutQuestions(context: ToolContext): ToolContext {
  return contextWith(context, {
    supports: (ability) => ability !== "elicitation" && context.supports(ability),
  });
}

/** How long a client is kept waiting: less than the 60 seconds after which most give up. */
const patienceMs = 45_000;
/** How much longer where the call is not yet on the page that the client is told of. */
const storingMs = 10_000;
const progressEveryMs = 5_000;
const maxNameCharacters = 200;

/**
 * The decided call; `null` when the client is told to repeat the call, or has gone. `asking` is the call once it is
 * stored, or why it is not: the caller waits from the beginning, however long that takes.
 */
async function waitForDecision(
  { id, tool, asking }: {
    readonly id: string;
    readonly tool: string;
    readonly asking: Promise<StoredHeldCall | NotHeld>;
  },
  context: ToolContext,
  options: HoldOptions,
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
  let stopWaiting = timers.after(waitMs, () => {
    stopWaiting = timers.after(storingMs, giveUp);
    asking.then(giveUp, giveUp);
  });
  const startedAt = timers.elapsed();
  const url = pageOf(pageUrl, id);
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
  const comeBack = context.standAside();
  try {
    return await promise;
  } finally {
    comeBack();
    watch.stop();
    stopWaiting();
    stopTelling();
    for (const signal of signals) signal.removeEventListener("abort", giveUp);
  }
}

const maxArgumentCharacters = 20_000;

const maxEffectCharacters = 50_000;

const maxShownPlaces = 20;

const maxPlaceCharacters = 200;

/** Each time another call, or a person, was quicker. */
const maxAttempts = 20;

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

/** The stored call, unchanged if it waits or was decided with the same effect; otherwise stored again. */
export async function ask(asked: AskedCall, options: AskOptions): Promise<StoredHeldCall | NotHeld> {
  const { rule } = asked;
  const { storage, log } = options;
  const call = toHeldCall(asked, options);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const found = await readHeldCall(storage, call.id);
    if (found?.call.state === "denied") return found;
    if (found?.call.effectDigest === call.effectDigest && !isStricter(rule, found.call)) return found;
    const { version } = found ?? {};
    const isStored = version === undefined
      ? await storeNewCall(storage, call)
      : await putHeldCall(storage, call, version);
    if (isStored === null) return "too_many";
    if (!isStored) continue;
    auditHeldCall(log, call, { outcome: found === null ? "waits" : "changed" });
    const stored = await readHeldCall(storage, call.id);
    if (stored !== null) return stored;
  }
  return "busy";
}

/** Whether the rule wants an administrator where the call was asked of the person. */
function isStricter(rule: Rule, call: HeldCall): boolean {
  return rule.verdict === "ask" && rule.approver === "administrator" && call.approver === "person";
}

function toHeldCall(
  { input, judged, rule, asking = [], effect, effectDigest }: AskedCall,
  { clock, nameOfClient }: AskOptions,
): HeldCall {
  const { person, clientId, grantId, tool } = judged;
  const now = clock();
  const place = passPlaceOf([rule, ...asking]);
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
    ...(place === undefined ? {} : { passPlace: place }),
    createdAt: now,
    expiresAt: now + heldMs,
    state: "waiting",
  };
}

/** Cut before it is looked at letter by letter, and again where that made it longer. */
function shown(text: string, maxCharacters: number): string {
  return cutMiddle(showExactly(cutMiddle(text, maxCharacters)), maxCharacters);
}

/** A text within a bound that says what it leaves out: an approval of a cut text must not look like one of all of it. */
function cutMiddle(text: string, maxCharacters: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= maxCharacters) return whole;
  const half = Math.floor(maxCharacters / 2);
  const left = whole.length - 2 * half;
  return `${whole.slice(0, half)}\n[${left} characters are not shown here]\n${whole.slice(-half)}`.toWellFormed();
}

const refuse = (code: string, message: string): ToolOutcome => ({ ok: false, code, message });
const denied = refuse(
  "denied_by_rule",
  "The owner of this server does not allow this call. Do not try to reach the same by another way.",
);
const noPage = refuse(
  "no_approval_page",
  "Nothing was done: a rule asks for approval, which is switched off on this server (CONSOLE=off). Tell the owner.",
);
const accessEnded = refuse("access_ended", "Nothing was done: this connection's access ended while the call waited.");
const tooMany = "Nothing was done: too many calls wait for approval. Try again after a decision, or in 15 minutes.";
const busy = "Nothing was done: many calls ask for approval at this moment. Try again in a minute.";
const notHeld = { too_many: refuse("too_many_held_calls", tooMany), busy: refuse("approval_busy", busy) };

/** Why a call was not stored. */
type NotHeld = keyof typeof notHeld;

/** The page where the call is decided. */
export function pageOf(pageUrl: string, id: string): string {
  return `${pageUrl}?call=${id}`;
}

function waits(pageUrl: string, id: string): ToolOutcome {
  const message = `Nothing was done yet: this call waits for a person's approval at ${pageUrl}. ` +
    "Tell them, then call again with these same arguments.";
  return { ok: false, code: "approval_pending", message, waiting: { id, url: pageOf(pageUrl, id) } };
}

interface ResourceGateOptions extends Pick<GateOptions, "rules" | "clock" | "pageUrl" | "findTrueNames"> {
  /** The tool that reads the same. */
  readonly tool: string;
  /** The names of the path or table that an address means. */
  placeOf(uri: string): readonly string[];
  /** Whether they are paths of the workspace. */
  isPath(uri: string): boolean;
}

/** Times that a page of a list is filled up. */
const maxRounds = 100;

/** The family behind the gate: what a tool may not read without approval, no resource returns, lists or completes. */
export function gateResources(family: ResourceFamily, options: ResourceGateOptions): ResourceFamily {
  const { rules, clock, tool, placeOf, pageUrl, isPath, findTrueNames } = options;
  const stopping = async (principal: Principal, uri: string): Promise<Rule | null> => {
    if (rules.current.length === 0) return null;
    const { subject: person, clientId, grantId } = principal;
    const names = placeOf(uri);
    const [places, otherNames] = [names.slice(0, 1), names.slice(1)];
    const paths = isPath(uri) ? names : [];
    const call: JudgedCall = { person, clientId, grantId, tool, changes: false, places, otherNames, paths };
    const rule = await judgeByNames(call, { principal, rules: rules.current, now: clock(), find: findTrueNames });
    return rule?.verdict === "allow" ? null : rule;
  };
  const isOpen = async (principal: Principal, uri: string): Promise<boolean> => await stopping(principal, uri) === null;
  const seen = async <T>(principal: Principal, all: readonly T[], uriOf: (each: T) => string): Promise<T[]> => {
    const open: T[] = [];
    for (const each of all) if (await isOpen(principal, uriOf(each))) open.push(each);
    return open;
  };
  const uriOf = ({ uri }: Resource): string => uri;
  const { listPage, listTop, complete } = family;
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
    ...listTop === undefined ? {} : {
      listTop: async (principal) => await seen(principal, await listTop(principal), uriOf),
    },
    ...complete === undefined ? {} : {
      async complete(template, variable, value, others, principal) {
        const directory = value.slice(0, value.lastIndexOf("/") + 1);
        if (!await isOpen(principal, filledIn(template, variable, `${directory}%3F`))) return [];
        const values = await complete(template, variable, value, others, principal);
        return await seen(principal, values, (each) => filledIn(template, variable, each));
      },
    },
    mayWatch: (uri, principal) => isOpen(principal, uri),
    async read(uri, context) {
      const rule = await stopping(context.principal, uri);
      if (rule === null) return await family.read(uri, context);
      return {
        refusal: rule.verdict === "deny" || pageUrl === null
          ? "The owner of this server does not allow this."
          : "A person has to approve this. Use a tool, whose calls can wait for them.",
      };
    },
  };
}

/** The address that a template (RFC 6570) makes of a value. */
function filledIn(template: string, variable: string, value: string): string {
  return template.replace(/\{\+?([a-z_]+)\}/, (whole, name: string) => name === variable ? value : whole);
}

// The calls that are held, as the storage has them.

/** How long a call waits for a decision, and how long a decision waits for the call. */
export const heldMs = 900_000;
export const maxHeldCalls = 500;
/** Calls that come to several instances at the same moment may all see a free place. */
const maxListed = 2 * maxHeldCalls;
/** Of the largest calls, some milliseconds of work. */
const listedAtOnce = 25;
const heldFamily = "held_call";

const heldShape = lazyObject(() => ({
  id: z.string(),
  person: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  grantId: z.string(),
  tool: z.string(),
  places: z.array(z.string()),
  /** The arguments as JSON, cut; the whole of them is in the id. */
  arguments: z.string(),
  /** What the call would do, in words or as a difference. */
  effect: z.string(),
  /** SHA-256 of the whole effect and of what is there: an approval is for this and nothing else. See {@link notComparable}. */
  effectDigest: z.string(),
  approver: z.enum(["person", "administrator"]),
  /** The rule that holds it; a lasting approval lets on what that rule would ask about. */
  ruleId: z.string().optional(),
  /** The others that would hold it too. */
  otherRuleIds: z.array(z.string()).optional(),
  /** Where a lasting approval holds; everywhere when absent. */
  passPlace: z.string().optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
  state: z.enum(["waiting", "approved", "denied"]),
  decidedBy: z.string().optional(),
  /** What the person says to the agent. */
  word: z.string().optional(),
}));

export type HeldCall = z.output<typeof heldShape>;

/** In place of the digest, where what is there is too large to notice each change of it: the call can be denied only. */
export const notComparable = "";
/** What is said of such a call. */
export const tooLarge = "A directory with so many entries cannot be approved as a whole: " +
  "what is in it has to be named, in several calls.";

/** A held call as it was read, with the version that a change of it has to name. */
type StoredHeldCall = NonNullable<Awaited<ReturnType<typeof readHeldCall>>>;

/** The identity of a call: who, by which client and grant, which tool, with exactly these arguments. */
export function heldCallId(
  { person, clientId, grantId, tool }: Pick<HeldCall, "person" | "clientId" | "grantId" | "tool">,
  input: unknown,
): string {
  return digestOf(JSON.stringify([person, clientId, grantId, tool, withSortedKeys(input)]));
}

export function heldCallKey(id: string): StorageKey {
  return [heldFamily, id];
}

export async function readHeldCall(storage: Storage, id: string) {
  const entry = await storage.get(heldCallKey(id));
  return entry === null ? null : { call: heldShape.parse(entry.value), version: entry.version };
}

const listings = new WeakMap<Storage, () => Promise<readonly HeldCall[]>>();

/** All that wait or were decided lately, the oldest first. Who asks at the same time gets one list: all of them may be 35 MB. */
export async function listHeldCalls(storage: Storage): Promise<readonly HeldCall[]> {
  return await inTurns(listings.getOrInsertComputed(storage, () => joinNext(() => readHeldCalls(storage)))());
}

async function readHeldCalls(storage: Storage): Promise<readonly HeldCall[]> {
  const calls: HeldCall[] = [];
  for (let page, after = {}; page === undefined || page.length === listedAtOnce && calls.length < maxListed;) {
    await nextTurn();
    page = await storage.list([heldFamily], { limit: listedAtOnce, ...after });
    for (const { key, value } of page) {
      calls.push(heldShape.parse(value));
      after = { after: key };
    }
  }
  return calls.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Stores a call unless it was changed since it was read (`version`; `null` for one that is not there yet). */
export async function putHeldCall(storage: Storage, call: HeldCall, version: string | null): Promise<boolean> {
  const key = heldCallKey(call.id);
  return await storage.commit({ checks: [{ key, version }], puts: [{ key, value: call, expiresAt: call.expiresAt }] });
}

/** Takes an approved call out, so that it runs once however many ask. */
async function takeHeldCall(storage: Storage, { call, version }: StoredHeldCall): Promise<boolean> {
  const key = heldCallKey(call.id);
  return await storage.commit({ checks: [{ key, version }], deletes: [key] });
}

/** Calls of one person, the decided included, and those of one client that wait: none keeps all others from asking. */
const maxOfPerson = 50;
const maxOfClient = 25;

/** For the first calls of clients, where others have taken all places. */
const placesForFirst = 100;

/** Calls that want a place, and what stores those that have one; by storage. */
const newcomers = new WeakMap<Storage, ReturnType<typeof createNewcomers>>();

function createNewcomers(storage: Storage) {
  let wanted: HeldCall[] = [];
  const storeAll = joinNext(async () => {
    const those = wanted;
    wanted = [];
    const held = [...await readHeldCalls(storage)];
    const stored = new Map<HeldCall, Promise<boolean>>();
    for (const call of those) {
      if (!hasPlace(call, held)) continue;
      held.push(call);
      stored.set(call, putHeldCall(storage, call, null));
    }
    await Promise.allSettled(stored.values());
    return stored;
  });
  return (call: HeldCall) => {
    wanted.push(call);
    return storeAll();
  };
}

/** Stores a new call, `false` where it is there already; `null` where it has no place. Those that come at once are counted one by one. */
async function storeNewCall(storage: Storage, call: HeldCall): Promise<boolean | null> {
  const stored = await newcomers.getOrInsertComputed(storage, () => createNewcomers(storage))(call);
  return await stored.get(call) ?? null;
}

/** Whether a further call may wait. */
function hasPlace({ person, clientId }: Pick<JudgedCall, "person" | "clientId">, held: readonly HeldCall[]) {
  const own = held.filter((call) => call.person === person);
  if (!own.some((call) => call.clientId === clientId)) return held.length < maxHeldCalls + placesForFirst;
  const waiting = own.filter((call) => call.clientId === clientId && call.state === "waiting").length;
  return held.length < maxHeldCalls && own.length < maxOfPerson && waiting < maxOfClient;
}

/** The audit's line of a held call. */
export function auditHeldCall(log: Log, { id, tool, person, clientId }: HeldCall, fields: LogFields): void {
  log.write("audit", "held_call", { held: id, tool, user: person, client: clientId, ...fields });
}

/** People decide for themselves, unless the rule wants an administrator; administrators for everyone. */
export function mayDecide(
  { person, approver }: HeldCall,
  { userId, isAdministrator }: Pick<Doer, "userId" | "isAdministrator">,
): boolean {
  return isAdministrator || (approver === "person" && person === userId);
}

/** The narrowest of the places of the rules that asked. */
export function passPlaceOf(asking: readonly Rule[]): string | undefined {
  return asking.flatMap((rule) => rule.place ?? []).sort((a, b) => b.length - a.length)[0];
}
