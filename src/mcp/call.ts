/** One request on its way through the server, and the answers that end it. */
import type { Principal } from "../lib/principal.ts";
import type { Unavailability } from "../lib/storage_unavailable.ts";
import type { JsonAnswer, McpAnswer } from "./answer.ts";
import type { AuditOutcome } from "./audit.ts";
import type { Exchange, PublicExchange } from "./exchange.ts";
import { errorText, refusalCode, resultText, type RpcRequest } from "./jsonrpc.ts";
import type { ResultForm } from "./result_form.ts";
import type { ResultType, Revision } from "./revision.ts";
import type { Runtime } from "./runtime.ts";
import type { Session } from "./session.ts";

/** A request with its surroundings, also one of the public handshake. The mutable fields are filled on the way. */
export interface PublicCall {
  readonly request: RpcRequest;
  readonly exchange: PublicExchange;
  readonly revision: Revision;
  readonly runtime: Runtime;
  /** What the audit record will say. */
  tool: string | null;
  outcome: AuditOutcome;
  code: string | null;
  change: string | null;
}

/** A request that a token came with. */
export interface Call extends PublicCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly session: Session | null;
  readonly resultForm: ResultForm;
  /** Whether the call is alone in its body: only then can its answer become a stream. */
  readonly isSingle: boolean;
  /** Gives the answer, where that begins before the response is there. */
  readonly beginAnswer: (answer: McpAnswer) => void;
  /** The way for messages that precede the response; made when first needed. */
  outlet: Outlet | null;
  /** Scopes that the call required, and that reading its result therefore requires if it becomes a task. */
  scopes: readonly string[];
}

/** The way for what a call sends before its response. */
export interface Outlet {
  /** Whether the answer has begun. */
  readonly isStreaming: boolean;
  /** Sends a message; `false` when the answer cannot be a stream, the client is gone, or an expendable one was dropped. */
  send(text: string, mayBeLost: boolean): boolean;
  /**
   * Begins the answer: as a stream where the client reads one, else as JSON whose text is still to come. Nothing begins
   * where the client reads JSON and the call outlives its connection: there, errors keep the status of their own.
   */
  begin(): void;
  /** Ends the connection of the stream where the client can come back. */
  release(): void;
  /** The call's answer: itself, or what is left of the stream, to which the response was added. */
  finish(answer: McpAnswer): McpAnswer;
}

/** A successful answer around a result that is already JSON text; its type matters only where revisions have types. */
export function answerResult(call: PublicCall, result: string, resultType: ResultType = "complete"): JsonAnswer {
  return {
    kind: "json",
    status: 200,
    body: resultText(call.request.id, call.revision.encodeResult(result, resultType)),
  };
}

/** A JSON-RPC error, at the HTTP status that the revision gives it. */
export function answerError(call: PublicCall, code: number, message: string, data?: unknown): JsonAnswer {
  call.outcome = "protocol_error";
  call.code = String(code);
  return {
    kind: "json",
    status: call.revision.errorStatus(code),
    body: errorText(call.request.id, code, message, data),
  };
}

/** The answer to a call that lost the database on its way, or for which the machine lacks something. */
export function answerUnavailable(call: PublicCall, { cause, text, retryAfterSeconds }: Unavailability): McpAnswer {
  call.outcome = "unavailable";
  call.code = cause;
  const body = errorText(call.request.id, refusalCode.unavailable, text, { retryAfterSeconds });
  return { kind: "unavailable", retryAfterSeconds, body };
}

/** Logs what a tool, prompt or resource threw. Its caller learns only that it failed. */
export function logCrash(
  { runtime, exchange: { requestId } }: Call,
  kind: "tool" | "prompt" | "resource",
  name: string,
  error: unknown,
): void {
  const reason = error instanceof Error ? error.stack ?? error.message : String(error);
  runtime.log.write("error", `${kind}_crashed`, { requestId, [kind]: name, error: reason });
}
