/**
 * The tasks extension (SEP-2663): calls that were handed out. A task lives in the storage; the process that runs it
 * keeps its running half and says now and then that it lives, so that another process can tell when it does not.
 */
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import { type Clock, createPause, systemTimers, type Timers } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";
import {
  createTaskStore,
  isTerminal,
  newTaskRecord,
  presumedDeadMs,
  taskExpiresAt,
  taskKey,
  type TaskPart,
  type TaskRecord,
  type TaskStore,
  type TaskView,
  toTaskView,
} from "./task_store.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { McpLimits } from "./limits.ts";
import type { ChangeHub } from "./notices.ts";
import { createLiveTask, type LiveTask, type RunningTask } from "./live_task.ts";

/** How long tasks may take to end by themselves when the server stops. */
const lastWordsMs = 1_000;

interface TasksOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly changes: ChangeHub;
  readonly limits: Pick<
    McpLimits,
    "taskTtlMs" | "taskPollIntervalMs" | "maxTasksPerPrincipal" | "taskHeartbeatMs"
  >;
}

/** The tasks of all clients. */
export type Tasks = ReturnType<typeof createTasks>;

/** What became of handed-in answers. */
type UpdateOutcome =
  | { readonly kind: "accepted" | "unknown_task" }
  | { readonly kind: "wrong_shape"; readonly key: string };

export function createTasks(options: TasksOptions) {
  const { storage, clock, timers, log, changes, limits } = options;
  const pause = createPause(timers);
  const closing = new AbortController();
  const store = createTaskStore(storage, clock, timers);
  const live = new Map<string, LiveTask>();
  const mayKeep = countKeptResults(clock);
  let stopHeartbeat: (() => void) | undefined;

  const publish = (record: TaskRecord): void => {
    const { subject, clientId } = record;
    changes.publish({ kind: "task", task: toTaskView(record), subject, clientId });
  };
  const followers = createTaskFollowers({ storage, store, log, timers, publish });
  const keepBeating = (): void => {
    stopHeartbeat ??= timers.every(limits.taskHeartbeatMs, () => {
      for (const task of live.values()) {
        task.beat().catch((error) => log.write("error", "task_heartbeat_failed", { error: String(error) }));
      }
    });
  };
  const stopBeating = (): void => {
    stopHeartbeat?.();
    stopHeartbeat = undefined;
  };
  const load = async (principal: Principal, taskId: string, part: TaskPart): Promise<TaskRecord | null> => {
    const task = live.get(taskId);
    if (task?.isLapsed) await task.beat();
    const record = task === undefined || task.isEnding ? await store.load(taskId, part) : task.record;
    if (record === null || record.subject !== principal.subject || record.clientId !== principal.clientId) return null;
    // One person's scripts are one client, whatever the scopes of each token: none gets what it could not have called.
    return hasScopes(principal, record.scopes) ? record : null;
  };

  return {
    /** Begins a task, stored before this is fulfilled; `null` when the principal has too many. */
    async begin(
      principal: Principal,
      call: Pick<TaskRecord, "tool"> & { readonly scopes: readonly string[] },
      onCancel: () => void,
    ): Promise<RunningTask | null> {
      const isOwn = ({ record }: LiveTask): boolean =>
        record.subject === principal.subject && record.clientId === principal.clientId;
      if ([...live.values()].filter(isOwn).length >= limits.maxTasksPerPrincipal) return null;
      const record = newTaskRecord(principal, call, { now: clock(), ...limits });
      const task = createLiveTask(record, {
        storage,
        store,
        clock,
        pause,
        timers,
        log,
        closing: closing.signal,
        publish,
        onCancel,
        mayKeep: (characters) => mayKeep(principal.subject, characters, taskExpiresAt(record)),
        onSettled: () => {
          live.delete(record.taskId);
          if (live.size === 0) stopBeating();
        },
      });
      live.set(record.taskId, task);
      await task.start();
      if (closing.signal.aborted) task.requestCancel(); // the server began to stop while it was stored
      else keepBeating();
      return task.running;
    },
    /** The task, if it is this principal's and its token has the scopes of the call; `null` when there is none. */
    async get(principal: Principal, taskId: string): Promise<TaskView | null> {
      const record = await load(principal, taskId, "whole");
      return record === null ? null : toTaskView(record);
    },
    /** The same without a large result. */
    async look(principal: Principal, taskId: string): Promise<TaskView | null> {
      const record = await load(principal, taskId, "state");
      return record === null ? null : toTaskView(record);
    },
    /** Hands in answers. Unknown keys are ignored; one of the wrong shape is named. */
    async update(
      principal: Principal,
      taskId: string,
      responses: Readonly<Record<string, unknown>>,
    ): Promise<UpdateOutcome> {
      const record = await load(principal, taskId, "state");
      if (record === null) return { kind: "unknown_task" };
      const task = live.get(taskId);
      if (task === undefined) {
        if (!isTerminal(record)) await store.leave(record, { cancel: false, responses: openOnes(record, responses) });
        return { kind: "accepted" };
      }
      const wrong = await task.answer(responses);
      return wrong === null ? { kind: "accepted" } : { kind: "wrong_shape", key: wrong };
    },
    /** Publishes changes of tasks, whichever instance runs them, until the returned function is called. */
    follow(tasks: readonly TaskView[]) {
      const elsewhere = tasks.filter(({ taskId }) => !live.has(taskId)); // tasks that run here are published as they go
      const stops = elsewhere.map((task) => followers.follow(task.taskId, visibleState(task)));
      return () => {
        for (const stop of stops) stop();
      };
    },
    /** Asks for the task's end; `false` when there is none. */
    async cancel(principal: Principal, taskId: string) {
      const record = await load(principal, taskId, "state");
      if (record === null) return false;
      const task = live.get(taskId);
      if (task !== undefined) task.requestCancel();
      else if (!isTerminal(record)) await store.leave(record, { cancel: true, responses: {} });
      return true;
    },
    /**
     * Stops saying that this process lives, waits a moment for what was asked to answer now, and cancels the rest;
     * resolves when that is stored, or cannot be.
     */
    async close() {
      stopBeating();
      closing.abort();
      const running = [...live.values()];
      if (running.length === 0) return;
      const ended = Promise.all(running.map(({ settled }) => settled));
      const waiting = new AbortController();
      await Promise.race([ended, pause(lastWordsMs, waiting.signal)]);
      waiting.abort();
      for (const task of running) task.requestCancel();
      await ended;
    },
  };
}

/** The responses to what the task asks now: all others are ignored (SEP-2663), and not stored either. */
function openOnes(
  { inputRequests = {} }: TaskRecord,
  responses: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(responses).filter(([key]) => Object.hasOwn(inputRequests, key)));
}

interface TaskFollowersOptions {
  readonly storage: Storage;
  readonly store: TaskStore;
  readonly log: Log;
  readonly timers?: Timers | undefined;
  readonly publish: (record: TaskRecord) => void;
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

export function createTaskFollowers({ storage, store, log, timers, publish }: TaskFollowersOptions) {
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
    /** Publishes each change of the task that comes after `known`, until the returned function is called. */
    follow(taskId: string, known: string) {
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

/** Characters of one person's large results that are kept at the same time. */
const maxKeptCharacters = 64_000_000;
/** Smaller results are not counted: a thousand of them are one large one. */
const minCountedCharacters = 100_000;

/** Counts results that are kept until some time; the function that it gives says `false` when a person has too many. */
function countKeptResults(clock: Clock): (subject: string, characters: number, until: number) => boolean {
  const kept = new Map<string, readonly { readonly characters: number; readonly until: number }[]>();
  return (subject, characters, until) => {
    if (characters < minCountedCharacters) return true;
    const still = (kept.get(subject) ?? []).filter((result) => result.until > clock());
    const sum = still.reduce((total, result) => total + result.characters, characters);
    if (sum > maxKeptCharacters) return false;
    kept.set(subject, [...still, { characters, until }]);
    return true;
  };
}
