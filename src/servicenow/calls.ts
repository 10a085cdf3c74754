/** Calls in a user's own name: their token, their share of calls, retries, and a new token where the instance ended it. */
import type * as z from "zod";
import type { LinkedAccess, ServicenowLinks } from "./links.ts";
import { type Answer, Refusal, type ServicenowFailure } from "./failure.ts";
import {
  checkStatus,
  maxReplyBytes,
  parseResult,
  type Transport,
  type UpstreamFailure,
  type UpstreamReply,
  type UpstreamRequest,
} from "./transport.ts";
import type { Admission } from "../lib/join_next.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { retryAfterMs } from "../lib/request_text.ts";
import type { Clock, Pause } from "../lib/time.ts";
import { failure, type Result, success } from "../lib/result.ts";

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
  { links, transport, admit, clock, elapsed, random, pause, callMs = callTimeoutMs, retryDelayMs = firstRetryDelayMs }:
    {
      readonly links: ServicenowLinks;
      readonly transport: Transport;
      /** Takes one call from the user's share. */
      readonly admit: (subject: string) => Admission | Promise<Admission>;
      readonly clock: Clock;
      /** Only differences are used. */
      readonly elapsed: Clock;
      /** Between 0 and 1, as `Math.random`. */
      readonly random: () => number;
      readonly pause: Pause;
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
    if (leftMs <= 0) return failure(timedOut(false));
    const signal = AbortSignal.any([caller.signal, AbortSignal.timeout(leftMs)]);
    let uncertain = false;
    const answer = await call({ ...caller, signal }, request, () => {
      uncertain = request.method !== "GET";
    });
    if (answer.ok) return answer;
    const { error } = answer;
    if (caller.signal.aborted) return failure({ reason: "cancelled" });
    if (error.reason === "cancelled") return failure(timedOut(uncertain));
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
  return error.reason === "unavailable" && ["unreachable", "broken_off", "server_error"].includes(error.because);
}

function timedOut(uncertain: boolean): ServicenowFailure {
  return { reason: "unavailable", because: "timed_out", ...(uncertain ? { uncertain } : {}) };
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
