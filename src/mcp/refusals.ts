/** Refusals before a call runs: for want of scopes, or because a limit is reached. */
import { whenReady } from "../lib/when_ready.ts";
import type { McpAnswer } from "./answer.ts";
import { errorText, refusalCode, rpcErrorCode, type RpcId } from "./jsonrpc.ts";
import { answerError, type Call } from "./call.ts";

/** Refuses a call whose token lacks some of the scopes that it needs. */
export function refuseScopes(call: Call, needed: readonly string[]): McpAnswer {
  call.outcome = "insufficient_scope";
  call.code = "insufficient_scope";
  return insufficientScope(call.request.id, needed, call.revision.challengesWithGranted ? call.principal.scopes : []);
}

/** The refusal of a call, or of a whole batch; its challenge names the scopes that are needed, and those granted. */
export function insufficientScope(
  id: RpcId | null,
  needed: readonly string[],
  granted: Iterable<string>,
): McpAnswer {
  const message = `This call needs the scopes: ${needed.join(" ")}`;
  const scopes = [...new Set([...granted, ...needed])];
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}

/** Takes a call from its principal's rate limit; `null` when it is admitted. */
export function refuseRate(call: Call): McpAnswer | null | Promise<McpAnswer | null> {
  return whenReady(call.runtime.admit(call.principal), (admission) => {
    if (admission.ok) return null;
    call.outcome = "rate_limited";
    call.code = "rate_limited";
    return tooManyCalls(call.request.id, admission.retryAfterSeconds);
  });
}

/** Refuses a request while calls of its principal are stopped; the words say so. */
export function refuseStopped(call: Call, words: string): McpAnswer {
  call.outcome = "stopped";
  call.code = "stopped";
  return answerError(call, rpcErrorCode.invalidRequest, words);
}

/** The refusal of a message that comes too soon; `id` is that of the request, if it was one. */
export function tooManyCalls(id: RpcId | null, retryAfterSeconds: number): McpAnswer {
  return rateLimited(id, `Too many calls. Try again in ${retryAfterSeconds} s`, retryAfterSeconds, {
    retryAfterSeconds,
  });
}

const streamRetrySeconds = 60;

/** The refusal of a stream over the limit. */
export function tooManyStreams(id: RpcId | null): McpAnswer {
  return rateLimited(id, "Too many streams are open", streamRetrySeconds);
}

function rateLimited(id: RpcId | null, message: string, retryAfterSeconds: number, data?: unknown): McpAnswer {
  return { kind: "rate_limited", retryAfterSeconds, body: errorText(id, refusalCode.rateLimited, message, data) };
}
