/** Every bound of every part, as the configuration has it. */
import type { Config } from "../config/config.ts";
import type { EventStreamOptions } from "../http/event_stream.ts";
import type { McpLimits } from "../mcp/runtime.ts";
import { defaultWorkspaceLimits, type WorkspaceLimits } from "../workspace/port.ts";

/** How event streams are kept open. */
export function eventStreamOptionsOf(config: Config): EventStreamOptions {
  return { keepAliveMs: config.streamKeepAliveSeconds * 1_000, retryMs: config.streamRetryMilliseconds };
}

/** Bounds of the protocol layer. */
export function mcpLimitsOf(config: Config): Omit<McpLimits, "beginAnswerAfterMs"> {
  return {
    maxStreams: config.maxStreams,
    maxStreamsPerPrincipal: config.maxStreamsPerUser,
    maxQueuedMessages: config.streamMaxQueuedMessages,
    resumeWindowMs: config.streamResumeSeconds * 1_000,
    maxReplayCharacters: config.streamMaxReplayCharacters,
    resumeAnswerMs: config.streamResumeAnswerMilliseconds,
    toolTimeoutMs: config.toolTimeoutSeconds * 1_000,
    askTimeoutMs: config.askTimeoutSeconds * 1_000,
    requestStateLifetimeSeconds: config.requestStateLifetimeSeconds,
    sessionLifetimeSeconds: config.sessionLifetimeSeconds,
    maxCachedSessions: config.maxCachedSessions,
    pageSize: config.listPageSize,
    maxBatchLength: config.maxBatchLength,
    listTtlMs: config.listLifetimeSeconds * 1_000,
    taskTtlMs: config.taskLifetimeSeconds * 1_000,
    taskPollIntervalMs: config.taskPollSeconds * 1_000,
    taskHeartbeatMs: config.taskHeartbeatSeconds * 1_000,
    maxTasksPerPrincipal: config.maxTasksPerUser,
    maxSubscriptions: config.maxSubscriptions,
  };
}

/** Bounds of each workspace. */
export function workspaceLimitsOf(config: Config): WorkspaceLimits {
  return {
    ...defaultWorkspaceLimits,
    maxWriteBytes: config.maxWriteBytes,
    maxTotalBytes: config.workspaceQuotaBytes ?? null,
  };
}
