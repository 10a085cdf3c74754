/** Answers single messages: requests by their methods, notifications and responses by taking note of them. */
import type { McpAnswer } from "./answer.ts";
import { answerError, type Call } from "./call.ts";
import { tooManyCalls } from "./refusals.ts";
import { isObject } from "../lib/json.ts";
import { echoedId, errorText, isRpcId, kindOfMessage, type RpcCall, rpcErrorCode, type RpcRequest, type RpcResponse } from "./jsonrpc.ts";
import type { Handler } from "./method_table.ts";
import type { ObserveRequest } from "./observe_request.ts";
import type { Revision } from "./revision.ts";
import type { Runtime } from "./runtime.ts";
import { noteInitialized } from "./initialize.ts";
import { resultFormOf } from "./result_form.ts";

/** What is known of a message before it is read. */
type MessageContext = Pick<Call, "exchange" | "revision" | "session" | "isSingle">;

export type MessageHandler = (message: unknown, context: MessageContext) => McpAnswer | Promise<McpAnswer>;

export function createMessageHandler({ runtime, methods, observe }: {
  readonly runtime: Runtime;
  readonly methods: ReadonlyMap<string, Handler>;
  readonly observe: ObserveRequest;
}): MessageHandler {
  const dispatch = (call: Call): McpAnswer | Promise<McpAnswer> => {
    const { method } = call.request;
    const handler = call.revision.methods.has(method) ? methods.get(method) : undefined;
    if (handler === undefined) return answerError(call, rpcErrorCode.methodNotFound, `Method not found: ${method}`);
    return handler(call);
  };

  const answerRequest = (request: RpcRequest, context: MessageContext): McpAnswer | Promise<McpAnswer> => {
    let begun: McpAnswer | undefined;
    let onBegun: ((answer: McpAnswer) => void) | undefined;
    const { exchange, revision, session, isSingle } = context;
    const call: Call = {
      request,
      exchange,
      principal: exchange.principal,
      revision,
      session,
      runtime,
      isSingle,
      beginAnswer(answer) {
        begun ??= answer;
        onBegun?.(answer);
      },
      resultForm: resultFormOf(
        runtime.structuredResults,
        exchange.profile,
        revision.readsTextAlone(request, session),
      ),
      outlet: null,
      tool: null,
      scopes: [],
      outcome: "ok",
      code: null,
      change: null,
    };
    const finish = (answer: McpAnswer): McpAnswer => call.outlet === null ? answer : call.outlet.finish(answer);
    const served = observe(call, call.principal, () => dispatch(call));
    if (!(served instanceof Promise)) {
      const answer = finish(served);
      return begun ?? answer;
    }
    return new Promise((resolve, reject) => {
      onBegun = resolve;
      if (begun !== undefined) resolve(begun);
      served.then((answer) => resolve(finish(answer)), reject);
    });
  };

  return (message, context) => {
    switch (kindOfMessage(message)) {
      case "request":
        return answerRequest(message as RpcRequest, context);
      case "notification":
        return takeNotification(runtime, message as RpcCall, context);
      case "response":
        return takeResponse(runtime, message as RpcResponse, context);
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
  return { kind: "json", status: revision.errorStatus(rpcErrorCode.invalidRequest), body };
}
