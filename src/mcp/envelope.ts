/** The envelope of a modern message: the keys of `_meta` that say what a handshake said before (2026-07-28, basic). */
import { isObject } from "../lib/json.ts";
import { metaOf } from "./jsonrpc.ts";
import { isLoggingLevel } from "./log_level.ts";

/** The version string of the modern era. */
export const modernVersion = "2026-07-28";

/** The key of the version: a message that has it claims to be modern. */
export const protocolVersionKey = "io.modelcontextprotocol/protocolVersion";
export const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
/** The key of the least log level that the client wants to hear. */
export const logLevelKey = "io.modelcontextprotocol/logLevel";
export const clientInfoKey = "io.modelcontextprotocol/clientInfo";

/** Whether a message claims to be modern, well-formed or not. */
export function claimsModern(message: unknown): boolean {
  const meta = isObject(message) ? metaOf(message["params"]) : undefined;
  return meta !== undefined && protocolVersionKey in meta;
}

/** What is wrong with a request's envelope, in words; `null` when it is complete and well-formed. */
export function envelopeFault(params: unknown): string | null {
  const meta = metaOf(params);
  if (meta === undefined) return "params._meta is required";
  const version = meta[protocolVersionKey];
  if (version === undefined) return `params._meta["${protocolVersionKey}"] is required`;
  if (typeof version !== "string") return `params._meta["${protocolVersionKey}"] must be a string`;
  const capabilities = meta[clientCapabilitiesKey];
  if (capabilities === undefined) return `params._meta["${clientCapabilitiesKey}"] is required`;
  if (!isObject(capabilities)) return `params._meta["${clientCapabilitiesKey}"] must be an object`;
  const info = meta[clientInfoKey];
  if (info !== undefined && !isImplementation(info)) {
    return `params._meta["${clientInfoKey}"] must have a name and a version`;
  }
  const level = meta[logLevelKey];
  if (level !== undefined && !isLoggingLevel(level)) return `params._meta["${logLevelKey}"] must be a log level`;
  const token = meta["progressToken"];
  if (token !== undefined && typeof token !== "string" && typeof token !== "number") {
    return "params._meta.progressToken must be a string or a number";
  }
  return null;
}

function isImplementation(info: unknown): boolean {
  return isObject(info) && typeof info["name"] === "string" && typeof info["version"] === "string";
}
