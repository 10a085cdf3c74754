/**
 * The Model Context Protocol without HTTP, 2024-11-05 to 2026-07-28. `app` gives it tools, prompts and resources,
 * `http` and stdio hand it parsed bodies, and each gets one answer: a body, or a stream of messages.
 *
 * - A call runs once, within its time limit, with the scopes of its token; a tool that throws is reported as failed.
 * - Each request leaves one audit record, which names no contents.
 * - Streams, questions, sessions and tasks are bounded. Sessions and tasks survive a restart, and any instance on the
 *   storage can serve them; a stream ends with its instance.
 * - Tools know neither revisions nor the habits of clients: `revision.ts` has the differences.
 */
export { type Exchange, type McpAnswer, type PublicExchange, tooManyCalls } from "./call.ts";
export type { AuditEntry, CallWatch, McpServerOptions, TakeAudit, WatchedCall } from "./runtime.ts";
export { clientIdentity } from "./methods.ts";
export { errorText, kindOfMessage, modernVersion, refusalCode, type RpcCall, rpcErrorCode } from "./jsonrpc.ts";
export type { McpLimits } from "./limits.ts";
export { createMcpServer, type McpServer } from "./mcp_server.ts";
export { viewMediaType } from "./question.ts";
export { createToolRegistry } from "./registry.ts";
export { createPromptRegistry, createResourceRegistry, maxSuggestions } from "./resource.ts";
export type { Prompt, PromptMessage, Resource, ResourceFamily, ResourceOutcome, ResourcePage } from "./resource.ts";
export { createProfiles, methodNames, type Profile, type ServerInfo, serviceNowName } from "./revision.ts";
export { serveStdio } from "./serve_stdio.ts";
export type { Frame } from "./streams.ts";
export {
  changingHints,
  clamped,
  contextWith,
  defineTool,
  emptyIsAbsent,
  membersOf,
  otherNames,
  readingHints,
  saysNothing,
  viewUri,
} from "./tool.ts";
export type { ContentBlock, Icon, Meaning, Tool, ToolContext, ToolOutcome } from "./tool.ts";
