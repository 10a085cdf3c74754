/** The attempts of the last day with their diagnoses, as the page and the command show them. */
import { nextTurn } from "../../lib/turns.ts";
import { belowSign, browserAgent, forwardedSign, networkOf, type Step, type StepKind, stepKinds } from "./step.ts";
import { allCauses, type Facts } from "./causes.ts";

// Puts steps together to attempts. Before it is registered, a client is known by its network and agent; afterwards by
// its id, since the person's browser is elsewhere. One attempt may be seen by several instances.

/** One client's way to a connection. */
interface Attempt {
  /** The client's id, once it has one. */
  client: string | null;
  /** Oldest first. */
  readonly steps: Step[];
  /** When it last did something. */
  lastAt: number;
}

/** After this silence a client's next step begins a new attempt. */
const longestPauseMs = 1_800_000;
/** How long before a client's next step its discovery may have been. */
const joinMs = 120_000;
/** Discovery after so long a pause of a client that went further is another attempt. */
const retryPauseMs = 5_000;
/** How long a client's programs take to hand over to one another. */
const handOverMs = 5_000;
/** The attempts before a step that it may belong to. */
const maxLookedAt = 100;

/** The attempts, oldest first. Those of which only calls are left, or strays of scanners, are none. */
export async function attemptsOf(steps: readonly Step[]): Promise<readonly Attempt[]> {
  const finder = createFinder();
  for (const step of steps) {
    await nextTurn(); // strangers make many
    const attempt = finder.find(step);
    if (attempt === null) continue;
    attempt.steps.push(step);
    attempt.lastAt = Math.max(attempt.lastAt, step.last);
  }
  return finder.attempts.filter(({ steps }) =>
    steps.some(({ kind }) => kind !== "call" && kind !== "stream" && kind !== "refresh") ||
    steps.some(({ outcome }) => outcome === "refused")
  );
}

function createFinder() {
  let attempts: Attempt[] = [];
  /** By a grant, by a client's id and network, and by the id alone. */
  const ofClient = new Map<string, Attempt>();
  const ofCaller = new Map<string, Attempt>();
  const ofBrowser = new Map<string, Attempt>();

  const isRecent = (attempt: Attempt | undefined, { time }: Step, within = longestPauseMs): attempt is Attempt =>
    attempt !== undefined && time - attempt.lastAt <= within;
  const begin = (): Attempt => {
    const attempt: Attempt = { client: null, steps: [], lastAt: 0 };
    attempts.push(attempt);
    return attempt;
  };
  /** What a client without an id did before; for its browser, the last one of the network, else the only one. */
  const anonymousBefore = (step: Step, known: Attempt | undefined): Attempt | undefined => {
    const own = ofCaller.get(callerOf(step));
    if (own?.client === null && isRecent(own, step) && !isNamedOther(own, step)) return own;
    if (!isBrowsers(step) || known !== undefined) return undefined;
    const waiting = attempts.slice(-maxLookedAt).filter((each) =>
      (each.client === null || isHidden(step.client)) && each.steps.some(({ kind }) => mayPrecedeBrowser(kind)) &&
      !each.steps.some(isBrowsers) && isRecent(each, step, joinMs)
    );
    return lastOfNetwork(waiting, step) ?? onlyOne(waiting);
  };
  const findOfClient = (step: Step, client: string): Attempt => {
    if (isClaim(step)) {
      const begun = ofClient.get(`${client} ${networkOf(step)}`);
      const isOwn = begun?.steps.some((each) => each.client === client && callerOf(each) === callerOf(step));
      if (isRecent(begun, step) && (isOwn === true || !hasEnded(begun))) return begun;
      const key = `claim ${client} ${callerOf(step)}`;
      const claimed = ofClient.get(key);
      const attempt = isRecent(claimed, step) ? claimed : begin();
      ofClient.set(key, attempt);
      return attempt;
    }
    const keys = keysOf(step, client);
    const known = keys.map((key) => ofClient.get(key)).find((each) => each !== undefined && !isAnothers(each, step));
    const before = anonymousBefore(step, known);
    const isNew = !isRecent(known, step) || (step.kind === "authorization" && hasEnded(known));
    const attempt = isNew ? before ?? begin() : known;
    if (attempt.client === null || !isHidden(client)) attempt.client = client;
    for (const key of keys) ofClient.set(key, attempt);
    // The client looks at the documents again before it asks for its token.
    if (before !== undefined && before !== attempt) {
      attempt.steps.push(...before.steps);
      attempt.lastAt = Math.max(attempt.lastAt, before.lastAt);
      attempt.steps.sort((one, other) => one.time - other.time);
      attempts = attempts.filter((each) => each !== before);
      for (const [caller, each] of ofCaller) if (each === before) ofCaller.set(caller, attempt);
    }
    return attempt;
  };
  /** Programs of one client differ in their agent: one calls `/mcp`, another signs in, and each does its own part. */
  const begunByOther = (step: Step): Attempt | undefined => {
    if (step.kind === "stray" || step.kind === "refused_token") return undefined;
    const begun = attempts.slice(-maxLookedAt).filter((each) =>
      each.client === null && isRecent(each, step, handOverMs) &&
      each.steps.every(({ kind }) => discovery.has(kind) && kind !== step.kind)
    );
    return lastOfNetwork(begun, step) ?? (step.kind === "reached" ? undefined : onlyOne(begun));
  };
  const findOfCaller = (step: Step): Attempt => {
    const known = ofCaller.get(callerOf(step));
    if (!isRecent(known, step)) return begunByOther(step) ?? begin();
    if (known.client === null && !isNamedOther(known, step)) return known;
    const startsOver = step.kind === "registration" ||
      (discovery.has(step.kind) && step.time - known.lastAt > retryPauseMs && !isAwaitingAnswer(known));
    return startsOver ? begunByOther(step) ?? begin() : known;
  };
  return {
    get attempts(): readonly Attempt[] {
      return attempts;
    },
    find(step: Step): Attempt | null {
      const isNameless = isBrowsers(step) && step.client === null;
      const isLostPage = step.kind === "stray" && step.agent === browserAgent; // a page of ours that leads nowhere
      if (isNameless || isLostPage) {
        const known = ofBrowser.get(networkOf(step) ?? "");
        if (isRecent(known, step)) return known;
        if (isNameless) return step.kind === "authorization" ? begin() : null;
      }
      const attempt = step.client === null ? findOfCaller(step) : findOfClient(step, step.client);
      if (isBrowsers(step)) ofBrowser.set(networkOf(step) ?? "", attempt);
      else if (step.address !== null) ofCaller.set(callerOf(step), attempt);
      return attempt;
    },
  };
}

function lastOfNetwork(attempts: readonly Attempt[], step: Step): Attempt | undefined {
  const network = networkOf(step);
  return attempts.findLast(({ steps }) => steps.some((other) => networkOf(other) === network));
}

function onlyOne(attempts: readonly Attempt[]): Attempt | undefined {
  return attempts.length === 1 ? attempts[0] : undefined;
}

const discovery: ReadonlySet<string> = new Set(["reached", "handshake", "resource_metadata", "server_metadata"]);

/** Whether people's browsers make such steps, and not the client. */
function isBrowsers({ kind }: Step): boolean {
  return kind === "authorization" || kind === "sign_in" || kind === "consent";
}

function mayPrecedeBrowser(kind: Step["kind"]): boolean {
  return discovery.has(kind) || kind === "registration";
}

/** The log hides an id that no client has, or that was not looked up. */
function isHidden(client: string | null): boolean {
  return client?.startsWith("(") === true;
}

function callerOf(step: Step): string {
  return `${networkOf(step)} ${step.agent}`;
}

/** Many people may share a client's id (of its maker's document, of the command line), and one their grant alone. */
function keysOf(step: Step, client: string): readonly string[] {
  const network = networkOf(step);
  return [
    ...step.grant === null ? [] : [`grant ${step.grant}`],
    ...network === null ? [] : [`${client} ${network}`],
    client,
  ];
}

/** It has another grant, or another person's browser is on its way for it. */
function isAnothers({ steps }: Attempt, step: Step): boolean {
  const network = networkOf(step);
  return steps.some((other) =>
    (step.grant !== null && other.grant !== null && step.grant !== other.grant) ||
    (step.kind === "authorization" && other.kind === "authorization" && networkOf(other) !== network)
  );
}

/** Two clients at one address with the same agent: each registers by its own name. */
function isNamedOther({ steps }: Attempt, { kind, name }: Step): boolean {
  return kind === "registration" && name !== null &&
    steps.some((other) => other.kind === kind && other.name !== null && other.name !== name);
}

/** Refusals of a token that anyone can bring about who knows the client's id. */
const claims: ReadonlySet<string | null> = new Set([
  ...["missing_code", "missing_code_verifier", "missing_refresh_token", "grant_type_not_registered"],
  ...["unknown_code", "code_of_another_client", "unknown_refresh_token", "refresh_token_of_another_client"],
]);

function isClaim({ kind, outcome, reason }: Step): boolean {
  return (kind === "token" || kind === "refresh") && outcome === "refused" && claims.has(reason);
}

/** Whether it is the client's own: it registered, a person dealt with it, or it holds what it was given. */
export function isOfClient({ steps }: Attempt): boolean {
  return steps.some((step) =>
    step.person !== null || step.grant !== null || (step.kind === "registration" && step.outcome === "ok") ||
    ((step.kind === "token" || step.kind === "refresh") && step.client !== null && !isClaim(step))
  );
}

/** It has its token, or was refused by the person. */
function hasEnded({ steps }: Attempt): boolean {
  return steps.some(({ kind, outcome, reason }) => (kind === "token" && outcome === "ok") || reason === "denied");
}

/** Its person allowed it a moment ago, so that what it fetches now is for its token; or it has just got one. */
function isAwaitingAnswer({ steps }: Attempt): boolean {
  const last = steps.at(-1);
  return last?.kind === "consent" || last?.kind === "token" || last?.kind === "refresh" || last?.kind === "reached";
}

// The diagnosis of an attempt: what happened, or what it waits for, with the likely causes in order and their remedies.

/** `going_on`: too early to say; `no_fault`: it went well, or a person decides or has decided. */
type DiagnosisState = "going_on" | "no_fault" | "fault";

/** After so long without a request, an attempt has stopped. */
const settledMs = 10_000;
const maxCauses = 4;

/** The likely causes of an attempt, in words; `going_on` until it has been silent for ten seconds. */
export function diagnose(attempt: Attempt, now: number) {
  const silentMs = now - attempt.lastAt;
  const { steps } = attempt;
  const step = decisiveStep(steps);
  let state: DiagnosisState = "going_on";
  if (step === undefined || silentMs < settledMs) return { state, causes: [] };
  const isDirect = steps.some(({ sign }) => sign?.startsWith("direct")) &&
    !steps.some(({ sign }) => sign === forwardedSign);
  const base = steps.find(({ sign }) => sign?.startsWith(belowSign))?.sign?.slice(belowSign.length) ?? null;
  const prefix = prefixOf(step.path ?? "");
  const facts: Facts = { base, prefix, step, steps, silentMs, isDirect, redirectHost: redirectHostOf(steps) };
  const isExpected = (reasons: readonly string[] | null): boolean =>
    step.outcome === "ok" ? reasons === null : reasons?.some((each) => each === "*" || each === step.reason) === true;
  const fitting = allCauses.filter(({ at, reasons, when }) =>
    at.includes(step.kind) && isExpected(reasons) && when(facts)
  );
  const exact = fitting.filter(({ reasons }) => reasons?.includes("*") !== true);
  // A refusal has its reason; where a client stopped without one, several causes are likely.
  const causes = (exact.length > 0 ? exact : fitting).slice(0, step.outcome === "refused" ? 1 : maxCauses);
  const [first] = causes;
  const told = first?.isNoFault ? [first] : causes.filter(({ isNoFault }) => !isNoFault);
  // see the table of causes
  const shown = (text: string): string =>
    text.replaceAll(/\[([^\]]*)\](?:\{([^}]*)\})?/g, isDirect ? "$2" : "$1").replaceAll(
      "/PATH",
      prefix ?? base ?? "/PATH",
    );
  state = first?.isNoFault ? "no_fault" : "fault";
  return { state, causes: told.map(({ id, words, remedy }) => ({ id, words: shown(words), remedy: shown(remedy) })) };
}

/** What stands before the server's own part of a path; in a well-known address, what stands before `/mcp` at its end. */
function prefixOf(path: string): string | null {
  const wellKnown = /^\/\.well-known\/[^/]+(\/.+)\/mcp$/.exec(path)?.[1];
  const before = /^((?:\/[^/]+)+?)\/(?:mcp\/?|oauth\/.+|\.well-known\/.+)$/.exec(path)?.[1];
  return wellKnown ?? (before === undefined || /^\/(mcp|oauth|\.well-known)(\/|$)/.test(before) ? null : before);
}

function redirectHostOf(steps: readonly Step[]): string | null {
  return steps.findLast(({ kind, host }) => kind === "authorization" && host !== null)?.host ?? null;
}

/** The refusal that nothing after it made good, else the step that went furthest. */
function decisiveStep(steps: readonly Step[]): Step | undefined {
  const refused = steps.findLast((step, index) =>
    step.outcome === "refused" && !isPassedOver(step, steps) &&
    !steps.slice(index + 1).some((later) => makesGood(later, step))
  );
  return refused ?? furthest(steps);
}

/** Streams are for notices: clients without one work, and few keep one that they do not need. */
function isPassedOver({ kind, reason }: Step, steps: readonly Step[]): boolean {
  return kind === "stream" &&
    steps.some((each) =>
      each.kind === "call" && each.outcome === "ok" && (reason !== "given_up" || each.reason === "tools/call")
    );
}

/** A later successful step, as far along as the refused one, or from the sign-in page on. */
function makesGood(later: Step, refused: Step): boolean {
  if (later.outcome !== "ok") return false;
  if (refused.reason === "answers_cut") return later.reason === "answered";
  const isOther = later.kind === "call" && later.reason !== "tools/call" && later.reason !== "answered";
  if (refused.path === "tools/call" && isOther) return false; // that it lists tools is no proof
  if (refused.reason === "unknown_origin") return !browsable.has(later.kind); // any page may read and register
  const needed = refused.kind === "refused_token" ? "registration" : refused.kind;
  return order(later) >= Math.min(stepKinds.indexOf(needed), stepKinds.indexOf("authorization"));
}

const browsable: ReadonlySet<string> = new Set(["resource_metadata", "server_metadata", "registration"]);

function order({ kind }: Step): number {
  return stepKinds.indexOf(kind);
}

/** The steps since it last started over: documents are fetched again on the way. */
function furthest(steps: readonly Step[]): Step | undefined {
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const withToken = steps.findLastIndex(({ kind }) => kind === "token");
  if ((last.kind === "reached" || last.kind === "handshake") && withToken >= 0) return last;
  const begun = steps.findLastIndex(({ kind }) => kind === "registration" || kind === "authorization");
  return steps.slice(Math.max(begun, 0)).reduce((best, step) => order(step) >= order(best) ? step : best);
}

/** One attempt, as the page shows it. Times are in milliseconds since the epoch. */
export type AttemptReport = Awaited<ReturnType<typeof reportAttempts>>[number];

const maxAttempts = 100;
const maxShownSteps = 40;
const namelessAgents: ReadonlySet<string> = new Set([browserAgent, "none", "other"]);

/** Newest first. `person`: only attempts in which this person took part. */
export async function reportAttempts(
  steps: readonly Step[],
  { now, nameOfClient, person = null }: {
    readonly now: number;
    /** The name of a registered client, by its id. */
    readonly nameOfClient: (clientId: string) => Promise<string | null>;
    readonly person?: string | null;
  },
) {
  const attempts = (await attemptsOf(steps))
    .filter((attempt) => person === null || attempt.steps.some((step) => step.person === person))
    .sort((one, other) => other.lastAt - one.lastAt)
    .slice(0, maxAttempts);
  return await Promise.all(attempts.map(async (attempt) => {
    const { steps: all, lastAt } = attempt;
    const client = isOfClient(attempt) ? attempt.client : null; // a stranger may name any client
    await nextTurn();
    const registered = client === null ? null : await nameOfClient(client);
    return {
      startedAt: all[0]?.time ?? lastAt,
      lastAt,
      /** What to call the client. */
      name: registered ?? all.findLast(({ name }) => name !== null)?.name ?? agentOf(all),
      client: isHidden(client) ? null : client,
      redirectHost: redirectHostOf(all),
      addresses: distinct(all.map(({ address }) => address)),
      people: distinct(all.map(({ person: each }) => isHidden(each) ? null : each)),
      steps: all.slice(-maxShownSteps),
      diagnosis: diagnose(attempt, now),
    };
  }));
}

function agentOf(steps: readonly Step[]): string {
  const agent = steps.map((step) => step.agent).find((each) => each !== null && !namelessAgents.has(each));
  if (agent !== undefined && agent !== null) return agent;
  return steps.some((step) => step.agent === browserAgent)
    ? "a client known by its sign-in page alone"
    : "a client without a name";
}

function distinct(values: readonly (string | null)[]): readonly string[] {
  return [...new Set(values.filter((value) => value !== null))];
}

/** Of a step that went well, and of one that was refused. */
const kindWords: Readonly<Record<StepKind, readonly [ok: string, refused: string]>> = {
  stray: ["asked for something that is not there", "asked for something that is not there"],
  reached: ["reached /mcp and was told to sign in", "reached /mcp"],
  handshake: ["initialized without a token", "initialized without a token"],
  resource_metadata: ["read the resource metadata", "requested the resource metadata"],
  server_metadata: ["read the server metadata", "requested the server metadata"],
  registration: ["registered", "tried to register"],
  authorization: ["opened the sign-in page", "asked for access"],
  sign_in: ["the person signed in", "the person tried to sign in"],
  consent: ["the person allowed access", "the person answered the page"],
  token: ["got its token", "asked for a token"],
  refresh: ["renewed its token", "asked to renew its token"],
  refused_token: ["came with a token", "came with a token"],
  stream: ["opened the stream for notices", "asked for a stream"],
  call: ["called", "called"],
};

/** Reasons that their own tag does not say; others are their tag, with blanks. */
const reasonWords: Readonly<Record<string, string>> = {
  revoked_token: "its access was revoked",
  malformed_token: "the token is malformed or cut",
  token_of_other_server: "another server issued it",
  token_of_other_kind: "it is no token of this server",
  wrong_claims: "it is not valid at this time",
  other_scheme: "its credentials are no token of this server",
  post_became_get: "its POST arrived as a GET",
  held: "it waits for the owner's approval",
  client_held: "it waits for the owner's approval",
  key_from_a_page: "a web page sent it",
  request_gone: "the page is no longer open",
  denied: "Deny was chosen",
  status_404: "not found (HTTP 404)",
};

/** A step in words, without its time. */
export function stepWords({ kind, outcome, reason, path, host, count }: Step): string {
  const what = kindWords[kind][outcome === "ok" ? 0 : 1];
  const detail = kind === "call" && outcome === "ok"
    ? reason
    : kind === "authorization" || kind === "reached"
    ? null
    : path;
  const before = kind === "authorization" ? ", to return to" : kind === "refused_token" ? " of" : " at";
  const where = host === null ? "" : `${before} ${host}`;
  const why = reasonWords[reason ?? ""] ?? (reason ?? "refused").replace(/^status_/, "HTTP ").replaceAll("_", " ");
  const refusal = outcome === "refused" ? `: ${why}` : "";
  const times = count > 1 ? `, ${count} times` : "";
  return `${what}${detail === null ? "" : ` ${detail}`}${where}${refusal}${times}`;
}
