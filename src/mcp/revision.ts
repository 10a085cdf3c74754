/** What differs between the revisions of the protocol. Everything else in `mcp/` is the same for all of them. */
import type { ClientCapabilities } from "./question.ts";
import type { ContentBlock, Icon } from "./tool.ts";
import type { LoggingLevel, RpcCall, RpcId } from "./jsonrpc.ts";
import type { RegisteredTool } from "./registry.ts";

/** Who the server is (MCP schema `Implementation`). */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly icons?: readonly Icon[];
}

/** What a result is, where results say so (2026-07-28, basic). */
export type ResultType = "complete" | "input_required" | "task";

/** How long, and for whom, a client may keep a result. */
export interface CacheHint {
  readonly ttlMs: number;
  /** `public` results are the same for every caller. */
  readonly cacheScope: "public" | "private";
}

/** What a legacy client said once for its whole session. */
export interface SessionState {
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | null;
}

/** One revision of the protocol, as data and small encoders. */
export interface Revision {
  readonly version: string;
  /** The requests that exist in it. */
  readonly methods: ReadonlySet<string>;
  /** Whether a body may be an array of messages. */
  readonly acceptsBatches: boolean;
  /** Whether arguments that do not fit a tool's schema are a tool's failure, which the model sees, or a JSON-RPC error. */
  readonly invalidInputIsToolError: boolean;
  /** The code for a resource that does not exist. */
  readonly resourceNotFoundCode: number;
  /** Whether questions to the client travel in results (MRTR) rather than as requests of the server's own. */
  readonly asksInResults: boolean;
  /** Whether a stream may begin with an event that has an id and no data (SEP-1699): older clients stumble over it. */
  readonly primesStreams: boolean;
  /** Whether a client that is gone has cancelled its call (MCP 2026-07-28, basic/patterns/cancellation). */
  readonly disconnectCancels: boolean;
  /** Whether a challenge for more scopes names those of the token too. If not, clients add them (SEP-2350). */
  readonly challengesWithGranted: boolean;
  /** Whether parameters of a tool are repeated in headers that must match (x-mcp-header). */
  readonly checksHeaderParameters: boolean;
  /** The HTTP status of a JSON-RPC error response with this code. */
  errorStatus(code: number): number;
  /** A tool as `tools/list` shows it. */
  encodeTool(registered: RegisteredTool): Readonly<Record<string, unknown>>;
  /** A content block, as near as the revision comes to it. */
  encodeContent(block: ContentBlock): unknown;
  /** The server as the opening answer shows it. */
  encodeServerInfo(info: ServerInfo): Readonly<Record<string, unknown>>;
  /** A result's JSON text with what every result of the revision carries. */
  encodeResult(result: string, resultType: ResultType): string;
  /** A list's or a resource's fields with what the revision says about keeping them. */
  withCacheHint<T extends object>(result: T, hint: CacheHint): T | (T & CacheHint);
  /** What the client declared that it can do. */
  capabilitiesOf(call: RpcCall, session: SessionState | null): ClientCapabilities;
  /** From which level on the client wants to hear log messages of this call; `null` for none. */
  logLevelOf(call: RpcCall, session: SessionState | null): LoggingLevel | null;
}

/** The id that ties a notification to a subscription, where there are such. */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** The `_meta` of a message that belongs to a subscription. */
export function subscriptionMeta(id: RpcId): Readonly<Record<string, unknown>> {
  return { [subscriptionIdKey]: id };
}
