/** The protocol server as every transport of this program has it: HTTP and stdio differ in nothing behind it. */
import type { Bounds } from "./bounds.ts";
import type { Config } from "./config/config.ts";
import { instructionsFor } from "./instructions.ts";
import { createRateLimiter, type RateLimiter } from "../http/rate_limit.ts";
import type { Installation } from "./installation.ts";
import type { Clock } from "../lib/clock.ts";
import { callerKey } from "../lib/principal.ts";
import type { Log } from "../lib/log.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { AuditEntry, TakeAudit } from "../mcp/audit.ts";
import { createMcpServer, type McpServer, type McpServerOptions } from "../mcp/mcp_server.ts";
import { createPromptRegistry, type Prompt } from "../mcp/prompt.ts";
import { createResourceRegistry, type ResourceFamily } from "../mcp/resource.ts";
import type { ServerInfo } from "../mcp/revision.ts";
import type { Tool } from "../mcp/tool.ts";
import { createToolRegistry } from "../mcp/tool_registry.ts";
import type { WorkspaceSettings } from "../files/mod_settings.ts";
import { version } from "../lib/version.ts";

/** What the transports give beside the installation. */
interface ProtocolServerDependencies
  extends Installation, Pick<McpServerOptions, "noteClient" | "watchToken" | "callWatch" | "tracer" | "extensions"> {
  /** {@link ownServerInfo} where it is left out. */
  readonly serverInfo?: ServerInfo;
  /** The server's own. */
  readonly tools: readonly Tool[];
  /** Those of a program built on this one. */
  readonly extraTools?: readonly Tool[] | undefined;
  readonly resources: readonly ResourceFamily[];
  readonly prompts: readonly Prompt[];
  readonly log: Log;
  readonly bounds?: Bounds;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  /** Called for every answered request, beside the audit. */
  readonly countRequest?: (entry: AuditEntry) => void;
  /** Stores it. */
  readonly recordRequest?: TakeAudit;
  /** Counts the calls of each user and client; in this process only when absent. */
  readonly toolCalls?: RateLimiter;
  /** What a registered client calls itself, once its registration was read. */
  readonly nameOfClient?: (clientId: string) => string | undefined;
}

const minute = 60_000;

export const ownServerInfo: ServerInfo = { name: "portcullis", title: "Portcullis", version };

/** The largest message of a client: one that writes a file, as JSON escapes line ends, quotation marks and backslashes. */
export function maxMessageBytes({ maxWriteBytes }: WorkspaceSettings): number {
  return 2 * maxWriteBytes + 65_536;
}

/** Wires the protocol server over tools; each user and client has its own rate. */
export function createProtocolServer(config: Config, dependencies: ProtocolServerDependencies): McpServer {
  const {
    resources,
    prompts,
    storage,
    secrets,
    log,
    clock,
    noteClient,
    watchToken,
    countRequest,
    tracer,
    callWatch,
  } = dependencies;
  const rate = { count: config.rateLimit.toolCallsPerMinute, windowMs: minute };
  const { timers = systemTimers, extraTools = [] } = dependencies;
  const tools = [...dependencies.tools, ...extraTools];
  const { toolCalls = createRateLimiter({ ...rate, clock: timers.elapsed }) } = dependencies;
  return createMcpServer({
    tools: createToolRegistry(tools, new Set(dependencies.tools)),
    resources: createResourceRegistry(resources),
    prompts: createPromptRegistry(prompts),
    ...(noteClient === undefined ? {} : { noteClient }),
    ...(tracer === undefined ? {} : { tracer }),
    ...(watchToken === undefined ? {} : { watchToken }),
    ...(callWatch === undefined ? {} : { callWatch }),
    serverInfo: dependencies.serverInfo ?? ownServerInfo,
    ...(dependencies.extensions === undefined ? {} : { extensions: dependencies.extensions }),
    instructions: (principal) => instructionsFor(tools, principal),
    admit: (principal) => toolCalls.take(callerKey(principal)),
    audit(entry, params) {
      const { requestId, subject, clientId, method, tool, outcome, code, durationMs, change, traceId } = entry;
      const client = clientId === null ? undefined : dependencies.nameOfClient?.(clientId);
      const fields = { requestId, subject, clientId, client, method, tool, outcome, code, durationMs, change, traceId };
      log.write("audit", "request", fields);
      countRequest?.(entry);
      dependencies.recordRequest?.(entry, params);
    },
    log,
    secretBox: secrets,
    storage,
    clock,
    timers,
    toolTimeoutMs: config.mcp.toolTimeoutSeconds * 1_000,
    structuredResults: config.mcp.structuredResults,
    limits: dependencies.bounds?.mcp,
  });
}
