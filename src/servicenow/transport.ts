/** Sends requests to the one configured instance, and tokens and records to no other host. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import { declaredLength, readBounded, retryAfterMs } from "../lib/request_text.ts";
import { type Clock, pause } from "../lib/time.ts";
import { type Answer, type Outcome, Refusal, type ServicenowFailure, type UnavailableCause } from "./failure.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { LinkedAccess } from "./link_store.ts";
import type { Admission } from "../lib/turns.ts";
import { boundedMap } from "../lib/bounded_map.ts";

/** An instance by its origin, such as `https://example.service-now.com`. */
export interface ServicenowInstance {
  readonly origin: string;
}

export function instanceUrl(
  { origin }: ServicenowInstance,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const url = new URL(path, origin);
  if (url.origin !== origin) throw new TypeError("A path on the instance must not lead to another host");
  url.search = new URLSearchParams(query).toString();
  return url.href;
}

// One request to the instance: no redirect followed, no body without a bound, no wait without an end.

/** The call signature of the platform's `fetch`. */
export type Fetch = typeof globalThis.fetch;

/** A request to the instance. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly type: string; readonly content: string | Uint8Array<ArrayBuffer> };
  /** What the answer should be: JSON, or a file that is handed on as it arrives. */
  readonly accept: "json" | "stream";
  readonly maxBytes: number;
  /** A status that this one endpoint uses for what others answer with 404. */
  readonly notFoundStatus?: number;
}

/** A whole answer of the instance, success or not. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The content of a success that was asked for as a stream, instead of `bytes`. */
  readonly file?: ReturnType<typeof arrivingFile>;
}

/** Sends one request, once. */
export type Transport = (
  request: UpstreamRequest,
  options: { readonly accessToken: string | null; readonly signal: AbortSignal },
) => Answer<UpstreamReply>;

/** One request, to the end of its answer. */
const requestTimeoutMs = 10_000;

/** Sends requests to one instance and to no other host. Failures are values; each request ends within `requestMs`. */
export function createTransport(
  { instance, fetch, fetchOnce, requestMs = requestTimeoutMs }: {
    readonly instance: ServicenowInstance;
    readonly fetch: Fetch;
    /** For everything but GET: never repeats a request. */
    readonly fetchOnce: Fetch;
    readonly requestMs?: number;
  },
): Transport {
  return async (request, { accessToken, signal }) => {
    if (signal.aborted) return failure({ reason: "cancelled" });
    const deadline = AbortSignal.timeout(requestMs);
    try {
      const response = await (request.method === "GET" ? fetch : fetchOnce)(
        instanceUrl(instance, request.path, request.query),
        {
          method: request.method,
          redirect: "manual", // a redirect would carry the token to another host
          signal: request.accept === "stream" ? signal : AbortSignal.any([signal, deadline]),
          headers: {
            accept: request.accept === "json" ? "application/json" : "*/*",
            ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
            ...(request.body === undefined ? {} : { "content-type": request.body.type }),
          },
          ...(request.body === undefined ? {} : { body: request.body.content }),
        },
      );
      if (isPage(response, request)) {
        await response.body?.cancel();
        return unavailable(response.status >= 500 ? "server_error" : "not_an_api", request);
      }
      if (request.accept === "stream" && response.status === 200) {
        const file = arrivingFile(response, request.maxBytes);
        return success({ status: response.status, headers: response.headers, bytes: new Uint8Array(0), file });
      }
      const bytes = await readBounded(response, request.maxBytes);
      if (bytes === null) return failure({ reason: "too_large", limitBytes: request.maxBytes });
      return success({ status: response.status, headers: response.headers, bytes });
    } catch {
      // fetch tells causes apart by prose only, and the prose holds addresses
      if (signal.aborted) return failure({ reason: "cancelled" });
      return unavailable(deadline.aborted ? "timed_out" : "unreachable", request);
    }
  };
}

/** A web page or a redirect, as sleeping instances and gateways answer; a file may be a web page itself. */
function isPage({ status, headers }: Response, { accept }: UpstreamRequest): boolean {
  if (status >= 300 && status < 400) return true;
  if (accept === "stream" && headers.has("x-attachment-metadata")) return false;
  return /^(text\/html|application\/xhtml)/i.test(headers.get("content-type") ?? "");
}

function unavailable(because: UnavailableCause, { method }: Pick<UpstreamRequest, "method">): Outcome<never> {
  return failure({ reason: "unavailable", because, ...(method === "GET" ? {} : { uncertain: true }) });
}

/** A file on its way. It has to be read to its end, or cancelled. */
function arrivingFile(response: Response, maxBytes: number) {
  const brokenOff = (): Refusal => new Refusal({ reason: "unavailable", because: "unreachable" });
  /** Throws a {@link Refusal} where it does not arrive whole. */
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const piece of response.body ?? []) {
        size += piece.byteLength;
        if (size > maxBytes) throw new Refusal({ reason: "too_large", limitBytes: maxBytes });
        yield piece;
      }
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw brokenOff();
    }
    // by HTTP/2, a body that its sender cancels ends like a whole one (RFC 9113 §8.1); a compressed one misses its end
    const declared = response.headers.has("content-encoding") ? null : declaredLength(response);
    if (declared !== null && size !== declared) throw brokenOff();
  }
  return {
    pieces: pieces(),
    async cancel(): Promise<void> {
      if (response.body?.locked !== false) return;
      await response.body.cancel().catch(() => {}); // it broke off: `pieces` has told
    },
  };
}

// * Fetch for what must not be sent twice. When a connection that was kept open breaks, Deno's fetch repeats the
// request by itself, POST or not; on a connection of its own it does not. An incident would be opened twice, and a
// refresh token that rotates would look stolen.

/** `fetch` over a new connection each time, to be closed when it is not used any more. */
export function createFetchOnce(fetch: Fetch) {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const fetchOnce: Fetch = (input, init) => fetch(input, { ...init, client });
  return { fetch: fetchOnce, close: () => client.close() };
}

// What an answer of the instance means: statuses and error envelopes become failures, bodies become typed values.

/** A failure, or the instance's word that the access token is not good (any more). */
type UpstreamFailure = ServicenowFailure | { readonly reason: "unauthorized" };

/** The JSON of one answer. */
export const maxReplyBytes = 1_048_576;
const defaultRetryAfterMs = 60_000;
const maxQuotedCharacters = 500;

const errorEnvelope = z.object({
  error: z.object({ message: z.string().nullish(), detail: z.string().nullish() }),
  status: z.literal("failure"),
});

/** The reply itself when its status is a success, the failure that its status stands for otherwise. */
export function checkStatus(
  reply: UpstreamReply,
  request: UpstreamRequest,
  clock: Clock,
): Result<UpstreamReply, UpstreamFailure> {
  const { status } = reply;
  if (status >= 200 && status < 300) return success(reply);
  if (status === 404 || status === request.notFoundStatus) return failure({ reason: "not_found" });
  if (status === 401) return failure({ reason: "unauthorized" });
  if (status === 403) {
    return failure({ reason: "forbidden", ...(request.method === "GET" ? {} : { said: quoteError(reply) }) });
  }
  if (status === 429) {
    const retryAfterSeconds = Math.ceil((retryAfterMs(reply.headers, clock()) ?? defaultRetryAfterMs) / 1_000);
    return failure({ reason: "rate_limited", by: "servicenow", retryAfterSeconds });
  }
  return status >= 500
    ? unavailable("server_error", request)
    : failure({ reason: "rejected", message: quoteError(reply) });
}

export function parseResult<Schema extends z.ZodType>(reply: UpstreamReply, schema: Schema): Outcome<z.output<Schema>> {
  const body = parseJsonBytes(reply.bytes);
  const envelope = isObject(body) ? body : {};
  // A query that runs too long is answered with 200, the records found so far, and an error.
  if ("error" in envelope && errorEnvelope.safeParse(body).success) {
    return failure({ reason: "unavailable", because: "server_error" });
  }
  const parsed = schema.safeParse(envelope["result"]);
  return parsed.success ? success(parsed.data) : failure({ reason: "unavailable", because: "bad_reply" });
}

/** The bytes as JSON; `undefined` when they are none. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  return parseJson(new TextDecoder().decode(bytes));
}

/** The instance's own words, on one line and not long. They speak of tables and fields, of nothing inside this server. */
function quoteError(reply: UpstreamReply): string {
  const { message, detail } = errorEnvelope.safeParse(parseJsonBytes(reply.bytes)).data?.error ?? {};
  const words = [message, detail].filter((text) => text).join(": ").replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim();
  if (words === "") return `ServiceNow answered with status ${reply.status}.`;
  return words.length > maxQuotedCharacters ? `${words.slice(0, maxQuotedCharacters)}…` : words;
}

// Calls in a user's own name: their token, their share of calls, retries, and a new token where the instance ended it.

export interface Caller {
  /** The `sub` of the caller's token here. */
  readonly subject: string;
  readonly signal: AbortSignal;
  /** When the last request of the call has to be answered, on the clock of the calls. */
  readonly deadline?: number;
  /** The token of a call that asks several times: all of it is done as one account. */
  readonly held?: { current: LinkedAccess };
}

/** Sends a request with the caller's own token. */
export type CallAs = ReturnType<typeof createCallAs>;

/** A call with its attempts, its waits and a new token. */
const callTimeoutMs = 14_000;
/** The longest that a user's calls are refused here because the instance said to come back later. */
const maxPauseSeconds = 3_600;
const maxPausedUsers = 10_000;
const maxReadAttempts = 3;
/** A longer `Retry-After` is reported to the caller. */
const maxRetryAfterMs = 3_000;
const firstRetryDelayMs = 250;

/** Builds {@link CallAs}. */
export function createCallAs(
  { links, transport, admit, clock, elapsed, random, callMs = callTimeoutMs, retryDelayMs = firstRetryDelayMs }: {
    readonly links: {
      access(subject: string, asked: { signal: AbortSignal; refused?: string }): Answer<LinkedAccess>;
    };
    readonly transport: Transport;
    /** Takes one call from the user's share. */
    readonly admit: (subject: string) => Admission | Promise<Admission>;
    readonly clock: Clock;
    /** Only differences are used. */
    readonly elapsed: Clock;
    /** Between 0 and 1, as `Math.random`. */
    readonly random: () => number;
    readonly callMs?: number;
    /** The pause before the second attempt. It doubles for each further one, and half of it is random. */
    readonly retryDelayMs?: number;
  },
) {
  /** By user: when the instance will answer again, by its own word. */
  const pausedUntil = boundedMap<string, number>(maxPausedUsers);

  const admission = async (subject: string): Promise<ServicenowFailure | null> => {
    const until = pausedUntil.get(subject) ?? 0;
    const now = elapsed();
    if (until > now) {
      return { reason: "rate_limited", by: "servicenow", retryAfterSeconds: Math.ceil((until - now) / 1_000) };
    }
    pausedUntil.delete(subject);
    const admitted = await admit(subject);
    return admitted.ok
      ? null
      : { reason: "rate_limited", by: "portcullis", retryAfterSeconds: admitted.retryAfterSeconds };
  };

  /** A request and its retries. Only reads are sent again, until `signal` ends the call. */
  const send = async (
    request: UpstreamRequest,
    access: { readonly accessToken: string; readonly signal: AbortSignal },
  ): Promise<Result<UpstreamReply, UpstreamFailure>> => {
    const attempts = request.method === "GET" ? maxReadAttempts : 1;
    for (let attempt = 1;; attempt++) {
      const answer = await transport(request, access);
      const outcome = answer.ok ? checkStatus(answer.value, request, clock) : answer;
      if (outcome.ok || attempt >= attempts || !isPassing(outcome.error)) return outcome;
      const askedMs = answer.ok ? retryAfterMs(answer.value.headers, clock()) ?? 0 : 0;
      if (askedMs > maxRetryAfterMs) return outcome;
      const backoffMs = retryDelayMs * 2 ** (attempt - 1) * (0.5 + random() / 2);
      await pause(Math.max(askedMs, backoffMs), access.signal);
      if (access.signal.aborted) return outcome;
    }
  };

  const call = async (
    { subject, signal, held }: Caller,
    request: UpstreamRequest,
    onSend: () => void,
  ): Promise<Result<UpstreamReply, UpstreamFailure>> => {
    const access = held === undefined ? await links.access(subject, { signal }) : success(held.current);
    if (!access.ok) return access;
    const { accessToken } = access.value;
    onSend();
    const answer = await send(request, { accessToken, signal });
    if (answer.ok || answer.error.reason !== "unauthorized") return answer;
    // An administrator may end a token before its time. Nothing was done with it, so a change may be sent again.
    const renewed = await links.access(subject, { signal, refused: accessToken });
    if (!renewed.ok) return renewed;
    // Someone who links another account meanwhile: what is done for one is not finished as the other.
    if (renewed.value.account.sysId !== access.value.account.sysId) {
      const message = "the user has linked another ServiceNow account during the call: call again";
      return failure({ reason: "invalid_input", message });
    }
    if (held !== undefined) held.current = renewed.value;
    return await send(request, { accessToken: renewed.value.accessToken, signal });
  };

  return async (caller: Caller, request: UpstreamRequest): Answer<UpstreamReply> => {
    const { subject } = caller;
    const refusal = await admission(subject);
    if (refusal !== null) return failure(refusal);
    const leftMs = Math.min(callMs, (caller.deadline ?? Infinity) - elapsed());
    if (leftMs <= 0) return failure({ reason: "unavailable", because: "timed_out" });
    const signal = AbortSignal.any([caller.signal, AbortSignal.timeout(leftMs)]);
    let isSent = false;
    const answer = await call({ ...caller, signal }, request, () => void (isSent = true));
    if (answer.ok) return answer;
    const { error } = answer;
    if (caller.signal.aborted) return failure({ reason: "cancelled" });
    if (error.reason === "cancelled") return unavailable("timed_out", isSent ? request : { method: "GET" });
    if (error.reason === "unauthorized") return failure({ reason: "link_expired" });
    if (error.reason === "rate_limited") {
      pausedUntil.set(subject, elapsed() + Math.min(error.retryAfterSeconds, maxPauseSeconds) * 1_000);
    }
    return failure(error);
  };
}

/** Whether the same request may succeed in a moment. A time-out is not retried: it has used up the time of the call. */
function isPassing(error: UpstreamFailure): boolean {
  if (error.reason === "rate_limited") return true;
  return error.reason === "unavailable" && ["unreachable", "server_error"].includes(error.because);
}

/** Asks for JSON, and parses the result. A change whose answer cannot be understood may have taken effect. */
export async function askJson<Schema extends z.ZodType>(
  callAs: CallAs,
  caller: Caller,
  { method = "GET", maxBytes = maxReplyBytes, ...request }:
    & Omit<UpstreamRequest, "method" | "accept" | "maxBytes">
    & Partial<Pick<UpstreamRequest, "method" | "maxBytes">>,
  schema: Schema,
): Promise<z.output<Schema>> {
  const answer = await callAs(caller, { ...request, method, accept: "json", maxBytes });
  const parsed = answer.ok ? parseResult(answer.value, schema) : answer;
  if (parsed.ok) return parsed.value;
  const isLost = method !== "GET" && (answer.ok || answer.error.reason === "too_large");
  throw new Refusal(isLost ? { reason: "unavailable", because: "bad_reply", uncertain: true } : parsed.error);
}
