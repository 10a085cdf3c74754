/** One step of a client on its way to a connection, as it is kept. No query, code or token is ever in it. */
import * as z from "zod";
import { addressKey } from "../lib/network/address_key.ts";

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
    /** What it calls itself at `initialize`. */
    name: optionalText(),
    person: optionalText(),
    /** Of discovery and of stray requests. */
    path: optionalText(),
    /** Where the browser is sent back to; of discovery and of stray requests, the name that the server was called by. */
    host: optionalText(),
    /** What is odd about the address that the client came by: `other_host`, `other_scheme`; or `registration_closed`. */
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
    step.host === of.host && step.sign === of.sign;
}

/** The network that a step came from; calls have none. */
export function networkOf({ address }: Step): string | null {
  return address === null ? null : addressKey(address);
}

/** Whether people's browsers make such steps, and not the client. */
export function isBrowsers({ kind }: Step): boolean {
  return kind === "authorization" || kind === "sign_in" || kind === "consent";
}
