/** Every request leaves one audit record and, where spans are exported, one span. What it throws is logged here. */
import type { Principal } from "../lib/principal.ts";
import { unavailability } from "../lib/storage_unavailable.ts";
import type { McpAnswer } from "./answer.ts";
import type { TakeAudit } from "./audit.ts";
import { answerError, answerUnavailable, type PublicCall } from "./call.ts";
import type { Runtime } from "./runtime.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { beginRequestSpan, endRequestSpan } from "./request_span.ts";
import { traceContextOf } from "./trace_context.ts";

const maxMethodCharacters = 100;

/** Serves a request on the record; `principal` is `null` only for the public handshake. */
export type ObserveRequest = (
  call: PublicCall,
  principal: Principal | null,
  serve: () => McpAnswer | Promise<McpAnswer>,
) => McpAnswer | Promise<McpAnswer>;

export function createRequestObserver({ runtime, isKnownMethod, audit }: {
  readonly runtime: Runtime;
  readonly isKnownMethod: (method: string) => boolean;
  readonly audit: TakeAudit;
}): ObserveRequest {
  const { tracer, timers, clock } = runtime;
  return (call, principal, serve) => {
    const started = timers.elapsed();
    const { request, exchange } = call;
    const parent = traceContextOf(request.params, exchange);
    const span = beginRequestSpan(tracer, call, { parent, isKnownMethod: isKnownMethod(request.method) });
    const end = (answer: McpAnswer): McpAnswer => {
      const traceId = span === null ? parent?.traceId : span.traceId;
      audit({
        time: clock(),
        requestId: exchange.requestId,
        subject: principal?.subject ?? null,
        clientId: principal?.clientId ?? null,
        grantId: principal?.grantId ?? null,
        method: request.method.slice(0, maxMethodCharacters),
        tool: call.tool,
        outcome: call.outcome,
        code: call.code,
        durationMs: toMicroseconds(timers.elapsed() - started),
        ...(call.change === null ? {} : { change: call.change }),
        ...(traceId === undefined ? {} : { traceId }),
      }, request.params);
      if (span !== null) endRequestSpan(span, call);
      return answer;
    };
    const fail = (error: unknown): McpAnswer => end(answerFailure(call, error));
    let answer: McpAnswer | Promise<McpAnswer>;
    try {
      answer = span === null ? serve() : span.run(serve);
    } catch (error) {
      return fail(error);
    }
    return answer instanceof Promise ? answer.then(end, fail) : end(answer);
  };
}

/** Without the digits below, which no clock has and each line would spell. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1_000) / 1_000;
}

function answerFailure(call: PublicCall, error: unknown): McpAnswer {
  const unavailable = unavailability(error);
  if (unavailable?.cause === "storage_unavailable") return answerUnavailable(call, unavailable);
  call.runtime.log.write("error", "request_failed", {
    requestId: call.exchange.requestId,
    method: call.request.method.slice(0, maxMethodCharacters),
    error: error instanceof Error ? error.stack ?? error.message : String(error),
  });
  if (unavailable !== null) return answerUnavailable(call, unavailable);
  const answer = answerError(call, rpcErrorCode.internalError, "Internal server error");
  call.outcome = "internal_error";
  return answer;
}
