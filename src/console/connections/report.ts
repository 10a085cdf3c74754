/** The attempts of the last day with their diagnoses, as the page and the command show them. */
import type { Storage } from "../../storage/port.ts";
import { attemptsOf, isHidden } from "./attempts.ts";
import { browserAgent } from "./shown_text.ts";
import { diagnose, type Diagnosis } from "./diagnosis.ts";
import { readStoredSteps } from "./step_log.ts";
import type { Step, StepKind } from "./step.ts";

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
  const attempts = attemptsOf(steps)
    .filter((attempt) => person === null || attempt.steps.some((step) => step.person === person))
    .sort((one, other) => other.lastAt - one.lastAt)
    .slice(0, maxAttempts);
  return await Promise.all(attempts.map(async (attempt): Promise<AttemptReport> => {
    const { client, steps: all, lastAt } = attempt;
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
  other_scheme: "its credentials are no Bearer token",
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
