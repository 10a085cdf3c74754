/** A request and its retries. Only reads are sent again, until `signal` ends the call. */
import type { Clock } from "../lib/clock.ts";
import type { Result } from "../lib/result.ts";
import type { Pause } from "../lib/pause.ts";
import { checkStatus, type UpstreamFailure } from "./reply.ts";
import { retryAfterSeconds, type Transport, type UpstreamReply, type UpstreamRequest } from "./transport.ts";

interface SendOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Between 0 and 1, as `Math.random`. */
  readonly random: () => number;
  readonly pause: Pause;
  /** The pause before the second attempt. It doubles for each further one, and half of it is random. */
  readonly retryDelayMs?: number;
}

/** Sends a request and gives its successful answer. */
export type Send = (
  request: UpstreamRequest,
  call: { readonly accessToken: string; readonly signal: AbortSignal },
) => Promise<Result<UpstreamReply, UpstreamFailure>>;

const maxReadAttempts = 3;
/** A longer `Retry-After` is reported to the caller. */
const maxRetryAfterSeconds = 3;
const firstRetryDelayMs = 250;

export function createSend(
  { transport, clock, random, pause, retryDelayMs = firstRetryDelayMs }: SendOptions,
): Send {
  return async (request, { accessToken, signal }) => {
    const attempts = request.method === "GET" ? maxReadAttempts : 1;
    for (let attempt = 1;; attempt++) {
      const answer = await transport(request, { accessToken, signal });
      const outcome = answer.ok ? checkStatus(answer.value, request, clock) : answer;
      if (outcome.ok || attempt >= attempts || !isPassing(outcome.error)) return outcome;
      const asked = answer.ok ? retryAfterSeconds(answer.value.headers, clock) : null;
      if (asked !== null && asked > maxRetryAfterSeconds) return outcome;
      const backoffMs = retryDelayMs * 2 ** (attempt - 1) * (0.5 + random() / 2);
      await pause(Math.max((asked ?? 0) * 1_000, backoffMs), signal);
      if (signal.aborted) return outcome;
    }
  };
}

/** Whether the same request may succeed in a moment. A time-out is not retried: it has used up the time of the call. */
function isPassing(error: UpstreamFailure): boolean {
  if (error.reason === "rate_limited") return true;
  return error.reason === "unavailable" && ["unreachable", "broken_off", "server_error"].includes(error.because);
}
