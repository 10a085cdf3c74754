/** One request on its way through the server, and the answers that end it. */
import type { McpAnswer } from "./answer.ts";
import type { AuditOutcome } from "./audit.ts";
import type { Exchange } from "./exchange.ts";
import { errorText, resultText, type RpcRequest } from "./jsonrpc.ts";
import type { Revision } from "./revisions/revision.ts";

/** A request with its surroundings. The mutable fields are what the audit record will say. */
export interface Call {
  readonly request: RpcRequest;
  readonly exchange: Exchange;
  readonly revision: Revision;
  tool: string | null;
  outcome: AuditOutcome;
  code: string | null;
}

/** Starts the record of a request. */
export function createCall(request: RpcRequest, exchange: Exchange, revision: Revision): Call {
  return { request, exchange, revision, tool: null, outcome: "ok", code: null };
}

/** A successful answer around a result that is already JSON text. */
export function answerResult(call: Call, result: string): McpAnswer {
  return { kind: "json", status: 200, body: resultText(call.request.id, result) };
}

/** A JSON-RPC error, at the HTTP status that the revision gives it. */
export function answerError(call: Call, code: number, message: string, data?: unknown): McpAnswer {
  call.outcome = "protocol_error";
  call.code = String(code);
  return {
    kind: "json",
    status: call.revision.errorStatus(code),
    body: errorText(call.request.id, code, message, data),
  };
}
