/** The part of the legacy handshake that needs no token. The transport decides which callers may have it. */
import { isObject } from "../lib/json.ts";
import type { McpAnswer } from "./answer.ts";
import type { PublicCall } from "./call.ts";
import type { PublicExchange } from "./exchange.ts";
import { classifyMessage } from "./classify.ts";
import { defaultLegacyRevision } from "./legacy.ts";
import type { Revision } from "./revision.ts";
import type { Runtime } from "./runtime.ts";
import { answerPublicInitialize, noteInitialized, type OpeningOptions } from "./initialize.ts";
import { refuseUnclassified } from "./body_handler.ts";
import { dropNulls, echoedId, errorText, kindOfMessage, refusalCode, type RpcRequest } from "./jsonrpc.ts";
import type { ObserveRequest } from "./observe_request.ts";

interface PublicHandshakeOptions extends OpeningOptions {
  readonly runtime: Runtime;
  readonly modern: Revision;
  readonly observe: ObserveRequest;
}

/** Answers one parsed body of a caller without a token: `initialize`, `notifications/initialized`, and nothing else. */
export type PublicHandshake = (body: unknown, exchange: PublicExchange) => Promise<McpAnswer>;

export function createPublicHandshake(options: PublicHandshakeOptions): PublicHandshake {
  const { runtime, modern, observe } = options;
  return async (body, exchange) => {
    dropNulls(body);
    const classified = classifyMessage(body, exchange, modern);
    if (!classified.ok) return refuseUnclassified(body, classified.error);
    const kind = kindOfMessage(body);
    const method = isObject(body) ? body["method"] : undefined;
    if (kind === "notification" && method === "notifications/initialized") {
      return noteInitialized(runtime.log, exchange);
    }
    if (kind !== "request" || method !== "initialize") {
      const text = errorText(echoedId(body), refusalCode.unauthorized, "Unauthorized");
      return { kind: "json", status: 401, body: text };
    }
    const call: PublicCall = {
      request: body as RpcRequest,
      exchange,
      revision: classified.value ?? defaultLegacyRevision,
      runtime,
      tool: null,
      outcome: "ok",
      code: null,
      change: null,
    };
    return await observe(call, null, () => answerPublicInitialize(options, call));
  };
}
