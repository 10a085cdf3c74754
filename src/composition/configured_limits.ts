/** Every bound of every part, as the configuration has it. */
import { defaultLimits, type Lifetimes, type Limits } from "../authorization_server/context.ts";
import type { DocumentLimits } from "../authorization_server/documents/document_fetcher.ts";
import type { Config } from "../config/config.ts";
import type { EventStreamOptions } from "../http/event_stream.ts";
import type { McpLimits } from "../mcp/runtime.ts";
import { defaultWorkspaceLimits, type WorkspaceLimits } from "../workspace/port.ts";

/** How long what the authorization server gives lives. */
export function lifetimesOf(config: Config): Lifetimes {
  return {
    accessTokenLifetimeSeconds: config.accessTokenLifetimeSeconds,
    refreshTokenLifetimeSeconds: config.refreshTokenLifetimeSeconds,
    refreshIdleLifetimeSeconds: config.refreshIdleLifetimeSeconds,
    refreshGraceSeconds: config.refreshGraceSeconds,
    authorizationCodeLifetimeSeconds: config.authorizationCodeLifetimeSeconds,
    authorizationRequestLifetimeSeconds: config.authorizationRequestLifetimeSeconds,
    signInSessionLifetimeSeconds: config.signInSessionLifetimeSeconds,
    setUpLinkLifetimeSeconds: config.setUpLinkLifetimeSeconds,
    unusedClientLifetimeSeconds: config.unusedClientLifetimeSeconds,
    knownBrowserLifetimeSeconds: config.knownBrowserLifetimeSeconds,
  };
}

/** Sizes and counts of the authorization server. */
export function authorizationLimitsOf(config: Config): Limits {
  return {
    ...defaultLimits,
    maxRedirectUris: config.maxRedirectUris,
    maxUnusedClients: config.maxUnusedClients,
    unusedClientGraceSeconds: config.unusedClientGraceSeconds,
    maxConcurrentPasswordHashes: config.maxConcurrentPasswordHashes,
    maxWaitingPasswordHashes: config.maxWaitingPasswordHashes,
    clientCaches: {
      documentSeconds: config.clientMetadataFreshnessSeconds,
      maxDocumentSeconds: config.clientMetadataMaxFreshnessSeconds,
      maxDocuments: config.clientMetadataMaxCached,
      keySetSeconds: config.clientKeysFreshnessSeconds,
      keySetRetrySeconds: config.clientKeysRetrySeconds,
      maxKeySets: config.clientKeysMaxCached,
    },
  };
}

/** Bounds of fetching what clients say of themselves. */
export function documentLimitsOf(config: Config): DocumentLimits {
  return {
    timeoutSeconds: config.clientMetadataTimeoutSeconds,
    maxBytes: config.clientMetadataMaxBytes,
    maxConcurrentFetches: config.clientMetadataMaxFetches,
  };
}

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
