/** Tasks in the storage, and messages there for the process that runs a task. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { StorageKey } from "../storage/mod.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { createPause } from "../lib/time.ts";
import { parseStored } from "../lib/system_fault.ts";
import { changeEntry, putPieces, readPieces } from "../lib/stored_entries.ts";
import type { Services } from "./limits.ts";

/** Larger results lie beside the record, in pieces that are written before it. */
const maxInlineCharacters = 100_000;

function resultKey(taskId: string, piece: number): StorageKey {
  return ["mcp_task_result", taskId, String(piece)];
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

const recordShape = lazyObject(() => ({
  taskId: z.string(),
  subject: z.string(),
  clientId: z.string(),
  tool: z.string().nullable(),
  /** Scopes that the call needed; a token without them cannot reach the task. */
  scopes: z.array(z.string()).default([]),
  /** Of its principal; another token of the same caller may be for fewer. */
  directories: z.array(z.string()).optional(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  createdAt: z.number(),
  lastUpdatedAt: z.number(),
  ttlMs: z.number(),
  pollIntervalMs: z.number(),
  /** When the process that runs it last said that it lives. */
  aliveAt: z.number(),
  inputRequests: z.record(z.string(), z.unknown()).optional(),
  result: z.unknown().optional(),
  resultPieces: z.int().min(1).optional(),
  error: z.unknown().optional(),
}));

/** A stored task. Times are in milliseconds since the epoch. */
export type TaskRecord = z.infer<typeof recordShape>;

const inboxShape = lazyObject(() => ({ cancel: z.boolean(), responses: z.record(z.string(), z.unknown()) }));

/** What another process left for the one that runs the task. */
type TaskInbox = z.infer<typeof inboxShape>;

/** Whether a task has ended. */
export function isTerminal({ status }: TaskRecord): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** A task as its client sees it. */
export type TaskView = ReturnType<typeof toTaskView>;

/** The client's view of a record: JSON leaves out what is undefined. */
export function toTaskView(record: TaskRecord) {
  const { taskId, status, statusMessage, ttlMs, pollIntervalMs } = record;
  return {
    taskId,
    status,
    statusMessage,
    createdAt: new Date(record.createdAt).toISOString(),
    lastUpdatedAt: new Date(record.lastUpdatedAt).toISOString(),
    ttlMs,
    pollIntervalMs,
    inputRequests: status === "input_required" ? record.inputRequests : undefined,
    result: status === "completed" ? record.result : undefined,
    error: status === "failed" ? record.error : undefined,
  };
}

/** A process that was seen to say nothing for so long runs its tasks no more. */
export const presumedDeadMs = 30_000;
/** Where its last sign of life is older, two minutes for clocks that are apart included, a shorter silence is enough. */
const longDeadMs = presumedDeadMs + 120_000;
/** Two heartbeats: a look at a task that seems long dead waits so long for one, once. */
export const signOfLifeMs = 10_000;

/** Where a task's record is. */
export function taskKey(taskId: string): StorageKey {
  return ["mcp_task", taskId];
}

/** Where others leave what is for the process that runs the task. */
export function taskInboxKey(taskId: string): StorageKey {
  return ["mcp_task_inbox", taskId];
}

/** When the storage may drop the record of a task. */
export function taskExpiresAt({ createdAt, ttlMs }: TaskRecord): number {
  return createdAt + ttlMs + presumedDeadMs;
}

const lostTask =
  "The server that ran this task stopped before the task ended. It may have taken effect: check, then call the tool again";

export function createTaskStore({ storage, clock, timers }: Pick<Services, "storage" | "clock" | "timers">) {
  const pause = createPause(timers);
  const seen = boundedMap<string, SeenTask>(maxTasks);
  const look = (taskId: string, version: string): SeenTask => {
    const known = seen.get(taskId);
    if (known?.version === version) return known;
    const now: SeenTask = { version, at: timers.elapsed(), hasChanged: known !== undefined };
    seen.set(taskId, now);
    return now;
  };
  const read = async (taskId: string): Promise<{ readonly record: TaskRecord; readonly version: string } | null> => {
    const stored = await storage.get(taskKey(taskId));
    return stored && { record: parseStored(recordShape, stored.value, "mcp_task"), version: stored.version };
  };
  /** `false` when another instance wrote the record since it had this version. */
  const write = (record: TaskRecord, version: string | null): Promise<boolean> => {
    const key = taskKey(record.taskId);
    return storage.commit({
      checks: [{ key, version }],
      puts: [{ key, value: record, expiresAt: taskExpiresAt(record) }],
    });
  };
  const withoutLargeResult = async (record: TaskRecord): Promise<TaskRecord> => {
    const { result, ...others } = record;
    const text = JSON.stringify(result) ?? "";
    if (text.length <= maxInlineCharacters) return record;
    const keyOf = (piece: number): StorageKey => resultKey(record.taskId, piece);
    const resultPieces = await putPieces(storage, text, { keyOf, expiresAt: taskExpiresAt(record) });
    return { ...others, resultPieces };
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
      const stored = await withoutLargeResult(record);
      for (;;) {
        const found = await read(record.taskId);
        if (found === null) return null;
        if (isTerminal(found.record)) return found.record;
        if (await write(stored, found.version)) return record;
      }
    },
    /** The task without a large result; once its process is presumed dead it has failed, permanently. */
    async load(taskId: string): Promise<TaskRecord | null> {
      for (;;) {
        const found = await read(taskId);
        if (found === null || isTerminal(found.record)) return found && found.record;
        const { record, version } = found;
        const { at, hasChanged } = look(taskId, version);
        const silentMs = timers.elapsed() - at;
        const seemsLongDead = !hasChanged && clock() - record.aliveAt > longDeadMs;
        if (seemsLongDead && silentMs < signOfLifeMs) {
          await pause(signOfLifeMs - silentMs);
          continue;
        }
        if (!seemsLongDead && silentMs <= presumedDeadMs) return record;
        const failed = { ...record, ...failedTask(lostTask), lastUpdatedAt: clock() };
        if (await write(failed, version)) return failed;
      }
    },
    /** The client's view of the task, with its result. */
    async view(record: TaskRecord): Promise<TaskView> {
      const { taskId, resultPieces } = record;
      if (resultPieces === undefined) return toTaskView(record);
      const keys = Array.from({ length: resultPieces }, (_, piece) => resultKey(taskId, piece));
      const text = await readPieces(storage, keys);
      return toTaskView({
        ...record,
        ...(text === null ? failedTask("The result of the task has expired") : { result: JSON.parse(text) }),
      });
    },
    /** Leaves a wish for cancellation, and answers, for the process that runs the task. */
    async leave({ taskId, createdAt, ttlMs }: TaskRecord, { cancel, responses }: TaskInbox) {
      await changeEntry(storage, taskInboxKey(taskId), (value): TaskInbox => {
        const earlier = value === undefined ? undefined : parseStored(inboxShape, value, "mcp_task_inbox");
        return { cancel: cancel || earlier?.cancel === true, responses: { ...earlier?.responses, ...responses } };
      }, { expiresAt: createdAt + ttlMs });
    },
    /** Takes what was left. */
    async collect(taskId: string): Promise<TaskInbox | null> {
      const stored = await storage.consume(taskInboxKey(taskId));
      return stored && parseStored(inboxShape, stored.value, "mcp_task_inbox");
    },
  };
}

/** The end of a task that broke. */
export function failedTask(message: string): Pick<TaskRecord, "status" | "error"> {
  return { status: "failed", error: { code: rpcErrorCode.internalError, message } };
}
