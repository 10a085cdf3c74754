/** Tasks in the storage, and messages there for the process that runs a task. */
import * as z from "zod";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { Put, Storage, StorageKey } from "../storage/mod.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { type Clock, createPause, systemTimers, type Timers } from "../lib/time.ts";
import { parseStored } from "../lib/system_fault.ts";
import type { Questions } from "./question.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./message_stream.ts";
import { randomText } from "../lib/secrets.ts";

// Task records whose result is larger than one stored value: the result lies beside the record, in pieces that are
// written before it and read with it.

/** So many characters of JSON have less than 524,288 bytes as a JSON string, whatever they are. */
const pieceCharacters = 150_000;
/** Results up to here stay in the record. */
const maxInlineCharacters = 100_000;
/** The largest result that is kept: what a tool may answer, escaped. */
const maxTaskResultCharacters = 16_000_000;

const headShape = z.lazy(() => z.looseObject({ taskId: z.string(), resultPieces: z.int().min(1).optional() }));

type EntryStorage = Pick<Storage, "get" | "commit">;

/** The storage as tasks see it: records whole, however large their results are. */
function withResultPieces(storage: EntryStorage): EntryStorage {
  return {
    async get(key) {
      const stored = await storage.get(key);
      const head = stored === null ? undefined : headShape.safeParse(stored.value).data;
      if (stored === null || head?.resultPieces === undefined) return stored;
      const { resultPieces, ...record } = head;
      const text = await readPieces(storage, head.taskId, resultPieces);
      return { ...stored, value: text === null ? lost(record) : { ...record, result: JSON.parse(text) } };
    },
    async commit(batch) {
      const puts = [];
      for (const put of batch.puts ?? []) puts.push(await storeResult(storage, put));
      return await storage.commit({ ...batch, puts });
    },
  };
}

/** Writes what does not fit into the record. A second attempt, or an instance that comes second, writes the same. */
async function storeResult(storage: EntryStorage, put: Put): Promise<Put> {
  const { value } = put;
  if (!isObject(value) || value["result"] === undefined) return put;
  const text = JSON.stringify(value["result"]);
  if (text.length <= maxInlineCharacters) return put;
  const { result: _, ...record } = value;
  const count = Math.ceil(text.length / pieceCharacters);
  for (let index = 0; index < count; index++) {
    const piece = text.slice(index * pieceCharacters, (index + 1) * pieceCharacters);
    await storage.commit({ puts: [{ ...put, key: pieceKey(String(record["taskId"]), index), value: piece }] });
  }
  return { ...put, value: { ...record, resultPieces: count } };
}

async function readPieces(storage: EntryStorage, taskId: string, count: number): Promise<string | null> {
  const pieces: string[] = [];
  for (let index = 0; index < count; index++) {
    const piece = z.string().safeParse((await storage.get(pieceKey(taskId, index)))?.value);
    if (!piece.success) return null; // it has just expired
    pieces.push(piece.data);
  }
  return pieces.join("");
}

function lost(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    ...record,
    status: "failed",
    error: { code: rpcErrorCode.internalError, message: "The result of the task has expired" },
  };
}

function pieceKey(taskId: string, index: number): StorageKey {
  return ["mcp_task_result", taskId, String(index)];
}

// How long a task's record has stayed as it is, by this instance's own timers. A stamp of the instance that runs the
// task only counts where this one has not seen a sign of life: the other's clock may be a minute off, or jump.

/** Tasks that are remembered. An evicted one starts counting again. */
const maxTasks = 10_000;

/** What this instance has seen of a task that another one runs. */
interface SeenTask {
  readonly version: string;
  /** When it was first seen with this version. */
  readonly at: number;
  /** Whether it was seen to change. */
  readonly hasChanged: boolean;
}

// A task as it is stored, and as its client sees it (SEP-2663).

const status = () => z.enum(["working", "input_required", "completed", "failed", "cancelled"]);

const recordShape = z.lazy(() =>
  z.object({
    taskId: z.string(),
    subject: z.string(),
    clientId: z.string(),
    tool: z.string().nullable(),
    /** Scopes that the call needed; a token without them cannot reach the task. */
    scopes: z.array(z.string()).default([]),
    status: status(),
    statusMessage: z.string().optional(),
    createdAt: z.number(),
    lastUpdatedAt: z.number(),
    ttlMs: z.number(),
    pollIntervalMs: z.number(),
    /** When the process that runs it last said that it lives. */
    aliveAt: z.number(),
    inputRequests: z.record(z.string(), z.unknown()).optional(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  })
);

/** A stored task. Times are in milliseconds since the epoch. */
export type TaskRecord = z.infer<typeof recordShape>;

/** Reads a stored task. Throws for anything else. */
function parseTaskRecord(value: unknown): TaskRecord {
  return parseStored(recordShape, value, "mcp_task");
}

const inboxShape = z.lazy(() => z.object({ cancel: z.boolean(), responses: z.record(z.string(), z.unknown()) }));

/** What another process left for the one that runs the task. */
type TaskInbox = z.infer<typeof inboxShape>;

/** Reads a stored inbox. Throws for anything else. */
function parseTaskInbox(value: unknown): TaskInbox {
  return parseStored(inboxShape, value, "mcp_task_inbox");
}

/** A task as its client sees it. */
export interface TaskView {
  readonly taskId: string;
  readonly status: TaskRecord["status"];
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly inputRequests?: Questions;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Whether a task has ended. */
export function isTerminal({ status }: TaskRecord): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The client's view of a record. */
export function toTaskView(record: TaskRecord): TaskView {
  const { taskId, ttlMs, pollIntervalMs } = record;
  return {
    taskId,
    status: record.status,
    ...(record.statusMessage === undefined ? {} : { statusMessage: record.statusMessage }),
    createdAt: new Date(record.createdAt).toISOString(),
    lastUpdatedAt: new Date(record.lastUpdatedAt).toISOString(),
    ttlMs,
    pollIntervalMs,
    ...(record.status === "input_required" ? { inputRequests: record.inputRequests as Questions } : {}),
    ...(record.status === "completed" ? { result: record.result } : {}),
    ...(record.status === "failed" ? { error: record.error } : {}),
  };
}

/** A process that was seen to say nothing for so long runs its tasks no more. */
export const presumedDeadMs = 30_000;
/** Where its last sign of life is older, two minutes for clocks that are apart included, a shorter silence is enough. */
const longDeadMs = presumedDeadMs + 120_000;
/** Two heartbeats: a look at a task that seems long dead waits so long for one, once. */
const signOfLifeMs = 10_000;

/** Where a task's record is. */
export function taskKey(taskId: string): StorageKey {
  return ["mcp_task", taskId];
}

/** Where others leave what is for the process that runs the task. */
export function taskInboxKey(taskId: string): StorageKey {
  return ["mcp_task_inbox", taskId];
}

/** What is read of a task: all, or all but a large result. */
export type TaskPart = "whole" | "state";

/** Keeps tasks. The end of a task is final: whichever instance stores one first, every other one finds it. */
export type TaskStore = ReturnType<typeof createTaskStore>;

/** When the storage may drop the record of a task. */
export function taskExpiresAt({ createdAt, ttlMs }: TaskRecord): number {
  return createdAt + ttlMs + presumedDeadMs;
}

const lostTask =
  "The server that ran this task stopped before the task ended. It may have taken effect: check, then call the tool again";

export function createTaskStore(whole: Storage, clock: Clock, timers: Timers = systemTimers) {
  const storage = withResultPieces(whole);
  const pause = createPause(timers);
  const seen = boundedMap<string, SeenTask>(maxTasks);
  const look = (taskId: string, version: string): SeenTask => {
    const known = seen.get(taskId);
    if (known?.version === version) return known;
    const now: SeenTask = { version, at: timers.elapsed(), hasChanged: known !== undefined };
    seen.set(taskId, now);
    return now;
  };
  /** `false` when another instance wrote the record since it had this version. */
  const write = (record: TaskRecord, version: string | null): Promise<boolean> => {
    const key = taskKey(record.taskId);
    return storage.commit({
      checks: [{ key, version }],
      puts: [{ key, value: record, expiresAt: taskExpiresAt(record) }],
    });
  };
  return {
    async create(record: TaskRecord) {
      await write(record, null);
    },
    /**
     * Stores the task as its owner knows it, unless it has ended. Gives what is stored now: the record, or the end that
     * was there before; `null` when the task has expired.
     */
    async save(record: TaskRecord): Promise<TaskRecord | null> {
      for (;;) {
        const stored = await storage.get(taskKey(record.taskId));
        if (stored === null) return null;
        const found = parseTaskRecord(stored.value);
        if (isTerminal(found)) return found;
        if (await write(record, stored.version)) return record;
      }
    },
    /** The task; once its process is presumed dead it has failed, permanently. */
    async load(taskId: string, part: TaskPart = "whole"): Promise<TaskRecord | null> {
      const from = part === "whole" ? storage : whole;
      for (;;) {
        const stored = await from.get(taskKey(taskId));
        if (stored === null) return null;
        const record = parseTaskRecord(stored.value);
        if (isTerminal(record)) return record;
        const { at, hasChanged } = look(taskId, stored.version);
        const silentMs = timers.elapsed() - at;
        const seemsLongDead = !hasChanged && clock() - record.aliveAt > longDeadMs;
        if (seemsLongDead && silentMs < signOfLifeMs) {
          await pause(signOfLifeMs - silentMs);
          continue;
        }
        if (!seemsLongDead && silentMs <= presumedDeadMs) return record;
        const error = { code: rpcErrorCode.internalError, message: lostTask };
        const failed: TaskRecord = { ...record, status: "failed", error, lastUpdatedAt: clock() };
        if (await write(failed, stored.version)) return failed;
      }
    },
    /** Leaves a wish for cancellation, and answers, for the process that runs the task. */
    async leave(record: TaskRecord, { cancel, responses }: TaskInbox) {
      const key = taskInboxKey(record.taskId);
      for (;;) {
        const stored = await storage.get(key);
        const earlier = stored === null ? { cancel: false, responses: {} } : parseTaskInbox(stored.value);
        const value: TaskInbox = {
          cancel: cancel || earlier.cancel,
          responses: { ...earlier.responses, ...responses },
        };
        const checks = [{ key, version: stored?.version ?? null }]; // others may leave something too
        const puts = [{ key, value, expiresAt: record.createdAt + record.ttlMs }];
        if (await storage.commit({ checks, puts })) return;
      }
    },
    /** Takes what was left. */
    async collect(taskId: string): Promise<TaskInbox | null> {
      const key = taskInboxKey(taskId);
      for (;;) {
        const stored = await storage.get(key);
        if (stored === null) return null;
        const checks = [{ key, version: stored.version }]; // something may just be added to it
        if (await storage.commit({ checks, deletes: [key] })) return parseTaskInbox(stored.value);
      }
    },
  };
}

const maxErrorCharacters = 10_000;

/** The record of a new task. */
export function newTaskRecord(
  { subject, clientId }: Principal,
  { tool, scopes }: { readonly tool: string | null; readonly scopes: readonly string[] },
  { now, taskTtlMs, taskPollIntervalMs }: {
    readonly now: number;
    readonly taskTtlMs: number;
    readonly taskPollIntervalMs: number;
  },
): TaskRecord {
  return {
    taskId: randomText(18),
    subject,
    clientId,
    tool,
    scopes: [...scopes],
    status: "working",
    createdAt: now,
    lastUpdatedAt: now,
    aliveAt: now,
    ttlMs: taskTtlMs,
    pollIntervalMs: taskPollIntervalMs,
  };
}

/** How a call's answer ends its task; `null` for a cancelled one. */
export function endOf(answer: McpAnswer | null, mayKeep: (characters: number) => boolean): Partial<TaskRecord> {
  if (answer === null) return { status: "cancelled" };
  if (!("body" in answer)) return failed("Internal error");
  if (answer.body.length > maxTaskResultCharacters) {
    return failed(
      `The result has ${answer.body.length} characters and may have ${maxTaskResultCharacters}: ask for less`,
    );
  }
  if (!mayKeep(answer.body.length)) {
    return failed("Too many large results of tasks are kept: ask for less, or wait until earlier ones have expired");
  }
  const body: unknown = JSON.parse(answer.body);
  if (isObject(body) && "result" in body) return { status: "completed", result: body["result"] };
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { code = rpcErrorCode.internalError, message = "Internal error" } = error;
  const shown = String(message).slice(0, maxErrorCharacters).toWellFormed();
  return { status: "failed", error: { ...error, code, message: shown } };
}

function failed(message: string): Partial<TaskRecord> {
  return { status: "failed", error: { code: rpcErrorCode.internalError, message } };
}
