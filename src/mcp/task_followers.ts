/** Publishes changes of tasks that other instances run, for the streams of this one. */
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import { type Clock, systemTimers, type Timers } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";
import { presumedDeadMs, taskKey, type TaskRecord, type TaskStore, type TaskView, toTaskView } from "./task_store.ts";

interface TaskFollowersOptions {
  readonly storage: Storage;
  readonly store: TaskStore;
  readonly log: Log;
  readonly timers?: Timers | undefined;
  readonly publish: (record: TaskRecord) => void;
}

/** Followers of the same task share one watch. */
interface TaskFollowers {
  /** Publishes each change of the task that comes after `known`, until the returned function is called. */
  follow(taskId: string, known: string): () => void;
}

interface Followed {
  followers: number;
  /** Publishes the present state again unless it is `known`: a new follower may have looked it up before the others. */
  readonly catchUp: (known: string) => void;
  readonly stop: () => void;
}

/** What of a task its client can see to change; signs of life are none of it. */
export function visibleState({ status, statusMessage, lastUpdatedAt }: TaskView): string {
  return JSON.stringify([status, statusMessage, lastUpdatedAt]);
}

export function createTaskFollowers({ storage, store, log, timers, publish }: TaskFollowersOptions): TaskFollowers {
  const followed = new Map<string, Followed>();

  const begin = (taskId: string, known: string): Followed => {
    let seen: string | null = known;
    const watch = watchEntries(storage, [taskKey(taskId)], async () => {
      const found = await store.load(taskId, "state");
      if (found === null) return;
      const state = visibleState(toTaskView(found));
      if (state === seen) return;
      const record = await store.load(taskId);
      if (record === null) return;
      seen = visibleState(toTaskView(record));
      publish(record);
    }, { log, timers });
    watch.look(); // it may have changed since it was looked up
    const stopLooking = (timers ?? systemTimers).every(presumedDeadMs, watch.look); // a dead process changes nothing
    return {
      followers: 0,
      catchUp(state) {
        if (state === seen) return;
        seen = null;
        watch.look();
      },
      stop() {
        stopLooking();
        watch.stop();
      },
    };
  };

  return {
    follow(taskId, known) {
      const entry = followed.get(taskId) ?? begin(taskId, known);
      followed.set(taskId, entry);
      entry.followers += 1;
      entry.catchUp(known);
      return () => {
        entry.followers -= 1;
        if (entry.followers > 0) return;
        followed.delete(taskId);
        entry.stop();
      };
    },
  };
}

// How much of the results of each person's tasks this process has stored and that is still kept.

/** Characters of one person's large results that are kept at the same time. */
const maxKeptCharacters = 64_000_000;
/** Smaller results are not counted: a thousand of them are one large one. */
const minCountedCharacters = 100_000;

interface KeptResults {
  /** Counts a result that is kept until then; `false` when the person has too many. */
  keep(subject: string, characters: number, until: number): boolean;
}

export function createKeptResults(clock: Clock): KeptResults {
  const kept = new Map<string, readonly { readonly characters: number; readonly until: number }[]>();
  return {
    keep(subject, characters, until) {
      if (characters < minCountedCharacters) return true;
      const still = (kept.get(subject) ?? []).filter((result) => result.until > clock());
      const sum = still.reduce((total, result) => total + result.characters, characters);
      if (sum > maxKeptCharacters) return false;
      kept.set(subject, [...still, { characters, until }]);
      return true;
    },
  };
}
