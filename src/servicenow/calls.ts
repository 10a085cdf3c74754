/** Calls in a person's own name: their token, their share of calls, and one more try when the instance ended the token. */
import type { Clock } from "../lib/clock.ts";
import { failure, type Result } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { InstanceAccount } from "./link_record.ts";
import type { ServicenowLinks } from "./links.ts";
import type { Caller } from "./port.ts";
import type { UpstreamFailure } from "./reply.ts";
import type { Send } from "./send.ts";
import type { UpstreamReply, UpstreamRequest } from "./transport.ts";

/** Whether a person may call now, or in how many seconds. */
export type Admission = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** Sends a request with the caller's own token. */
export type CallAs = (
  caller: Caller,
  request: UpstreamRequest | ((account: InstanceAccount) => UpstreamRequest),
) => Promise<Result<UpstreamReply, ServicenowFailure>>;

const maxPausedSubjects = 10_000;
const maxPauseSeconds = 3_600;

/** Builds {@link CallAs}. `admit` takes one call from the person's share. */
export function createCallAs(
  { links, send, admit, clock }: {
    readonly links: ServicenowLinks;
    readonly send: Send;
    readonly admit: (subject: string) => Admission;
    readonly clock: Clock;
  },
): CallAs {
  /** By person: when the instance will answer again, by its own word. */
  const pausedUntil = new Map<string, number>();

  const admission = (subject: string): ServicenowFailure | null => {
    const until = pausedUntil.get(subject) ?? 0;
    const now = clock();
    if (until > now) {
      return { reason: "rate_limited", by: "servicenow", retryAfterSeconds: Math.ceil((until - now) / 1_000) };
    }
    pausedUntil.delete(subject);
    const admitted = admit(subject);
    return admitted.ok
      ? null
      : { reason: "rate_limited", by: "portcullis", retryAfterSeconds: admitted.retryAfterSeconds };
  };
  const settle = (subject: string, error: UpstreamFailure): ServicenowFailure => {
    if (error.reason === "unauthorized") return { reason: "link_expired" };
    if (error.reason === "rate_limited") {
      const [oldest] = pausedUntil.keys();
      if (pausedUntil.size >= maxPausedSubjects && oldest !== undefined) pausedUntil.delete(oldest);
      pausedUntil.set(subject, clock() + Math.min(error.retryAfterSeconds, maxPauseSeconds) * 1_000);
    }
    return error;
  };

  return async ({ subject, signal }, request) => {
    const refusal = admission(subject);
    if (refusal !== null) return failure(refusal);
    let access = await links.access(subject, { signal });
    if (!access.ok) return access;
    const upstream = typeof request === "function" ? request(access.value.account) : request;
    let answer = await send(upstream, { accessToken: access.value.accessToken, signal });
    if (!answer.ok && answer.error.reason === "unauthorized") {
      // An administrator may end a token before its time. Nothing was done with it, so a change may be sent again.
      access = await links.access(subject, { signal, refused: access.value.accessToken });
      if (!access.ok) return access;
      answer = await send(upstream, { accessToken: access.value.accessToken, signal });
    }
    return answer.ok ? answer : failure(settle(subject, answer.error));
  };
}
