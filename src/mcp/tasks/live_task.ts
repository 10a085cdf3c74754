/** A task where it runs: its record as it changes, each change stored and told, and what others leave for it. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { createLookout } from "../../lib/lookout.ts";
import type { Result } from "../../lib/result.ts";
import type { McpAnswer } from "../answer.ts";
import type { McpStorage } from "../mcp_storage.ts";
import type { Answers, AskFailure, Questions } from "../question.ts";
import type { ProgressUpdate } from "../tool.ts";
import { endOf } from "./task_ends.ts";
import { createTaskQuestions } from "./task_questions.ts";
import { isTerminal, type TaskRecord, type TaskView, toTaskView } from "./task_record.ts";
import { taskInboxKey, type TaskStore } from "./task_store.ts";

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

/** A task that this process runs. */
export interface LiveTask {
  readonly record: TaskRecord;
  readonly running: RunningTask;
  /** Fulfilled when the end is stored, or could not be. */
  readonly settled: Promise<void>;
  save(): Promise<void>;
  /** Says that this process lives. */
  beat(): Promise<void>;
  requestCancel(): void;
  /** Takes answers to its questions; gives the key of one that has the wrong shape. */
  answer(responses: Readonly<Record<string, unknown>>): Promise<string | null>;
}

/** What a running task stands on. */
export interface LiveTaskOptions {
  readonly storage: McpStorage;
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly publish: (record: TaskRecord) => void;
  /** Stops the call. */
  readonly onCancel: () => void;
  readonly onSettled: () => void;
}

/** Starts to look after a task; nothing is stored before the first {@link LiveTask.save}. */
export function createLiveTask(first: TaskRecord, options: LiveTaskOptions): LiveTask {
  const { storage, store, clock, log, publish } = options;
  const { taskId, ttlMs } = first;
  const questions = createTaskQuestions();
  const settled = Promise.withResolvers<void>();
  let record = first;
  let cancelRequested = false;
  // The last write: the next one waits for it, so that a late sign of life cannot overwrite the end.
  let saved = Promise.resolve();

  const save = (): Promise<void> => {
    saved = saved.catch(() => {}).then(() => store.save(record));
    return saved;
  };
  const change = async (fields: Partial<TaskRecord>): Promise<void> => {
    record = { ...record, ...fields, lastUpdatedAt: clock(), aliveAt: clock() };
    await save();
    publish(record);
  };
  const showQuestions = (): Promise<void> => change({ status: "input_required", inputRequests: questions.open() });
  const afterAnswers = async (): Promise<void> => {
    if (record.status !== "input_required") return;
    if (Object.keys(questions.open()).length > 0) return await showQuestions();
    await change({ status: "working", inputRequests: undefined });
    questions.proceed();
  };
  const requestCancel = (): void => {
    if (cancelRequested || isTerminal(record)) return;
    cancelRequested = true;
    options.onCancel();
  };
  const collect = async (): Promise<void> => {
    const left = await store.collect(taskId);
    if (left === null) return;
    if (left.cancel) requestCancel();
    questions.take(left.responses);
    await afterAnswers();
  };
  const lookout = createLookout(collect, log);
  const stopWatching = storage.watch(taskInboxKey(taskId), lookout.again);

  const running: RunningTask = {
    seed: toTaskView(first),
    ttlMs,
    get cancelRequested() {
      return cancelRequested;
    },
    describe({ progress, total, message }) {
      const statusMessage = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`);
      record = { ...record, statusMessage, lastUpdatedAt: clock() };
      publish(record);
    },
    ask: (asked) => questions.ask(asked, showQuestions),
    async settle(answer) {
      try {
        await change(endOf(answer));
      } finally {
        lookout.stop();
        stopWatching();
        options.onSettled();
        settled.resolve();
      }
    },
  };
  return {
    get record() {
      return record;
    },
    running,
    settled: settled.promise,
    save,
    async beat() {
      record = { ...record, aliveAt: clock() };
      await save();
    },
    requestCancel,
    async answer(responses) {
      const wrong = questions.take(responses);
      if (wrong === null) await afterAnswers();
      return wrong;
    },
  };
}
