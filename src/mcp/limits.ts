/** What the parts of the protocol layer depend on, and their bounds. */
import type { SecretBox } from "../lib/secrets.ts";
import type { Timers } from "../lib/time.ts";
import type { Foundation } from "../storage/mod.ts";

/** What sessions, streams, questions and tasks are made with. */
export interface Services extends Foundation {
  readonly secretBox: SecretBox;
  readonly timers: Timers;
  readonly limits: McpLimits;
}

/** How long, how large and how many: the bounds that no operator has to set. Tests pass others. */
export const mcpLimits = {
  /** The answer to a call that takes longer begins before its response: half of the 0.5 s to notice a disconnect. */
  beginAnswerAfterMs: 250,

  /** Event streams that are open at once, in this process. */
  maxStreams: 2_000,
  /** The same of one principal: one user through one client. */
  maxStreamsPerPrincipal: 1_000,
  /** Messages that wait in one stream, or are kept to be sent again. */
  maxQueuedMessages: 256,
  /** A stream without its client, or one that is complete, can be resumed for so long. */
  resumeWindowMs: 300_000,
  /** Characters of all complete streams that are kept to be sent again; the oldest streams are evicted. */
  maxReplayCharacters: 16_777_216,

  /** A person or a model has so long to answer a question. */
  askTimeoutMs: 300_000,
  /** A modern client may send such answers in a new request for so long. */
  requestStateLifetimeMs: 900_000,

  sessionLifetimeMs: 604_800_000,
  /** Sessions in memory; others are opened again from their ids. */
  maxCachedSessions: 100_000,
  /** Resources that one session or one subscription watches. */
  maxSubscriptions: 100,

  /** Entries on a page of a list. */
  pageSize: 200,
  /** A modern client may keep a list for so long. */
  listTtlMs: 60_000,
  /** Messages in a batch. */
  maxBatchLength: 50,

  /** The life of a task, its result included. */
  taskTtlMs: 3_600_000,
  /** How often clients should poll a task. */
  taskPollIntervalMs: 1_000,
  /** Running tasks of one principal (one user through one client) in this process. */
  maxTasksPerPrincipal: 50,
  /** How often the process that runs a task says that it lives: well within presumedDeadMs (mcp/tasks.ts). */
  taskHeartbeatMs: 5_000,
};

/** The bounds of one server. */
export type McpLimits = Readonly<typeof mcpLimits>;
