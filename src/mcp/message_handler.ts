/** Answers single messages: requests by their methods, notifications and responses by taking note of them. */
import {
  answerError,
  answerResult,
  answerUnavailable,
  type Call,
  type McpAnswer,
  type PublicCall,
  resultFormOf,
  type Runtime,
} from "./call.ts";
import { complete, getPrompt, readResource, watchResource } from "./content_methods.ts";
import { answerDiscover, answerInitialize, noteInitialized, setLogLevel } from "./initialize.ts";
import { listen } from "./notice_streams.ts";
import { createLists } from "./lists.ts";
import { cancelTask, getTask, updateTask } from "./task_methods.ts";
import { callTool, refuseRate, refuseStopped, tooManyCalls } from "./tool_call.ts";
import type { Session } from "./session.ts";
import type { Principal } from "../lib/principal.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";
import {
  echoedId,
  errorText,
  isRpcId,
  kindOfMessage,
  type RpcCall,
  rpcErrorCode,
  type RpcRequest,
  type RpcResponse,
} from "./jsonrpc.ts";
import { traceContextOf } from "./trace_context.ts";
import type { Span, TraceContext, Tracer } from "../lib/tracer.ts";
import { isObject } from "../lib/json.ts";
import type { Revision } from "./revision.ts";

// The methods of the protocol, of both eras, and what serves them. A revision's own list says which of them it has.

/** One that only looks into memory answers without a promise. */
type Handler = (call: Call) => McpAnswer | Promise<McpAnswer>;

/**
 * Every method counts like a call, but the handshake, and `ping`, which is to be answered promptly (MCP 2025-11-25,
 * basic/utilities/ping).
 */
const counted = (serve: Handler): Handler => async (call) => await refuseRate(call) ?? await serve(call);

/** One that tells what there is, and so gives nothing while calls are stopped. */
const stoppable = (serve: Handler): Handler =>
  counted((call) => {
    const refusal = call.runtime.callWatch.refusal(call.principal);
    return refusal === null ? serve(call) : refuseStopped(call, refusal);
  });

/**
 * Builds the table. Methods of features that the server does not have are left out. `follow` tells a session's own
 * stream what the session watches.
 */
export function createMethodTable(
  { features, ...offered }: Runtime,
  follow: (session: Session) => void,
): ReadonlyMap<string, Handler> {
  const lists = createLists(offered);
  const table = new Map<string, Handler>([
    ["initialize", answerInitialize],
    ["server/discover", answerDiscover],
    ["ping", (call) => answerResult(call, "{}")],
    ["tools/list", counted(lists.tools)],
    ["tools/call", callTool],
    ["logging/setLevel", counted(setLogLevel)],
    ["subscriptions/listen", stoppable(listen)],
    ["tasks/get", counted(getTask)],
    ["tasks/update", stoppable(updateTask)],
    ["tasks/cancel", counted(cancelTask)],
  ]);
  if (features.prompts) {
    table.set("prompts/list", counted(lists.prompts));
    table.set("prompts/get", getPrompt);
  }
  if (features.resources) {
    table.set("resources/list", stoppable(lists.resources));
    table.set("resources/templates/list", counted(lists.templates));
    table.set("resources/read", readResource);
    table.set("resources/subscribe", (call) => watchResource(call, true, follow));
    table.set("resources/unsubscribe", (call) => watchResource(call, false, follow));
  }
  if (features.prompts || features.resources) table.set("completion/complete", stoppable(complete));
  return table;
}

const maxMethodCharacters = 100;

/** Serves a request on the record; `principal` is `null` only for the public handshake. */
export type ObserveRequest = (
  call: PublicCall,
  principal: Principal | null,
  serve: () => McpAnswer | Promise<McpAnswer>,
) => Promise<McpAnswer>;

/** Every request leaves one audit record and, where spans are exported, one span. What it throws is logged here. */
export function createRequestObserver(
  { tracer, timers, clock, audit }: Runtime,
  isKnownMethod: (method: string) => boolean,
): ObserveRequest {
  return async (call, principal, serve) => {
    const started = timers.elapsed();
    const { request, exchange } = call;
    const parent = traceContextOf(request.params, exchange);
    const span = beginRequestSpan(tracer, call, { parent, isKnownMethod: isKnownMethod(request.method) });
    let answer: McpAnswer;
    try {
      answer = await (span === null ? serve() : span.run(serve));
    } catch (error) {
      answer = answerFailure(call, error);
    }
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
    }, "input" in call ? { arguments: call.input } : request.params);
    if (span !== null) endRequestSpan(span, call);
    return answer;
  };
}

const maxIdCharacters = 100;

/** Begins the span of a request; `null` where nothing is exported and the caller sent no trace. */
function beginRequestSpan(
  tracer: Tracer,
  { request, exchange, revision }: PublicCall,
  { parent, isKnownMethod }: { readonly parent: TraceContext | undefined; readonly isKnownMethod: boolean },
): Span | null {
  if (!tracer.exports && parent === undefined) return null;
  const method = isKnownMethod ? request.method : "_OTHER"; // what a caller makes up names no span
  return tracer.begin({
    name: method,
    kind: "server",
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": revision.version,
      "jsonrpc.request.id": String(request.id).slice(0, maxIdCharacters),
      "network.transport": exchange.hasHeaders ? "tcp" : "pipe",
      "portcullis.request.id": exchange.requestId,
    },
    ...(parent === undefined ? {} : { parent }),
  });
}

function endRequestSpan(span: Span, { tool, outcome, code }: PublicCall): void {
  if (tool !== null) {
    span.rename(`tools/call ${tool}`);
    span.set({ "gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool" });
  }
  if (outcome === "protocol_error" && code !== null) {
    span.set({ "rpc.response.status_code": code });
    span.fail(code);
  } else if (outcome !== "ok") span.fail(outcome);
  span.end();
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
    error: crashText(error),
  });
  if (unavailable !== null) return answerUnavailable(call, unavailable);
  const answer = answerError(call, rpcErrorCode.internalError, "Internal server error");
  call.outcome = "internal_error";
  return answer;
}

/** What is known of a message before it is read. */
type MessageContext = Pick<Call, "exchange" | "revision" | "session" | "isSingle">;

export type MessageHandler = (message: unknown, context: MessageContext) => Promise<McpAnswer>;

export function createMessageHandler(
  runtime: Runtime,
  methods: ReadonlyMap<string, Handler>,
  observe: ObserveRequest,
): MessageHandler {
  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const handler = call.revision.methods.has(method) ? methods.get(method) : undefined;
    if (handler === undefined) return answerError(call, rpcErrorCode.methodNotFound, `Method not found: ${method}`);
    return handler(call);
  };

  const answerRequest = async (request: RpcRequest, context: MessageContext): Promise<McpAnswer> => {
    const { exchange, revision, session } = context;
    const { promise: begun, resolve: beginAnswer } = Promise.withResolvers<McpAnswer>();
    const call: Call = {
      ...context,
      request,
      principal: exchange.principal,
      runtime,
      beginAnswer,
      resultForm: resultFormOf(
        runtime.structuredResults,
        exchange.profile,
        revision.capabilitiesOf(request, session).has("structured_content"),
      ),
      outlet: null,
      tool: null,
      scopes: [],
      outcome: "ok",
      code: null,
      change: null,
    };
    const served = observe(call, call.principal, () => dispatch(call));
    const finished = served.then((answer) => call.outlet === null ? answer : call.outlet.finish(answer));
    return await Promise.race([finished, begun]);
  };

  return async (message, context) => {
    switch (kindOfMessage(message)) {
      case "request":
        return await answerRequest(message as RpcRequest, context);
      case "notification":
        return await takeNotification(runtime, message as RpcCall, context);
      case "response":
        return await takeResponse(runtime, message as RpcResponse, context);
      case "wrong_version":
        return refuseMessage(message, context.revision, "Invalid JSON-RPC version");
      case "malformed":
        return refuseMessage(message, context.revision, "Invalid Request");
    }
  };
}

const accepted: McpAnswer = { kind: "accepted", status: 202 };

async function takeResponse(
  { questions, admit }: Runtime,
  response: RpcResponse,
  { exchange: { principal }, session }: MessageContext,
): Promise<McpAnswer> {
  if (session === null) return accepted;
  const taken = await questions.take(session.key, response, () => admit(principal));
  return taken.ok ? accepted : tooManyCalls(null, taken.retryAfterSeconds);
}

async function takeNotification(
  { log, inFlight, admit }: Runtime,
  { method, params }: RpcCall,
  { exchange, session }: MessageContext,
): Promise<McpAnswer> {
  if (method === "notifications/initialized") return noteInitialized(log, exchange);
  const id = method === "notifications/cancelled" && isObject(params) ? params["requestId"] : undefined;
  if (!isRpcId(id)) return accepted;
  const { principal } = exchange;
  const owner = session?.key ?? principal.tokenId;
  if (inFlight.cancel(owner, id) || inFlight.has(owner, id) || session === null) return accepted;
  // The call has ended, or runs on another instance. To tell that one is a write, so it counts like a call.
  if ((await admit(principal)).ok) await inFlight.tell(owner, id);
  return accepted;
}

function refuseMessage(message: unknown, revision: Revision, text: string): McpAnswer {
  const body = errorText(echoedId(message), rpcErrorCode.invalidRequest, text);
  return { kind: "json", status: revision.errorStatus(rpcErrorCode.invalidRequest), body, isMalformed: true };
}
