/** What the transport has to know of a message before it is judged. */
import type { RpcId } from "./jsonrpc.ts";

/** The message's method, if it has one. */
export function methodOf(message: unknown): string | null {
  const { method } = fieldsOf(message);
  return typeof method === "string" ? method : null;
}

/** The id under which a request is in flight; `null` for everything but requests. */
export function requestIdOf(message: unknown): RpcId | null {
  return methodOf(message) === null ? null : idOf(fieldsOf(message)["id"]);
}

/** The request that a notification cancels. */
export function cancelledIdOf(message: unknown): RpcId | null {
  if (methodOf(message) !== "notifications/cancelled") return null;
  return idOf(fieldsOf(fieldsOf(message)["params"])["requestId"]);
}

function idOf(value: unknown): RpcId | null {
  return typeof value === "string" || typeof value === "number" ? value : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}
