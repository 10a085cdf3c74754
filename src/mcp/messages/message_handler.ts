/** Answers single messages: requests by their methods, notifications and responses by taking note of them. */
import type { Admission } from "../../lib/admission.ts";
import { type Admit, tooManyCalls } from "../admission.ts";
import type { McpAnswer } from "../answer.ts";
import type { AuditEntry } from "../audit.ts";
import { StorageUnavailableError } from "../../lib/storage_unavailable.ts";
import { answerError, answerUnavailable, type Call } from "../calls/call.ts";
import type { Exchange } from "../exchange.ts";
import { isObject } from "../../lib/is_object.ts";
import {
  echoedId,
  errorCode,
  errorText,
  isRpcId,
  kindOfMessage,
  refusalCode,
  type RpcCall,
  type RpcRequest,
  type RpcResponse,
} from "./jsonrpc.ts";
import type { Handler } from "./method_table.ts";
import type { Revision } from "../revisions/revision.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../sessions/session.ts";
import { beginRequestSpan, endRequestSpan } from "./request_span.ts";
import { traceContextOf } from "./trace_context.ts";

interface MessageHandlerOptions {
  readonly runtime: Runtime;
  readonly methods: ReadonlyMap<string, Handler>;
  readonly admit: Admit;
  /** Serves `initialize` to a caller without a token. */
  readonly open: (call: Call) => McpAnswer;
  readonly audit: (entry: AuditEntry) => void;
}

/** Answers one message; `isSingle` when it came alone in its body. */
export type MessageHandler = (
  message: unknown,
  exchange: Exchange,
  revision: Revision,
  session: Session | null,
  isSingle: boolean,
) => McpAnswer | Promise<McpAnswer>;

export function createMessageHandler({ runtime, methods, admit, open, audit }: MessageHandlerOptions): MessageHandler {
  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const { principal } = call.exchange;
    if (principal === null) {
      return method === "initialize" ? open(call) : answerError(call, refusalCode.unauthorized, "Unauthorized");
    }
    const handler = call.revision.methods.has(method) ? methods.get(method) : undefined;
    if (handler === undefined) return answerError(call, errorCode.methodNotFound, `Method not found: ${method}`);
    return handler(call, principal);
  };

  const answerRequest = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const started = runtime.timers.elapsed();
    const { request, exchange } = call;
    const parent = traceContextOf(request.params, exchange);
    const span = beginRequestSpan(runtime.tracer, call, { parent, isKnownMethod: methods.has(request.method) });
    const finish = (): void => {
      audit(auditEntry(call, started, span === null ? parent?.traceId : span.traceId));
      if (span !== null) endRequestSpan(span, call);
    };
    let answer: McpAnswer | Promise<McpAnswer>;
    try {
      answer = span === null ? dispatch(call) : span.run(() => dispatch(call));
    } catch (error) {
      answer = answerFailure(call, error);
    }
    if (!(answer instanceof Promise)) {
      finish();
      return call.outlet === null ? answer : call.outlet.finish(answer);
    }
    const finished = answer.catch((error) => answerFailure(call, error)).then((final) => {
      finish();
      return call.outlet === null ? final : call.outlet.finish(final);
    });
    return call.outlet === null ? finished : Promise.race([finished, call.outlet.opened]);
  };

  return (message, exchange, revision, session, isSingle) => {
    switch (kindOfMessage(message)) {
      case "request":
        return answerRequest({
          request: message as RpcRequest,
          exchange,
          revision,
          session,
          runtime,
          isSingle,
          outlet: null,
          tool: null,
          scopes: [],
          outcome: "ok",
          code: null,
        });
      case "notification":
        return takeNotification({ ...runtime, admit }, message as RpcCall, exchange, session);
      case "response":
        return takeResponse({ ...runtime, admit }, message as RpcResponse, exchange, session);
      case "wrong_version":
        return refuseMessage(message, revision, "Invalid JSON-RPC version");
      case "malformed":
        return refuseMessage(message, revision, "Invalid Request");
    }
  };
}

function takeResponse(
  { questions, admit }: Pick<Runtime, "questions"> & { readonly admit: Admit },
  response: RpcResponse,
  { principal }: Exchange,
  session: Session | null,
): McpAnswer | Promise<McpAnswer> {
  const accepted: McpAnswer = { kind: "accepted", status: 202 };
  if (session === null || principal === null) return accepted;
  const taken = questions.take(session.key, response, () => admit(principal));
  const answer = (taken: Admission): McpAnswer => taken.ok ? accepted : tooManyCalls(null, taken.retryAfterSeconds);
  return taken instanceof Promise ? taken.then(answer) : answer(taken);
}

function takeNotification(
  { log, inFlight, admit }: Pick<Runtime, "log" | "inFlight"> & { readonly admit: Admit },
  { method, params }: RpcCall,
  { requestId, principal, profile }: Exchange,
  session: Session | null,
): McpAnswer | Promise<McpAnswer> {
  if (method === "notifications/initialized") {
    log.write("debug", "client_ready", { requestId });
    return { kind: "accepted", status: profile.initializedStatus };
  }
  const accepted: McpAnswer = { kind: "accepted", status: 202 };
  const id = method === "notifications/cancelled" && isObject(params) ? params["requestId"] : undefined;
  if (principal === null || !isRpcId(id)) return accepted;
  const owner = session?.key ?? principal.tokenId;
  if (inFlight.cancel(owner, id) || inFlight.has(owner, id) || session === null) return accepted;
  // It has ended, or runs on another instance. That is a write, so it counts like a call.
  return (async () => {
    if ((await admit(principal)).ok) await inFlight.tell(owner, id);
    return accepted;
  })();
}

function refuseMessage(message: unknown, revision: Revision, text: string): McpAnswer {
  const body = errorText(echoedId(message), errorCode.invalidRequest, text);
  return { kind: "json", status: revision.errorStatus(errorCode.invalidRequest), body };
}

function answerFailure(call: Call, error: unknown): McpAnswer {
  if (error instanceof StorageUnavailableError) return answerUnavailable(call, error);
  call.runtime.log.write("error", "request_failed", {
    requestId: call.exchange.requestId,
    method: call.request.method.slice(0, 100),
    error: error instanceof Error ? error.stack ?? error.message : String(error),
  });
  const answer = answerError(call, errorCode.internalError, "Internal server error");
  call.outcome = "internal_error";
  return answer;
}

function auditEntry(call: Call, started: number, traceId: string | undefined): AuditEntry {
  const { runtime, exchange: { requestId, principal } } = call;
  const entry: AuditEntry = {
    time: runtime.clock(),
    requestId,
    subject: principal === null ? null : principal.subject,
    clientId: principal === null ? null : principal.clientId,
    method: call.request.method.slice(0, 100),
    tool: call.tool,
    outcome: call.outcome,
    code: call.code,
    durationMs: runtime.timers.elapsed() - started,
  };
  return traceId === undefined ? entry : { ...entry, traceId };
}
