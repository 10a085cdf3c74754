/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import type { Log } from "../lib/log.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import type { AuditEntry } from "./audit.ts";
import { answerBatch } from "./batch.ts";
import { answerError, answerResult, type Call, createCall } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import { answerInitialize, type InitializeOptions } from "./initialize.ts";
import {
  echoedId,
  errorCode,
  errorText,
  kindOfMessage,
  refusalCode,
  type RpcCall,
  type RpcRequest,
} from "./jsonrpc.ts";
import type { Revision } from "./revisions/revision.ts";
import { selectRevision } from "./revisions/select_revision.ts";
import { callTool, type ToolCallOptions } from "./tool_call.ts";
import { createToolsList, type ToolsListOptions } from "./tools_list.ts";

/** Everything that the protocol server stands on. */
export interface McpServerOptions extends ToolCallOptions, ToolsListOptions, InitializeOptions {
  readonly log: Log;
  /** Receives one record per request. */
  readonly audit: (entry: AuditEntry) => void;
  /** How many messages a batch may hold. */
  readonly maxBatchLength: number;
}

/** The protocol server. */
export interface McpServer {
  /** Answers one parsed body. Never throws and never rejects. */
  handle(body: unknown, exchange: Exchange): McpAnswer | Promise<McpAnswer>;
}

type Handler = (call: Call, principal: Principal) => McpAnswer | Promise<McpAnswer>;

/** Builds the protocol server. */
export function createMcpServer(options: McpServerOptions): McpServer {
  const listTools = createToolsList(options);
  const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
    ["initialize", (call) => answerInitialize(options, call)],
    ["ping", (call) => answerResult(call, "{}")],
    ["tools/list", listTools],
    ["tools/call", (call, principal) => callTool(options, call, principal)],
  ]);

  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const { principal } = call.exchange;
    if (principal === null) {
      return method === "initialize"
        ? answerInitialize(options, call)
        : answerError(call, refusalCode.unauthorized, "Unauthorized");
    }
    const handler = handlers.get(method);
    if (handler === undefined) return answerError(call, errorCode.methodNotFound, `Method not found: ${method}`);
    return handler(call, principal);
  };

  const answerRequest = (
    request: RpcRequest,
    exchange: Exchange,
    revision: Revision,
  ): McpAnswer | Promise<McpAnswer> => {
    const call = createCall(request, exchange, revision);
    const started = performance.now();
    let answer: McpAnswer | Promise<McpAnswer>;
    try {
      answer = dispatch(call);
    } catch (error) {
      answer = answerFailure(options.log, call, error);
    }
    if (!(answer instanceof Promise)) {
      options.audit(auditEntry(call, started));
      return answer;
    }
    return answer.catch((error) => answerFailure(options.log, call, error)).finally(() =>
      options.audit(auditEntry(call, started))
    );
  };

  const answerMessage = (
    message: unknown,
    exchange: Exchange,
    revision: Revision,
  ): McpAnswer | Promise<McpAnswer> => {
    switch (kindOfMessage(message)) {
      case "request":
        return answerRequest(message as RpcRequest, exchange, revision);
      case "notification":
        return takeNotification(options.log, message as RpcCall, exchange);
      case "response":
        return { kind: "accepted", status: 202 };
      case "wrong_version":
        return refuseMessage(message, revision, "Invalid JSON-RPC version");
      case "malformed":
        return refuseMessage(message, revision, "Invalid Request");
    }
  };

  return {
    handle(body, exchange) {
      const method = (body as { readonly method?: unknown } | null)?.method;
      const selected = selectRevision(exchange.header("mcp-protocol-version"), method);
      if (!selected.ok) {
        const message = `Unsupported protocol version: ${selected.error.slice(0, 40)}`;
        return { kind: "json", status: 400, body: errorText(echoedId(body), errorCode.invalidRequest, message) };
      }
      if (!Array.isArray(body)) return answerMessage(body, exchange, selected.value);
      return answerBatch(options, body, exchange, selected.value, answerMessage);
    },
  };
}

function takeNotification(log: Log, notification: RpcCall, exchange: Exchange): McpAnswer {
  if (notification.method !== "notifications/initialized") return { kind: "accepted", status: 202 };
  log.write("debug", "client_ready", { requestId: exchange.requestId });
  return { kind: "accepted", status: exchange.profile === "servicenow" ? 200 : 202 };
}

function refuseMessage(message: unknown, revision: Revision, text: string): McpAnswer {
  const body = errorText(echoedId(message), errorCode.invalidRequest, text);
  return { kind: "json", status: revision.errorStatus(errorCode.invalidRequest), body };
}

function answerFailure(log: Log, call: Call, error: unknown): McpAnswer {
  log.write("error", "request_failed", {
    requestId: call.exchange.requestId,
    method: call.request.method.slice(0, 100),
    error: error instanceof Error ? error.stack ?? error.message : String(error),
  });
  const answer = answerError(call, errorCode.internalError, "Internal server error");
  call.outcome = "internal_error";
  return answer;
}

function auditEntry(call: Call, started: number): AuditEntry {
  const { requestId, principal } = call.exchange;
  return {
    time: Date.now(),
    requestId,
    subject: principal === null ? null : principal.subject,
    clientId: principal === null ? null : principal.clientId,
    method: call.request.method.slice(0, 100),
    tool: call.tool,
    outcome: call.outcome,
    code: call.code,
    durationMs: performance.now() - started,
  };
}
