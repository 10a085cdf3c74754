/** A request with its retries: only what reads is sent again, a few times, within one time limit for all. */
import type { Clock } from "../lib/time/clock.ts";
import { failure, type Result } from "../lib/result.ts";
import type { ServicenowLimits } from "./limits.ts";
import type { Pause } from "../lib/time/pause.ts";
import { checkStatus, type UpstreamFailure } from "./reply.ts";
import { retryAfterSeconds, type Transport, type UpstreamReply, type UpstreamRequest } from "./transport.ts";

interface SendOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Only differences are used: `performance.now`, which no change of the wall clock disturbs. */
  readonly monotonic: Clock;
  /** Between 0 and 1, as `Math.random`. */
  readonly random: () => number;
  readonly pause: Pause;
  readonly limits: ServicenowLimits;
}

/** Sends a request and gives its successful answer. */
export type Send = (
  request: UpstreamRequest,
  call: { readonly accessToken: string; readonly signal: AbortSignal },
) => Promise<Result<UpstreamReply, UpstreamFailure>>;

export function createSend({ transport, clock, monotonic, random, pause, limits }: SendOptions): Send {
  return async (request, { accessToken, signal }) => {
    const endsAt = monotonic() + limits.callSeconds * 1_000;
    const attempts = request.method === "GET" ? limits.maxAttempts : 1;
    for (let attempt = 1;; attempt++) {
      const leftSeconds = (endsAt - monotonic()) / 1_000;
      const answer = await transport(request, {
        accessToken,
        signal,
        seconds: Math.min(limits.attemptSeconds, Math.max(0.001, leftSeconds)),
      });
      const outcome = answer.ok ? checkStatus(answer.value, request, clock) : answer;
      if (outcome.ok || attempt >= attempts || !isPassing(outcome.error)) return outcome;
      const asked = answer.ok ? retryAfterSeconds(answer.value.headers, clock) : null;
      if (asked !== null && asked > limits.maxRetryAfterSeconds) return outcome;
      const backoff = limits.retryDelaySeconds * 2 ** (attempt - 1) * (0.5 + random() / 2);
      const waitSeconds = Math.max(asked ?? 0, backoff);
      if (monotonic() + waitSeconds * 1_000 >= endsAt) return outcome;
      await pause(waitSeconds * 1_000, signal);
      if (signal.aborted) return failure({ reason: "cancelled" });
    }
  };
}

/** Whether the same request may well succeed in a moment. A time-out has used up the caller's patience. */
function isPassing(error: UpstreamFailure): boolean {
  if (error.reason === "rate_limited") return true;
  return error.reason === "unavailable" && ["unreachable", "broken_off", "server_error"].includes(error.because);
}
