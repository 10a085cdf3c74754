/** The attempts of the last day with their diagnoses, as the page and the command show them. */
import { type Attempt, attemptsOf, isHidden, isOfClient } from "./attempts.ts";
import { arrivalCauses } from "./arrival.ts";
import { authorizationCauses } from "./authorization.ts";
import { callCauses } from "./calls.ts";
import type { Cause, Facts } from "./cause.ts";
import { registrationCauses, tokenCauses } from "./token.ts";
import { browserAgent, type Step, type StepKind, stepKinds } from "./step.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { Storage } from "../../storage/mod.ts";
import { readStoredSteps } from "./step_log.ts";

// Says of an attempt what happened, or what it waits for, with the likely causes in order and their remedies.

/** `going_on`: too early to say; `no_fault`: it went well, or a person decides or has decided. */
type DiagnosisState = "going_on" | "no_fault" | "fault";

interface Diagnosis {
  readonly state: DiagnosisState;
  /** The most likely first. */
  readonly causes: readonly Pick<Cause, "id" | "words" | "remedy">[];
}

/** After so long without a request, an attempt has stopped. */
const settledMs = 10_000;
const maxCauses = 4;

/** In the order of the most likely first; entries with a condition come before those without. */
const allCauses: readonly Cause[] = [
  ...tokenCauses,
  ...arrivalCauses,
  ...registrationCauses,
  ...authorizationCauses,
  ...callCauses,
];

export function diagnose(attempt: Attempt, now: number): Diagnosis {
  const silentMs = now - attempt.lastAt;
  const { steps } = attempt;
  const step = decisiveStep(steps);
  if (step === undefined || silentMs < settledMs) return { state: "going_on", causes: [] };
  const isDirect = steps.some(({ sign }) => sign === "direct");
  const facts: Facts = {
    step,
    steps,
    silentMs,
    isDirect,
    had: (kind, outcome, reason) =>
      steps.some((each) =>
        each.kind === kind && (outcome ?? each.outcome) === each.outcome && (reason ?? each.reason) === each.reason
      ),
    redirectHost: steps.findLast(({ kind, host }) => kind === "authorization" && host !== null)?.host ?? null,
  };
  const fitting = allCauses.filter((cause) => fits(cause, facts) && !(isDirect && cause.needsProxy));
  const exact = fitting.filter(({ reasons }) => reasons?.includes("*") !== true);
  // A refusal has a reason of its own; where a client stopped without one, several causes are likely.
  const causes = (exact.length > 0 ? exact : fitting).slice(0, step.outcome === "refused" ? 1 : maxCauses);
  const [first] = causes;
  const told = first?.isNoFault ? [first] : causes.filter(({ isNoFault }) => !isNoFault);
  return {
    state: first?.isNoFault ? "no_fault" : "fault",
    causes: told.map(({ id, words, remedy }) => ({
      id,
      words: textFor(words, isDirect),
      remedy: textFor(remedy, isDirect),
    })),
  };
}

/** See {@link Cause.words}. */
function textFor(text: string, isDirect: boolean): string {
  return text.replaceAll(/\[([^\]]*)\](?:\{([^}]*)\})?/g, isDirect ? "$2" : "$1");
}

function fits({ at, reasons, when }: Cause, facts: Facts): boolean {
  const { step } = facts;
  if (!(typeof at === "string" ? at === step.kind : at.includes(step.kind))) return false;
  const isExpected = step.outcome === "ok"
    ? reasons === undefined
    : reasons !== undefined && (reasons.includes("*") || reasons.includes(step.reason ?? ""));
  return isExpected && (when?.(facts) ?? true);
}

/** The refusal that nothing after it made good, else the step that went furthest. */
function decisiveStep(steps: readonly Step[]): Step | undefined {
  const refused = steps.findLast((step, index) =>
    step.outcome === "refused" && !isPassedOver(step, steps) &&
    !steps.slice(index + 1).some((later) => makesGood(later, step))
  );
  return refused ?? furthest(steps);
}

/** Streams are for notices: clients that call without one are well, and few keep one that is of no use to them. */
function isPassedOver({ kind, reason }: Step, steps: readonly Step[]): boolean {
  return kind === "stream" &&
    steps.some((each) =>
      each.kind === "call" && each.outcome === "ok" && (reason !== "given_up" || each.reason === "tools/call")
    );
}

/** A later step that went well, as far along as the refused one or anew from the page. */
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

/** Of the steps since it last began anew: documents are fetched again on the way. */
function furthest(steps: readonly Step[]): Step | undefined {
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const withToken = steps.findLastIndex(({ kind }) => kind === "token");
  if ((last.kind === "reached" || last.kind === "handshake") && withToken >= 0) return last;
  const begun = steps.findLastIndex(({ kind }) => kind === "registration" || kind === "authorization");
  return steps.slice(Math.max(begun, 0)).reduce((best, step) => order(step) >= order(best) ? step : best);
}

export interface AttemptReport {
  readonly startedAt: number;
  readonly lastAt: number;
  /** What to call the client. */
  readonly name: string;
  readonly client: string | null;
  readonly redirectHost: string | null;
  readonly addresses: readonly string[];
  readonly people: readonly string[];
  readonly steps: readonly Step[];
  readonly diagnosis: Diagnosis;
}

/** The name of a registered client, by its id. */
export type NameOfClient = (clientId: string) => Promise<string | null>;

const maxAttempts = 100;
const maxShownSteps = 40;
const namelessAgents: ReadonlySet<string> = new Set([browserAgent, "none", "other"]);

/** Newest first. `person`: only attempts in which this person took part. */
export async function reportAttempts(
  steps: readonly Step[],
  { now, nameOfClient, person = null }: {
    readonly now: number;
    readonly nameOfClient: NameOfClient;
    readonly person?: string | null;
  },
): Promise<readonly AttemptReport[]> {
  const attempts = (await attemptsOf(steps))
    .filter((attempt) => person === null || attempt.steps.some((step) => step.person === person))
    .sort((one, other) => other.lastAt - one.lastAt)
    .slice(0, maxAttempts);
  return await Promise.all(attempts.map(async (attempt): Promise<AttemptReport> => {
    const { steps: all, lastAt } = attempt;
    const client = isOfClient(attempt) ? attempt.client : null; // a stranger may name any client
    await nextTurn();
    const registered = client === null ? null : await nameOfClient(client);
    return {
      startedAt: all[0]?.time ?? lastAt,
      lastAt,
      name: registered ?? all.findLast(({ name }) => name !== null)?.name ?? agentOf(all),
      client: isHidden(client) ? null : client,
      redirectHost: all.findLast(({ kind, host }) => kind === "authorization" && host !== null)?.host ?? null,
      addresses: distinct(all.map(({ address }) => address)),
      people: distinct(all.map(({ person: each }) => isHidden(each) ? null : each)),
      steps: all.slice(-maxShownSteps),
      diagnosis: diagnose(attempt, now),
    };
  }));
}

/** From the storage alone, beside a running server or without one. */
export async function reportStoredAttempts(
  storage: Storage,
  options: { readonly now: number; readonly nameOfClient: NameOfClient },
): Promise<readonly AttemptReport[]> {
  return await reportAttempts(await readStoredSteps(storage, options.now), options);
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

const kindWords: Readonly<Record<StepKind, string>> = {
  stray: "asked for something that is not there",
  reached: "reached /mcp and was told to sign in",
  handshake: "initialized without a token",
  resource_metadata: "read the resource metadata",
  server_metadata: "read the server metadata",
  registration: "registered",
  authorization: "opened the sign-in page",
  sign_in: "the person signed in",
  consent: "the person allowed access",
  token: "got its token",
  refresh: "renewed its token",
  refused_token: "came with a token",
  stream: "opened the stream for notices",
  call: "called",
};

const refusedWords: Readonly<Partial<Record<StepKind, string>>> = {
  reached: "reached /mcp",
  resource_metadata: "requested the resource metadata",
  server_metadata: "requested the server metadata",
  registration: "tried to register",
  authorization: "asked for access",
  sign_in: "the person tried to sign in",
  consent: "the person answered the page",
  token: "asked for a token",
  refresh: "asked to renew its token",
  stream: "asked for a stream",
  call: "called",
};

/** Reasons that their own tag does not say; others are their tag, with blanks. */
const reasonWords: Readonly<Record<string, string>> = {
  revoked_token: "its access was revoked",
  malformed_token: "the token is malformed or cut",
  token_of_other_server: "another server issued it",
  token_of_other_kind: "it is no token of this server",
  wrong_claims: "it is not valid at this time",
  other_scheme: "its credentials are no token of this server",
  held: "it waits for the owner's approval",
  client_held: "it waits for the owner's approval",
  key_from_a_page: "a web page sent it",
  request_gone: "the page is no longer open",
  denied: "Deny was chosen",
  status_404: "not found (HTTP 404)",
};

function wordsOfReason(reason: string): string {
  return reasonWords[reason] ?? reason.replace(/^status_/, "HTTP ").replaceAll("_", " ");
}

/** A step in words, without its time. */
export function stepWords({ kind, outcome, reason, path, host, count }: Step): string {
  const what = outcome === "ok" ? kindWords[kind] : refusedWords[kind] ?? kindWords[kind];
  const detail = kind === "call" && outcome === "ok"
    ? reason
    : kind === "authorization" || kind === "reached"
    ? null
    : path;
  const before = kind === "authorization" ? ", to return to" : kind === "refused_token" ? " of" : " at";
  const where = host === null ? "" : `${before} ${host}`;
  const refusal = outcome === "refused" ? `: ${wordsOfReason(reason ?? "refused")}` : "";
  const times = count > 1 ? `, ${count} times` : "";
  return `${what}${detail === null ? "" : ` ${detail}`}${where}${refusal}${times}`;
}
