/** Answers single messages: requests by their methods, notifications and responses by taking note of them. */
import { answerError, answerUnavailable, mark, paramsOf, resultFormOf, unmarked } from "./call.ts";
import type { Call, McpAnswer, PublicCall } from "./call.ts";
import type { Runtime } from "./runtime.ts";
import { refuseRate } from "./tool_call.ts";
import { whenReady } from "../lib/turns.ts";
import type { Principal } from "../lib/principal.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";
import { echoedId, errorText, isRpcId, kindOfMessage, metaOf, rpcErrorCode } from "./jsonrpc.ts";
import type { RpcCall, RpcRequest, RpcResponse } from "./jsonrpc.ts";
import { type Span, type TraceContext, traceContextOf, type Tracer } from "../lib/tracer.ts";
import { isObject } from "../lib/json.ts";
import type { Revision } from "./revision.ts";
import { type MethodTable, noteInitialized } from "./methods.ts";

const maxMethodCharacters = 100;

/** Serves a request on the record; `principal` is `null` only for the public handshake. */
export type ObserveRequest = (
  call: PublicCall,
  principal: Principal | null,
  serve: () => McpAnswer | Promise<McpAnswer>,
) => McpAnswer | Promise<McpAnswer>;

/** Every request leaves one audit record and, where spans are exported, one span. What it throws is logged here. */
export function createRequestObserver(
  { tracer, timers, clock, audit }: Runtime,
  isKnownMethod: (method: string) => boolean,
): ObserveRequest {
  return (call, principal, serve) => {
    const started = timers.elapsed();
    const { request, exchange } = call;
    const parent = traceContextOf(metaOf(request.params), (name) => exchange.header(name));
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
        durationMs: Math.round((timers.elapsed() - started) * 1_000) / 1_000, // a clock has no digits below
        change: call.change ?? undefined,
        traceId,
      }, "input" in call ? { arguments: call.input } : request.params);
      if (span !== null) endRequestSpan(span, call);
      return answer;
    };
    const fail = (error: unknown): McpAnswer => end(answerFailure(call, error));
    let served: McpAnswer | Promise<McpAnswer>;
    try {
      served = span === null ? serve() : span.run(serve);
    } catch (error) {
      return fail(error);
    }
    return served instanceof Promise ? served.then(end, fail) : end(served);
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
type MessageContext = Pick<Call, "exchange" | "revision" | "session" | "isSingle" | "standAside">;

/** Answers at once where nothing has to be waited for, which a third of a short call's processor time depends on. */
export type MessageHandler = (message: unknown, context: MessageContext) => McpAnswer | Promise<McpAnswer>;

export function createMessageHandler(runtime: Runtime, methods: MethodTable, observe: ObserveRequest): MessageHandler {
  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const handler = call.revision.methods.has(method) ? methods.get(method) : undefined;
    return whenReady(refuseRate(runtime, call.principal, call.request.id), (refusal) => {
      if (refusal !== null) {
        mark(call, "rate_limited");
        const { name } = paramsOf(call);
        if (method === "tools/call" && typeof name === "string") call.tool = runtime.tools.get(name)?.tool.name ?? null;
      }
      return refusal ?? handler?.(call) ??
        answerError(call, rpcErrorCode.methodNotFound, `Method not found: ${method}`);
    });
  };

  const answerRequest = (request: RpcRequest, context: MessageContext): McpAnswer | Promise<McpAnswer> => {
    const { exchange, revision, session } = context;
    const abilities = revision.capabilitiesOf(request, session);
    let begun: PromiseWithResolvers<McpAnswer> | undefined; // made for calls that wait
    const call: Call = {
      ...unmarked,
      ...context,
      request,
      principal: exchange.principal,
      runtime,
      beginAnswer: (answer) => (begun ??= Promise.withResolvers()).resolve(answer),
      resultForm: resultFormOf(runtime.structuredResults, exchange.profile, abilities.has("structured_content")),
      showsView: abilities.has("view"),
      finish: null,
      scopes: [],
    };
    const served = observe(call, call.principal, () => dispatch(call));
    const finish = (answer: McpAnswer): McpAnswer => call.finish?.(answer) ?? answer;
    if (!(served instanceof Promise)) return finish(served);
    begun ??= Promise.withResolvers();
    return Promise.race([served.then(finish), begun.promise]);
  };

  /** What a call waits for here is taken even from a caller over its limit. */
  const isAwaited = async (response: RpcResponse, session: Call["session"], mayPassOn: boolean): Promise<boolean> =>
    session !== null && await runtime.questions.take(session.key, response, mayPassOn);

  return (message, context) => {
    const kind = kindOfMessage(message);
    if (kind === "request") return answerRequest(message as RpcRequest, context);
    return whenReady(refuseRate(runtime, context.exchange.principal), async (refusal) => {
      if (kind === "wrong_version") {
        return refusal ?? refuseMessage(message, context.revision, "Invalid JSON-RPC version");
      }
      if (kind === "malformed") return refusal ?? refuseMessage(message, context.revision, "Invalid Request");
      const isAdmitted = refusal === null;
      const accepted = kind === "notification"
        ? await takeNotification(runtime, message as RpcCall, context, isAdmitted)
        : await isAwaited(message as RpcResponse, context.session, isAdmitted)
        ? taken
        : null;
      // they get no response: the refusal is a status, where one alone has it
      return accepted ?? (context.isSingle && context.exchange.hasHeaders ? refusal : null) ?? taken;
    });
  };
}

const taken: McpAnswer = { kind: "accepted", status: 202 };

/** `null` where it is nothing to a call that runs: such a call is cancelled even for a caller over its limit. */
async function takeNotification(
  { log, inFlight }: Runtime,
  { method, params }: RpcCall,
  { exchange, session }: MessageContext,
  isAdmitted: boolean,
) {
  const id = method === "notifications/cancelled" && isObject(params) ? params["requestId"] : undefined;
  const owner = session?.key ?? exchange.principal.tokenId;
  if (isRpcId(id) && (inFlight.cancel(owner, id) || inFlight.has(owner, id))) return taken;
  if (isAdmitted && method === "notifications/initialized") return noteInitialized(log, exchange);
  if (isAdmitted && isRpcId(id) && session !== null) await inFlight.tell(owner, id); // it ended, or runs elsewhere
  return null;
}

function refuseMessage(message: unknown, revision: Revision, text: string): McpAnswer {
  const body = errorText(echoedId(message), rpcErrorCode.invalidRequest, text);
  return { kind: "json", status: revision.errorStatus(rpcErrorCode.invalidRequest), body, isMalformed: true };
}
