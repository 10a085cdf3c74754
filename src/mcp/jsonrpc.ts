/**
 * JSON-RPC 2.0 messages as MCP restricts them: what a parsed body is, and responses as text. Bodies are judged in place,
 * without copies: the object that was parsed is the object that is dispatched.
 */
import { isObject } from "../lib/json.ts";

/** A request's id: JSON-RPC 2.0 §4 without `null`, which MCP forbids. */
export type RpcId = string | number;

/** A request or (without `id`) a notification. */
export interface RpcCall {
  readonly id?: RpcId;
  readonly method: string;
  readonly params?: unknown;
}

/** A request: a call that waits for a response. */
export interface RpcRequest extends RpcCall {
  readonly id: RpcId;
}

/** A response to something that the server asked. */
export interface RpcResponse {
  readonly id: RpcId;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** The error codes of JSON-RPC 2.0 §5.1. */
export const rpcErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** The codes that MCP 2026-07-28 adds (basic: error codes), and the one that it retired. */
export const mcpErrorCode = {
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const;

/**
 * Codes of our own for refusals that HTTP states too. They equal the HTTP status: new codes stay outside
 * -32768..-32000 (MCP 2026-07-28, basic: error codes).
 */
export const refusalCode = {
  unauthorized: 401,
  insufficientScope: 403,
  rateLimited: 429,
  cancelled: 499,
  unavailable: 503,
} as const;

/** What a parsed body is. Everything but the first three is refused. */
type MessageKind = "request" | "notification" | "response" | "wrong_version" | "malformed";

/** Tells what one parsed message is, without copying it. Arrays (batches) are the caller's concern. */
export function kindOfMessage(message: unknown): MessageKind {
  if (typeof message !== "object" || message === null) return "wrong_version";
  const { jsonrpc, id, method } = message as Record<string, unknown>;
  if (jsonrpc !== "2.0") return "wrong_version";
  if (typeof method === "string") {
    if (isRpcId(id)) return "request";
    return id === undefined ? "notification" : "malformed";
  }
  return method === undefined && isRpcId(id) && ("result" in message || "error" in message) ? "response" : "malformed";
}

/** Whether a value may be a request's id. `1e400` parses to Infinity, which JSON cannot carry back. */
export function isRpcId(id: unknown): id is RpcId {
  return typeof id === "string" || (typeof id === "number" && Number.isFinite(id));
}

/** Whether a message of any shape opens a legacy session. */
export function isInitialize(message: unknown): boolean {
  return isObject(message) && message["method"] === "initialize";
}

/** The id of a message of any shape, to be echoed in an error; `null` when there is none to echo (JSON-RPC 2.0 §5). */
export function echoedId(message: unknown): RpcId | null {
  if (typeof message !== "object" || message === null) return null;
  const id = (message as Record<string, unknown>)["id"];
  return isRpcId(id) ? id : null;
}

/** The text of a successful response around a result that is already JSON text. */
export function resultText(id: RpcId, result: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === "number" ? id : JSON.stringify(id)},"result":${result}}`;
}

export function notificationText(method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** The text of an error response. `id` is `null` where the request's own cannot be read (JSON-RPC 2.0 §5). */
export function errorText(id: RpcId | null, code: number, message: string, data?: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}

/** The `_meta` object of a message's params, when there is one. */
export function metaOf(params: unknown): Record<string, unknown> | undefined {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : undefined;
}

// Log levels of the protocol: the severities of RFC 5424 §6.2.1, from the least to the most serious.

/** Levels in rising order. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LoggingLevel = typeof logLevels[number];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return (logLevels as readonly unknown[]).includes(value);
}

/** The version string of the modern era. */
export const modernVersion = "2026-07-28";
