/** One step of a client on its way to a connection, as it is kept. No query, code or token is ever in it. */
import * as z from "zod";
import { addressKey } from "../../lib/network.ts";
import { doctorAgent } from "../../lib/endpoint.ts";

/** In the order of a connection that goes well. */
export const stepKinds = [
  /** A request that no route is for, or by a name or from a page that is not known. */
  "stray",
  /** `/mcp` without a token, which starts OAuth. */
  "reached",
  /** `/mcp` without a token, answered: the public handshake. */
  "handshake",
  "resource_metadata",
  "server_metadata",
  "registration",
  "authorization",
  "sign_in",
  "consent",
  "token",
  "refresh",
  /** `/mcp` with a token that is refused. */
  "refused_token",
  /** GET `/mcp` with a good token: a session's stream. */
  "stream",
  /** A request with a good token; its reason is the method, or why it was refused. */
  "call",
] as const;

export type StepKind = typeof stepKinds[number];

const optionalText = () => z.string().max(200).nullable();

export const stepSchema = z.lazy(() =>
  z.object({
    /** Of the first and the last of its repeats, in milliseconds since the epoch. */
    time: z.number(),
    last: z.number(),
    count: z.number(),
    kind: z.enum(stepKinds),
    outcome: z.enum(["ok", "refused"]),
    /** One of our reasons, `status_404` and the like, or the method of a call. */
    reason: optionalText(),
    address: optionalText(),
    /** The product that the User-Agent begins with. */
    agent: optionalText(),
    /** The client's id. */
    client: optionalText(),
    /** The grant, or the token of the command line: two that share a client's id differ in it. */
    grant: optionalText().default(null),
    /** What it calls itself when it registers, and at `initialize`. */
    name: optionalText(),
    person: optionalText(),
    /** Of discovery and of stray requests; of a refused call, its method. */
    path: optionalText(),
    /**
     * Where the browser is sent back to; of discovery and of stray requests, the name that the server was called by; of
     * a token that another server issued, that server.
     */
    host: optionalText(),
    /**
     * What is known besides: `other_host` and `other_scheme` of the address that the client came by, `direct` where no
     * proxy is in front, `registration_closed`; of what has expired, `clock_jumped` or `clock_steady`.
     */
    sign: optionalText(),
  })
);

export type Step = z.infer<typeof stepSchema>;

/** What a step is made of; everything else is absent. */
export type NewStep = Pick<Step, "kind" | "outcome"> & Partial<Omit<Step, "time" | "last" | "count">>;

export function makeStep(time: number, given: NewStep): Step {
  return { ...absent, ...given, time, last: time, count: 1 };
}

const absent = {
  reason: null,
  address: null,
  agent: null,
  client: null,
  grant: null,
  name: null,
  person: null,
  path: null,
  host: null,
  sign: null,
} as const;

/** Whether a step says nothing that another does not say. */
export function isRepeat(step: Step, of: Step): boolean {
  return step.kind === of.kind && step.outcome === of.outcome && step.reason === of.reason &&
    step.address === of.address && step.agent === of.agent && step.client === of.client && step.path === of.path &&
    step.host === of.host && step.sign === of.sign && step.grant === of.grant &&
    (step.kind !== "registration" || step.name === of.name);
}

/** The network that a step came from; calls have none. */
export function networkOf({ address }: Step): string | null {
  return address === null ? null : addressKey(address);
}

/** Whether people's browsers make such steps, and not the client. */
export function isBrowsers({ kind }: Step): boolean {
  return kind === "authorization" || kind === "sign_in" || kind === "consent";
}

// What is kept of a stranger's words: cut, and only signs that no terminal or page obeys.

const maxNameCharacters = 60;
const maxHostCharacters = 80;
const maxUserAgentRead = 300;
/** What every browser counts as. */
export const browserAgent = "browser";

/** A name, on one line; `null` where nothing is left. */
export function shownName(name: string | null): string | null {
  const clean = (name ?? "").slice(0, 4 * maxNameCharacters).replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  return clean === "" ? null : [...clean].slice(0, maxNameCharacters).join("");
}

/** The product of a User-Agent header: `claude-code/2.1`, `browser`. What could be a secret, or is no product, is "other". */
export function agentFamily(header: string | null): string {
  const text = (header ?? "").slice(0, maxUserAgentRead).trim();
  if (text === "") return "none";
  if (text.includes(doctorAgent)) return doctorAgent;
  if (/^Mozilla\/5\.0 .*(Gecko|AppleWebKit)/.test(text)) return browserAgent;
  const [, product, version] = /^([A-Za-z][\w .-]{0,31}?)(\/\d[\d.]{0,11})?(?=[ /(;+]|$)/.exec(text) ?? [];
  return product === undefined ? "other" : `${product.trim()}${version ?? ""}`;
}

/** A host with its port, as it is in a URL. */
export function shownHost(host: string | null): string | null {
  if (host === null || host === "" || host.length > maxHostCharacters) return null;
  return /^[A-Za-z0-9.:[\]_-]+$/.test(host) ? host.toLowerCase() : null;
}

/** A path of plain words; anything else could hold a secret. */
export function shownPath(path: string): string {
  return path === "/" || /^(\/[a-z.][a-z0-9._-]{0,30}){1,4}\/?$/.test(path) ? path : "(another path)";
}
