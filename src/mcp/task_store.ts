/** Tasks in the storage, and what other processes leave there for the one that runs a task. */
import type { Clock } from "../lib/clock.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { Storage, StorageKey } from "../storage/port.ts";
import { withResultPieces } from "./result_pieces.ts";
import { createTaskSilence } from "./task_silence.ts";
import { isTerminal, parseTaskInbox, parseTaskRecord, type TaskInbox, type TaskRecord } from "./task_record.ts";

/** A process that was seen to say nothing for so long runs its tasks no more. */
export const presumedDeadMs = 30_000;

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
export interface TaskStore {
  create(record: TaskRecord): Promise<void>;
  /**
   * Stores the task as its owner knows it, unless it has ended. Gives what is stored now: the record, or the end that
   * was there before; `null` when the task has expired.
   */
  save(record: TaskRecord): Promise<TaskRecord | null>;
  /** The task; one whose process is presumed dead has failed, for good. Seen for the first time, none is. */
  load(taskId: string, part?: TaskPart): Promise<TaskRecord | null>;
  /** Leaves a wish for cancellation, and answers, for the process that runs the task. */
  leave(record: TaskRecord, left: TaskInbox): Promise<void>;
  /** Takes what was left. */
  collect(taskId: string): Promise<TaskInbox | null>;
}

/** When the storage may drop the record of a task. */
export function taskExpiresAt({ createdAt, ttlMs }: TaskRecord): number {
  return createdAt + ttlMs + presumedDeadMs;
}

export function createTaskStore(whole: Storage, clock: Clock, timers: Timers = systemTimers): TaskStore {
  const storage = withResultPieces(whole);
  const silence = createTaskSilence(timers);
  /** `false` when another instance wrote the record since it had this version. */
  const write = (record: TaskRecord, version: string | null): Promise<boolean> => {
    const key = taskKey(record.taskId);
    return storage.commit({
      checks: [{ key, version }],
      puts: [{ key, value: record, expiresAt: taskExpiresAt(record) }],
    });
  };
  return {
    async create(record) {
      await write(record, null);
    },
    async save(record) {
      for (;;) {
        const stored = await storage.get(taskKey(record.taskId));
        if (stored === null) return null;
        const found = parseTaskRecord(stored.value);
        if (isTerminal(found)) return found;
        if (await write(record, stored.version)) return record;
      }
    },
    async load(taskId, part = "whole") {
      const from = part === "whole" ? storage : whole;
      for (;;) {
        const stored = await from.get(taskKey(taskId));
        if (stored === null) return null;
        const record = parseTaskRecord(stored.value);
        if (isTerminal(record) || silence.since(taskId, stored.version) <= presumedDeadMs) return record;
        const error = { code: rpcErrorCode.internalError, message: "The server stopped while the task ran" };
        const failed: TaskRecord = { ...record, status: "failed", error, lastUpdatedAt: clock() };
        if (await write(failed, stored.version)) return failed;
      }
    },
    async leave(record, { cancel, responses }) {
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
    async collect(taskId) {
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
