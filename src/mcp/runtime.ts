/** What all calls of one server share while they run. */
import type { Clock } from "../lib/time/clock.ts";
import type { Admission } from "../lib/admission.ts";
import type { Log } from "../lib/log/log.ts";
import type { Principal } from "../lib/principal.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { Tracer } from "../lib/tracer.ts";
import type { InFlight } from "./calls/in_flight.ts";
import type { PendingQuestions } from "./questions/pending_questions.ts";
import type { StreamLimits, StreamTable } from "./streams/stream_table.ts";
import type { Tasks } from "./tasks/tasks.ts";

/** Takes a call, or another message that causes a write, from the principal's rate limit. */
export type Admit = (principal: Principal) => Admission | Promise<Admission>;

/** Times and sizes of the protocol layer. */
export interface McpLimits extends StreamLimits {
  /** A call that takes longer is aborted and answered as failed. */
  readonly toolTimeoutMs: number;
  /** How long a person or a model may take to answer a question. */
  readonly askTimeoutMs: number;
  /** The answer to a call that takes longer begins before its response is there: see {@link Outlet.begin}. */
  readonly beginAnswerAfterMs: number;
  /** How long other instances have to say that they have a stream that a client wants to take up. */
  readonly resumeAnswerMs: number;
  readonly requestStateLifetimeSeconds: number;
  readonly sessionLifetimeSeconds: number;
  readonly maxCachedSessions: number;
  /** How many entries a page of a list holds. */
  readonly pageSize: number;
  /** How many messages a batch may hold. */
  readonly maxBatchLength: number;
  /** How long a modern client may keep a list. */
  readonly listTtlMs: number;
  /** How long a task lives after its creation. */
  readonly taskTtlMs: number;
  readonly taskPollIntervalMs: number;
  readonly maxTasksPerPrincipal: number;
  /** How often the process that runs a task says that it lives, and looks for what others left for the task. */
  readonly taskHeartbeatMs: number;
  /** How many resources one client may watch. */
  readonly maxSubscriptions: number;
}

/** Limits that suit a server for one person or a few. */
export const defaultMcpLimits: McpLimits = {
  maxStreams: 2_000,
  maxStreamsPerPrincipal: 1_000,
  maxQueuedMessages: 256,
  resumeWindowMs: 5 * 60_000,
  maxReplayCharacters: 16 * 1024 * 1024,
  resumeAnswerMs: 3_000,
  toolTimeoutMs: 10 * 60_000,
  askTimeoutMs: 5 * 60_000,
  beginAnswerAfterMs: 250, // half of the 0.5 s in which a disconnect is to be noticed
  requestStateLifetimeSeconds: 15 * 60,
  sessionLifetimeSeconds: 7 * 24 * 60 * 60,
  maxCachedSessions: 20_000,
  pageSize: 200,
  maxBatchLength: 50,
  listTtlMs: 60_000,
  taskTtlMs: 60 * 60_000,
  taskPollIntervalMs: 1_000,
  maxTasksPerPrincipal: 50,
  taskHeartbeatMs: 5_000,
  maxSubscriptions: 100,
};

export interface Runtime {
  readonly log: Log;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly secretBox: SecretBox;
  readonly limits: McpLimits;
  readonly streams: StreamTable;
  readonly questions: PendingQuestions;
  readonly inFlight: InFlight;
  readonly tasks: Tasks;
  readonly admit: Admit;
  /** Fires when the server is about to give up the calls that still run. */
  readonly stopping: AbortSignal;
}
