/**
 * The tasks extension (SEP-2663): calls that were handed out. A task lives in the storage; the process that runs it
 * keeps its running half and says now and then that it lives, so that another process can tell when it does not.
 */
import { watchEntries } from "../lib/stored_entries.ts";
import { atMost, type Clock, createPause } from "../lib/time.ts";
import { createTaskStore, isTerminal, presumedDeadMs, taskExpiresAt, taskKey, toTaskView } from "./task_store.ts";
import type { TaskRecord, TaskView } from "./task_store.ts";
import { hasDirectories, hasScopes, type Principal } from "../lib/principal.ts";
import { randomText } from "../lib/secrets.ts";
import type { Services } from "./limits.ts";
import { createLiveTask, type LiveTask } from "./live_task.ts";
import type { createChangeHub } from "./notices.ts";

/** How long tasks may take to end by themselves when the server stops. */
const lastWordsMs = 1_000;

/** A task as its client finds it. */
export interface FoundTask {
  /** Without a large result. */
  readonly known: TaskView;
  view(): Promise<TaskView>;
  /** Hands in answers. Unknown keys are ignored; gives the key of one that has the wrong shape. */
  answer(responses: Readonly<Record<string, unknown>>): Promise<string | null>;
  /** Asks for its end. */
  cancel(): Promise<void>;
}

export function createTasks(services: Services, changes: ReturnType<typeof createChangeHub>) {
  const { storage, clock, timers, log, limits } = services;
  const pause = createPause(timers);
  const closing = new AbortController();
  const store = createTaskStore(services);
  const live = new Map<string, LiveTask>();
  const mayKeep = countKeptResults(clock);
  let stopHeartbeat: (() => void) | undefined;

  const publish = (record: TaskRecord): void => {
    const { subject, clientId } = record;
    changes.publish({ kind: "task", task: toTaskView(record), subject, clientId });
  };
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
  /** Calls back with each change that comes after the client looked at the task. */
  const followElsewhere = (task: TaskView, tell: (task: TaskView) => void): () => void => {
    let known = visibleState(task);
    const { look, stop } = watchEntries(storage, [taskKey(task.taskId)], async () => {
      const record = await store.load(task.taskId);
      if (record === null || visibleState(toTaskView(record)) === known) return;
      known = visibleState(toTaskView(record));
      tell(await store.view(record));
    }, { log, timers });
    look(); // it may have changed since
    const stopLooking = timers.every(presumedDeadMs, look); // a dead process changes nothing
    return () => {
      stopLooking();
      stop();
    };
  };

  return {
    /** Begins a task, stored before this is fulfilled; `null` when the principal has too many. */
    async begin(
      principal: Principal,
      { tool, scopes }: { readonly tool: string | null; readonly scopes: readonly string[] },
      onCancel: () => void,
    ): Promise<LiveTask | null> {
      const own = live.values().filter(({ record }) => isOf(principal, record)).toArray();
      if (own.length >= limits.maxTasksPerPrincipal) return null;
      const { subject, clientId } = principal;
      const now = clock();
      const record: TaskRecord = {
        taskId: randomText(18),
        subject,
        clientId,
        tool,
        scopes: [...scopes],
        ...principal.directories && { directories: [...principal.directories] },
        status: "working",
        createdAt: now,
        lastUpdatedAt: now,
        aliveAt: now,
        ttlMs: limits.taskTtlMs,
        pollIntervalMs: limits.taskPollIntervalMs,
      };
      const task = createLiveTask(record, {
        ...services,
        store,
        pause,
        closing: closing.signal,
        publish,
        onCancel,
        mayKeep: (characters) => mayKeep(subject, characters, taskExpiresAt(record)),
        onSettled: () => {
          live.delete(record.taskId);
          if (live.size === 0) stopBeating();
        },
      });
      live.set(record.taskId, task);
      await task.start();
      if (closing.signal.aborted) task.requestCancel(); // the server began to stop while it was stored
      else keepBeating();
      return task;
    },
    /** The task, if it is this principal's and its token has the scopes of the call; `null` when there is none. */
    async find(principal: Principal, taskId: string): Promise<FoundTask | null> {
      const running = live.get(taskId);
      if (running?.isLapsed()) await running.beat();
      const record = running === undefined || running.isEnding ? await store.load(taskId) : running.record;
      if (record === null || !isOf(principal, record)) return null;
      // One person's scripts are one client, whatever the scopes of each token: none gets what it could not have called.
      if (!hasScopes(principal, record.scopes) || !hasDirectories(principal, record.directories)) return null;
      return {
        known: toTaskView(record),
        view: () => store.view(record),
        async answer(responses) {
          const task = live.get(taskId);
          if (task !== undefined) return await task.answer(responses);
          if (!isTerminal(record)) await store.leave(record, { cancel: false, responses: openOnes(record, responses) });
          return null;
        },
        async cancel() {
          const task = live.get(taskId);
          if (task !== undefined) task.requestCancel();
          else if (!isTerminal(record)) await store.leave(record, { cancel: true, responses: {} });
        },
      };
    },
    /** Calls back with changes of tasks that other instances run; those of this one are published as they go. */
    follow(tasks: readonly TaskView[], tell: (task: TaskView) => void) {
      const elsewhere = tasks.filter(({ taskId }) => !live.has(taskId));
      const stops = elsewhere.map((task) => followElsewhere(task, tell));
      return () => stops.forEach((stop) => stop());
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
      await atMost(lastWordsMs, ended, null, pause);
      for (const task of running) task.requestCancel();
      await ended;
    },
  };
}

function isOf({ subject, clientId }: Principal, record: TaskRecord): boolean {
  return record.subject === subject && record.clientId === clientId;
}

/** What of a task its client can see to change; signs of life are none of it. */
function visibleState({ status, statusMessage, lastUpdatedAt }: TaskView): string {
  return JSON.stringify([status, statusMessage, lastUpdatedAt]);
}

/** The responses to what the task asks now: all others are ignored (SEP-2663), and not stored either. */
function openOnes({ inputRequests = {} }: TaskRecord, responses: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(responses).filter(([key]) => Object.hasOwn(inputRequests, key)));
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
