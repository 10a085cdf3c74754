/** Tasks in the storage, and what other processes leave there for the one that runs a task. */
import type { Clock } from "../../lib/clock.ts";
import { errorCode } from "../jsonrpc.ts";
import type { McpStorage, McpStorageKey } from "../mcp_storage.ts";
import { isTerminal, parseTaskInbox, parseTaskRecord, type TaskInbox, type TaskRecord } from "./task_record.ts";

/** A process that has said nothing for so long runs its tasks no more. */
const presumedDeadMs = 30_000;

/** Where a task's record is. */
export function taskKey(taskId: string): McpStorageKey {
  return ["mcp_task", taskId];
}

/** Where others leave what is for the process that runs the task. */
export function taskInboxKey(taskId: string): McpStorageKey {
  return ["mcp_task_inbox", taskId];
}

/** Keeps tasks. */
export interface TaskStore {
  save(record: TaskRecord): Promise<void>;
  /** The task; one whose process is presumed dead has failed. */
  load(taskId: string): Promise<TaskRecord | null>;
  /** Leaves a wish for cancellation, and answers, for the process that runs the task. */
  leave(record: TaskRecord, left: TaskInbox): Promise<void>;
  /** Takes what was left. */
  collect(taskId: string): Promise<TaskInbox | null>;
}

/** Keeps tasks in `storage`. */
export function createTaskStore(storage: McpStorage, clock: Clock): TaskStore {
  const save = async (record: TaskRecord): Promise<void> => {
    const expiresAt = record.createdAt + record.ttlMs + presumedDeadMs;
    await storage.commit({ puts: [{ key: taskKey(record.taskId), value: record, expiresAt }] });
  };
  return {
    save,
    async load(taskId) {
      const stored = await storage.get(taskKey(taskId));
      if (stored === null) return null;
      const record = parseTaskRecord(stored.value);
      if (isTerminal(record) || clock() - record.aliveAt <= presumedDeadMs) return record;
      const error = { code: errorCode.internalError, message: "The server stopped while the task ran" };
      const failed: TaskRecord = { ...record, status: "failed", error, lastUpdatedAt: clock() };
      await save(failed);
      return failed;
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
