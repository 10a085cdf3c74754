/** The headers that repeat parts of a modern request's body, so that gateways may route by them (SEP-2243). */
import { isObject } from "../lib/json.ts";
import type { RpcCall } from "./jsonrpc.ts";
import type { PublicExchange } from "./exchange.ts";
import { decodeHeaderValue } from "./header_value.ts";

/** The parameter that `Mcp-Name` repeats, by method. */
const nameSources: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"], // SEP-2663: routing headers
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** How headers and body disagree, in words; `null` when they agree. Every request has the headers. */
export function standardHeaderFault(request: RpcCall, headers: Pick<PublicExchange, "header">): string | null {
  const { method, params } = request;
  const methodHeader = headers.header("mcp-method");
  if (methodHeader === null) return "the Mcp-Method header is required";
  if (methodHeader !== method) return "the Mcp-Method header does not match the body's method";
  const source = nameSources.get(method);
  if (source === undefined) return null;
  const named = isObject(params) ? params[source] : undefined;
  const nameHeader = headers.header("mcp-name");
  if (nameHeader === null) return typeof named === "string" ? "the Mcp-Name header is required" : null;
  const decoded = decodeHeaderValue(nameHeader);
  if (decoded === null) return "the Mcp-Name header is not valid base64 of UTF-8";
  return named === undefined || decoded === named
    ? null
    : `the Mcp-Name header does not match the body's params.${source}`;
}
