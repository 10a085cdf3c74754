/**
 * Which era, and which revision, a message belongs to. The body decides; headers only cross-check it (MCP 2026-07-28,
 * basic/versioning: a dual-era server). A mismatch of header and body outranks a version that is not supported.
 */
import { isObject } from "../lib/json.ts";
import {
  claimsModern,
  envelopeFault,
  mcpErrorCode,
  metaOf,
  modernVersion,
  protocolVersionKey,
  type RpcCall,
  rpcErrorCode,
} from "./jsonrpc.ts";
import type { PublicExchange } from "./call.ts";
import { decodeHeaderValue } from "./tool_schema.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { latestLegacyRevision, legacyRevisions } from "./legacy.ts";
import type { Revision } from "./revision.ts";

// The headers that repeat parts of a modern request's body, so that gateways may route by them (SEP-2243).

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
function standardHeaderFault(request: RpcCall, headers: Pick<PublicExchange, "header">): string | null {
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

/** Why a message belongs to no revision. All of these are HTTP 400. */
export interface ClassificationRefusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

type HeaderSource = Pick<PublicExchange, "hasHeaders" | "header">;

/** Every version that can be asked for. */
export const supportedVersions: readonly string[] = [modernVersion, ...[...legacyRevisions.keys()].reverse()];

/**
 * The revision of a single message, checked as far as its envelope and headers go. A legacy message is not: where the
 * header is absent its session may still tell the version.
 */
export function classifyMessage(
  message: unknown,
  headers: HeaderSource,
  modern: Revision,
): Result<Revision | null, ClassificationRefusal> {
  const version = headers.header("mcp-protocol-version");
  if (!isObject(message) || typeof message["method"] !== "string") {
    return version === modernVersion ? success(modern) : legacyRevisionOf(version);
  }
  const call = message as unknown as RpcCall;
  if (claimsModern(message)) {
    const isBrokenHandshake = call.method === "initialize" && (envelopeFault(call.params) !== null ||
      metaOf(call.params)?.[protocolVersionKey] !== modernVersion);
    if (!isBrokenHandshake) return admitModern(call, version, headers, modern);
  }
  if (call.method === "initialize") {
    if (version !== modernVersion) return success(latestLegacyRevision); // it negotiates in its body
    return refuse(mcpErrorCode.headerMismatch, `initialize does not exist in ${modernVersion}`);
  }
  if (version !== modernVersion) return legacyRevisionOf(version);
  if (call.id === undefined) return success(modern); // 2026-07-28 asks no envelope of notifications
  return refuse(rpcErrorCode.invalidParams, `Invalid params: ${envelopeFault(call.params)}`);
}

/** The legacy revision of a batch. The modern era has none: it is malformed there, whatever it holds. */
export function classifyBatch(
  batch: readonly unknown[],
  version: string | null,
): Result<Revision | null, ClassificationRefusal> {
  if (version === modernVersion || batch.some(claimsModern)) {
    return refuse(rpcErrorCode.invalidRequest, "Modern requests travel alone");
  }
  return legacyRevisionOf(version);
}

/** The revision that the header names for a legacy message; `null` when there is none. */
function legacyRevisionOf(version: string | null): Result<Revision | null, ClassificationRefusal> {
  if (version === null) return success(null);
  const revision = legacyRevisions.get(version);
  return revision === undefined ? refuseVersion(version, supportedVersions) : success(revision);
}

function admitModern(
  call: RpcCall,
  version: string | null,
  headers: HeaderSource,
  modern: Revision,
): Result<Revision, ClassificationRefusal> {
  const isRequest = call.id !== undefined;
  const claimed = metaOf(call.params)?.[protocolVersionKey];
  const fault = isRequest
    ? envelopeFault(call.params)
    : typeof claimed === "string"
    ? null
    : "the version must be a string";
  if (fault !== null) return refuse(rpcErrorCode.invalidParams, `Invalid params: ${fault}`);
  if (!headers.hasHeaders) {
    return claimed === modernVersion ? success(modern) : refuseVersion(String(claimed), [modernVersion]);
  }
  if (version === null && isRequest) return mismatch("the MCP-Protocol-Version header is required");
  if (version !== null && version !== claimed) {
    return mismatch("the MCP-Protocol-Version header does not match the body's protocol version");
  }
  if (claimed !== modernVersion) return refuseVersion(String(claimed), [modernVersion]);
  const headerFault = isRequest ? standardHeaderFault(call, headers) : null;
  return headerFault === null ? success(modern) : mismatch(headerFault);
}

function mismatch(fault: string): { readonly ok: false; readonly error: ClassificationRefusal } {
  return refuse(mcpErrorCode.headerMismatch, `Header mismatch: ${fault}`);
}

function refuseVersion(requested: string, supported: readonly string[]): Result<never, ClassificationRefusal> {
  return failure({
    code: mcpErrorCode.unsupportedProtocolVersion,
    message: "Unsupported protocol version",
    data: { supported, requested: requested.slice(0, 40) },
  });
}

function refuse(code: number, message: string): { readonly ok: false; readonly error: ClassificationRefusal } {
  return failure({ code, message });
}
