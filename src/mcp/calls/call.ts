/** One request on its way through the server, and the answers that end it. */
import { type StorageUnavailableError, unavailableText } from "../../lib/storage_unavailable.ts";
import type { JsonAnswer, McpAnswer } from "../answer.ts";
import type { AuditOutcome } from "../audit.ts";
import type { Exchange } from "../exchange.ts";
import { errorText, refusalCode, resultText, type RpcRequest } from "../messages/jsonrpc.ts";
import type { Outlet } from "../streams/outlet.ts";
import type { ResultType, Revision } from "../revisions/revision.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../sessions/session.ts";

/** A request with its surroundings. The mutable fields are filled on the way. */
export interface Call {
  readonly request: RpcRequest;
  readonly exchange: Exchange;
  readonly revision: Revision;
  readonly session: Session | null;
  readonly runtime: Runtime;
  /** Whether the call is alone in its body: only then can its answer become a stream. */
  readonly isSingle: boolean;
  /** The way for messages that precede the response; made when first needed. */
  outlet: Outlet | null;
  /** What the audit record will say. */
  tool: string | null;
  /** What a token needs for what the call gives, and so for the result of a task that it becomes. */
  scopes: readonly string[];
  outcome: AuditOutcome;
  code: string | null;
}

/** A successful answer around a result that is already JSON text; its type matters only where revisions have types. */
export function answerResult(call: Call, result: string, resultType: ResultType = "complete"): JsonAnswer {
  return {
    kind: "json",
    status: 200,
    body: resultText(call.request.id, call.revision.encodeResult(result, resultType)),
  };
}

/** A JSON-RPC error, at the HTTP status that the revision gives it. */
export function answerError(call: Call, code: number, message: string, data?: unknown): JsonAnswer {
  call.outcome = "protocol_error";
  call.code = String(code);
  return {
    kind: "json",
    status: call.revision.errorStatus(code),
    body: errorText(call.request.id, code, message, data),
  };
}

/** The answer to a call that lost the database on its way. */
export function answerUnavailable(call: Call, error: StorageUnavailableError): McpAnswer {
  const { retryAfterSeconds } = error;
  call.outcome = "unavailable";
  call.code = "storage_unavailable";
  const body = errorText(call.request.id, refusalCode.unavailable, unavailableText(error), { retryAfterSeconds });
  return { kind: "unavailable", retryAfterSeconds, body };
}
