/**
 * The tasks extension (SEP-2663): calls that were handed out. A task lives in the storage; the process that runs it
 * keeps its running half and says now and then that it lives, so that another process can tell when it does not.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { createLookout } from "../../lib/lookout.ts";
import type { Principal } from "../../lib/principal.ts";
import type { Result } from "../../lib/result.ts";
import type { McpAnswer } from "../answer.ts";
import type { ChangeHub } from "../change_hub.ts";
import type { McpStorage } from "../mcp_storage.ts";
import type { Answers, AskFailure, Questions } from "../question.ts";
import type { ProgressUpdate } from "../tool.ts";
import { createTaskQuestions, type TaskQuestions } from "./task_questions.ts";
import { endOf, newTaskRecord } from "./task_ends.ts";
import { isTerminal, type TaskRecord, type TaskView, toTaskView } from "./task_record.ts";
import { createTaskFollowers, visibleState } from "./task_followers.ts";
import { createTaskStore, taskInboxKey } from "./task_store.ts";

/** What tasks stand on. */
export interface TasksOptions {
  readonly storage: McpStorage;
  readonly clock: Clock;
  readonly log: Log;
  readonly changes: ChangeHub;
  readonly limits: {
    readonly taskTtlMs: number;
    readonly taskPollIntervalMs: number;
    readonly maxTasksPerPrincipal: number;
    readonly taskHeartbeatMs: number;
  };
}

/** The running half of a task, for the call that was handed out. */
export interface RunningTask {
  /** What the client gets in place of the call's result. */
  readonly seed: TaskView;
  readonly ttlMs: number;
  readonly cancelRequested: boolean;
  /** Tells how far it is. */
  describe(update: ProgressUpdate): void;
  /** Puts questions to whoever polls the task. */
  ask<Key extends string>(questions: Questions<Key>): Promise<Result<Answers<Key>, AskFailure>>;
  /** Ends the task with the answer of its call, or (`null`) as cancelled. */
  settle(answer: McpAnswer | null): Promise<void>;
}

/** The tasks of all clients. */
export interface Tasks {
  /** Begins a task, stored before this is fulfilled; `null` when the principal has too many. */
  begin(principal: Principal, tool: string | null, onCancel: () => void): Promise<RunningTask | null>;
  /** The task, if it is this principal's; `null` when there is none. */
  get(principal: Principal, taskId: string): Promise<TaskView | null>;
  /** Hands in answers. Unknown keys are ignored; one of the wrong shape is named. */
  update(principal: Principal, taskId: string, responses: Readonly<Record<string, unknown>>): Promise<UpdateOutcome>;
  /** Publishes what becomes of tasks, whoever runs them, until the returned function is called. */
  follow(tasks: readonly TaskView[]): () => void;
  /** Asks for the task's end; `false` when there is none. */
  cancel(principal: Principal, taskId: string): Promise<boolean>;
  /** Stops saying that this process lives, and cancels what it runs; resolves when all of that is stored. */
  close(): Promise<void>;
}

/** What became of handed-in answers. */
export type UpdateOutcome =
  | { readonly kind: "accepted" | "unknown_task" }
  | { readonly kind: "wrong_shape"; readonly key: string };

interface LiveTask {
  record: TaskRecord;
  cancelRequested: boolean;
  readonly questions: TaskQuestions;
  readonly onCancel: () => void;
  readonly settled: PromiseWithResolvers<void>;
  stopWatching: () => void;
  /** The last write: the next one waits for it, so that a late sign of life cannot overwrite the end. */
  saved: Promise<void>;
}

/** Opens the tasks. */
export function createTasks(options: TasksOptions): Tasks {
  const { clock, log, changes, limits } = options;
  const { storage } = options;
  const store = createTaskStore(storage, clock);
  const live = new Map<string, LiveTask>();
  let heartbeat: ReturnType<typeof setInterval> | undefined;

  const publish = (record: TaskRecord): void => {
    const { subject, clientId } = record;
    changes.publish({ kind: "task", task: toTaskView(record), subject, clientId });
  };
  const followers = createTaskFollowers({ storage, store, log, publish });
  const save = (task: LiveTask): Promise<void> => {
    task.saved = task.saved.catch(() => {}).then(() => store.save(task.record));
    return task.saved;
  };
  const change = async (task: LiveTask, fields: Partial<TaskRecord>): Promise<void> => {
    task.record = { ...task.record, ...fields, lastUpdatedAt: clock(), aliveAt: clock() };
    await save(task);
    publish(task.record);
  };
  const showQuestions = (task: LiveTask): Promise<void> =>
    change(task, { status: "input_required", inputRequests: task.questions.open() });
  const afterAnswers = async (task: LiveTask): Promise<void> => {
    if (task.record.status !== "input_required") return;
    if (Object.keys(task.questions.open()).length > 0) return await showQuestions(task);
    await change(task, { status: "working", inputRequests: undefined });
    task.questions.proceed();
  };
  const requestCancel = (task: LiveTask): void => {
    if (task.cancelRequested || isTerminal(task.record)) return;
    task.cancelRequested = true;
    task.onCancel();
  };

  const beat = async (task: LiveTask): Promise<void> => {
    task.record = { ...task.record, aliveAt: clock() };
    await save(task);
  };
  const collect = async (task: LiveTask): Promise<void> => {
    const left = await store.collect(task.record.taskId);
    if (left === null) return;
    if (left.cancel) requestCancel(task);
    task.questions.take(left.responses);
    await afterAnswers(task);
  };
  /** Looks for what other instances leave for the task, until the returned function is called. */
  const watchInbox = (task: LiveTask): () => void => {
    const lookout = createLookout(() => collect(task), log);
    const stopWatching = storage.watch(taskInboxKey(task.record.taskId), lookout.again);
    return () => {
      lookout.stop();
      stopWatching();
    };
  };
  const keepBeating = (): void => {
    heartbeat ??= setInterval(() => {
      for (const task of live.values()) {
        beat(task).catch((error) => log.write("error", "task_heartbeat_failed", { error: String(error) }));
      }
    }, limits.taskHeartbeatMs);
  };
  const stopBeating = (): void => {
    clearInterval(heartbeat);
    heartbeat = undefined;
  };

  const load = async ({ subject, clientId }: Principal, taskId: string): Promise<TaskRecord | null> => {
    const record = live.get(taskId)?.record ?? await store.load(taskId);
    return record !== null && record.subject === subject && record.clientId === clientId ? record : null;
  };
  const runningHalf = (task: LiveTask): RunningTask => ({
    seed: toTaskView(task.record),
    ttlMs: task.record.ttlMs,
    get cancelRequested() {
      return task.cancelRequested;
    },
    describe({ progress, total, message }) {
      const statusMessage = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`);
      task.record = { ...task.record, statusMessage, lastUpdatedAt: clock() };
      publish(task.record);
    },
    ask: (questions) => task.questions.ask(questions, () => showQuestions(task)),
    async settle(answer) {
      try {
        await change(task, endOf(answer));
      } finally {
        live.delete(task.record.taskId);
        task.stopWatching();
        if (live.size === 0) stopBeating();
        task.settled.resolve();
      }
    },
  });

  return {
    async begin(principal, tool, onCancel) {
      const isOwn = ({ record }: LiveTask): boolean =>
        record.subject === principal.subject && record.clientId === principal.clientId;
      if ([...live.values()].filter(isOwn).length >= limits.maxTasksPerPrincipal) return null;
      const task: LiveTask = {
        record: newTaskRecord(principal, tool, { now: clock(), ...limits }),
        cancelRequested: false,
        questions: createTaskQuestions(),
        onCancel,
        settled: Promise.withResolvers(),
        stopWatching: () => {},
        saved: Promise.resolve(),
      };
      live.set(task.record.taskId, task);
      task.stopWatching = watchInbox(task);
      await save(task);
      keepBeating();
      return runningHalf(task);
    },
    async get(principal, taskId) {
      const record = await load(principal, taskId);
      return record === null ? null : toTaskView(record);
    },
    async update(principal, taskId, responses) {
      const record = await load(principal, taskId);
      if (record === null) return { kind: "unknown_task" };
      const task = live.get(taskId);
      if (task === undefined) {
        if (!isTerminal(record)) await store.leave(record, { cancel: false, responses });
        return { kind: "accepted" };
      }
      const wrong = task.questions.take(responses);
      if (wrong !== null) return { kind: "wrong_shape", key: wrong };
      await afterAnswers(task);
      return { kind: "accepted" };
    },
    follow(tasks) {
      const elsewhere = tasks.filter(({ taskId }) => !live.has(taskId)); // those that run here are published as they go
      const stops = elsewhere.map((task) => followers.follow(task.taskId, visibleState(task)));
      return () => {
        for (const stop of stops) stop();
      };
    },
    async cancel(principal, taskId) {
      const record = await load(principal, taskId);
      if (record === null) return false;
      const task = live.get(taskId);
      if (task !== undefined) requestCancel(task);
      else if (!isTerminal(record)) await store.leave(record, { cancel: true, responses: {} });
      return true;
    },
    async close() {
      stopBeating();
      const running = [...live.values()];
      for (const task of running) requestCancel(task);
      await Promise.all(running.map(({ settled }) => settled.promise));
    },
  };
}
