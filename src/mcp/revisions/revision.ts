/** What differs between the revisions of the protocol. Everything else in `mcp/` is the same for all of them. */
import type { RegisteredTool } from "../tool_registry.ts";

/** Who the server is (MCP schema `Implementation`). */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** One revision of the protocol, as data and small encoders. */
export interface Revision {
  readonly version: string;
  /** Whether a body may be an array of messages. */
  readonly acceptsBatches: boolean;
  /** Whether arguments that do not fit a tool's schema are a tool's failure, which the model sees, or a JSON-RPC error. */
  readonly invalidInputIsToolError: boolean;
  /** The HTTP status of a JSON-RPC error response with this code. */
  errorStatus(code: number): number;
  /** A tool as `tools/list` shows it. */
  encodeTool(registered: RegisteredTool): Readonly<Record<string, unknown>>;
  /** The server as the opening answer shows it. */
  encodeServerInfo(info: ServerInfo): Readonly<Record<string, unknown>>;
}
