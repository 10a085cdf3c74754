/** Publishes what becomes of tasks that other instances run, for those who listen here. */
import type { Log } from "../../lib/log.ts";
import { createLookout } from "../../lib/lookout.ts";
import type { McpStorage } from "../mcp_storage.ts";
import { type TaskRecord, type TaskView, toTaskView } from "./task_record.ts";
import { taskKey, type TaskStore } from "./task_store.ts";

/** What following stands on. */
export interface TaskFollowersOptions {
  readonly storage: McpStorage;
  readonly store: TaskStore;
  readonly log: Log;
  readonly publish: (record: TaskRecord) => void;
}

/** Follows tasks; several who follow the same one share the watch. */
export interface TaskFollowers {
  /** Publishes each change of the task that comes after `known`, until the returned function is called. */
  follow(taskId: string, known: string): () => void;
}

interface Followed {
  followers: number;
  readonly stop: () => void;
}

/** What of a task its client can see to change; signs of life are none of it. */
export function visibleState({ status, statusMessage, lastUpdatedAt }: TaskView): string {
  return JSON.stringify([status, statusMessage, lastUpdatedAt]);
}

/** Builds it. */
export function createTaskFollowers({ storage, store, log, publish }: TaskFollowersOptions): TaskFollowers {
  const followed = new Map<string, Followed>();

  const begin = (taskId: string, known: string): Followed => {
    let seen = known;
    const lookout = createLookout(async () => {
      const record = await store.load(taskId);
      const state = record === null ? seen : visibleState(toTaskView(record));
      if (record === null || state === seen) return;
      seen = state;
      publish(record);
    }, log);
    const stopWatching = storage.watch(taskKey(taskId), lookout.again);
    lookout.again(); // it may have changed since it was looked up
    return {
      followers: 0,
      stop() {
        lookout.stop();
        stopWatching();
      },
    };
  };

  return {
    follow(taskId, known) {
      const entry = followed.get(taskId) ?? begin(taskId, known);
      followed.set(taskId, entry);
      entry.followers += 1;
      return () => {
        entry.followers -= 1;
        if (entry.followers > 0) return;
        followed.delete(taskId);
        entry.stop();
      };
    },
  };
}
