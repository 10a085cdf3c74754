/** What other parts use of mcp. */
export type { AuditEntry, TakeAudit } from "./call.ts";
export type { Exchange, PublicExchange } from "./call.ts";
export { supportedVersions } from "./body_handler.ts";
export type { CallWatch, WatchedCall } from "./in_flight.ts";
export { clientIdentity } from "./initialize.ts";
export { errorText, kindOfMessage, modernVersion, refusalCode, type RpcCall, rpcErrorCode } from "./jsonrpc.ts";
export { type McpLimits, mcpLimits } from "./limits.ts";
export { createMcpServer, type McpServer, type McpServerOptions } from "./mcp_server.ts";
export type { Frame, FrameReader, McpAnswer } from "./message_stream.ts";
export { methodNames } from "./revision.ts";
export { createProfiles, type Profile, serviceNowName } from "./profile.ts";
export { createPromptRegistry, type Prompt, type PromptMessage } from "./prompt.ts";
export { createToolRegistry } from "./registry.ts";
export {
  createResourceRegistry,
  type Resource,
  type ResourceFamily,
  type ResourceOutcome,
  type ResourcePage,
} from "./resource.ts";
export type { ServerInfo } from "./revision.ts";
export { serveStdio } from "./serve_stdio.ts";
export {
  changingHints,
  clamped,
  type ContentBlock,
  defineTool,
  emptyIsAbsent,
  type Icon,
  type Meaning,
  otherNames,
  type ProgressUpdate,
  readingHints,
  type Tool,
  type ToolContext,
  type ToolOutcome,
} from "./tool.ts";
export { tooManyCalls } from "./tool_call.ts";
export { traceContextOf } from "./trace_context.ts";
