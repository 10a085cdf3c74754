/**
 * Puts steps together to attempts. Before it is registered, a client is known by its network and agent; afterwards by
 * its id, since the person's browser is elsewhere. One attempt may be seen by several instances.
 */
import { nextTurn } from "../../lib/turns.ts";
import { browserAgent, isBrowsers, networkOf, type Step } from "./step.ts";

/** One client's way to a connection. */
export interface Attempt {
  /** The client's id, once it has one. */
  client: string | null;
  /** Oldest first. */
  readonly steps: Step[];
  /** When it last did something. */
  lastAt: number;
}

/** A client that was silent for so long begins anew. */
const longestPauseMs = 1_800_000;
/** How long before a client's next step its discovery may have been. */
const joinMs = 120_000;
/** Discovery after so long a pause of a client that went further is another attempt. */
const retryPauseMs = 5_000;
/** How long a client's programs take to hand over to one another. */
const handOverMs = 5_000;
/** Of the attempts before a step, those that it may belong to. */
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
    const network = networkOf(step);
    const near = waiting.filter((each) => each.steps.some((other) => networkOf(other) === network));
    const [only, ...more] = near.length > 0 ? near.slice(-1) : waiting;
    return more.length === 0 ? only : undefined;
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
    const network = networkOf(step);
    const near = begun.filter((each) => each.steps.some((other) => networkOf(other) === network));
    const [only, ...more] = near.length > 0 ? near.slice(-1) : step.kind === "reached" ? [] : begun;
    return more.length === 0 ? only : undefined;
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
      if (isBrowsers(step) && step.client === null) {
        const known = ofBrowser.get(networkOf(step) ?? "");
        if (isRecent(known, step)) return known;
        return step.kind === "authorization" ? begin() : null;
      }
      if (step.kind === "stray" && step.agent === browserAgent) {
        const known = ofBrowser.get(networkOf(step) ?? "");
        if (isRecent(known, step)) return known; // a page of ours that leads nowhere
      }
      const attempt = step.client === null ? findOfCaller(step) : findOfClient(step, step.client);
      if (isBrowsers(step)) ofBrowser.set(networkOf(step) ?? "", attempt);
      else if (step.address !== null) ofCaller.set(callerOf(step), attempt);
      return attempt;
    },
  };
}

const discovery: ReadonlySet<string> = new Set(["reached", "handshake", "resource_metadata", "server_metadata"]);

function mayPrecedeBrowser(kind: Step["kind"]): boolean {
  return discovery.has(kind) || kind === "registration";
}

/** The log hides an id that no client has, or that was not looked up. */
export function isHidden(client: string | null): boolean {
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
function hasEnded(attempt: Attempt | undefined): boolean {
  return attempt?.steps.some(({ kind, outcome, reason }) =>
    (kind === "token" && outcome === "ok") || reason === "denied"
  ) ===
    true;
}

/** Its person allowed it a moment ago, so that what it fetches now is for its token; or it has just got one. */
function isAwaitingAnswer({ steps }: Attempt): boolean {
  const last = steps.at(-1);
  return last?.kind === "consent" || last?.kind === "token" || last?.kind === "refresh" || last?.kind === "reached";
}
