/** A task where it runs: stores and publishes each change of its record, and takes what other instances leave for it. */
import { type Result, success } from "../lib/result.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { Services } from "./limits.ts";
import { type Answer, type Answers, type AskFailure, parseAnswer, type Question, type Questions } from "./question.ts";
import type { Pause } from "../lib/time.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import { StorageUnavailableError } from "../lib/system_fault.ts";
import type { ProgressUpdate } from "./tool.ts";
import { failedTask, isTerminal, presumedDeadMs, signOfLifeMs, taskInboxKey, toTaskView } from "./task_store.ts";
import type { createTaskStore, TaskRecord } from "./task_store.ts";

/** The questions of one task, asked through `tasks/get` and answered through `tasks/update`. */
function createTaskQuestions() {
  const open = new Map<string, Question>();
  const answers = new Map<string, Answer>();
  /** Goes on where all that is open was answered: a tool may ask again before. */
  let answered = Promise.withResolvers<void>();

  /** Each key means one question for the whole life of a task (SEP-2663): one that was used before gets a number. */
  const freeName = (key: string): string => {
    let name = key;
    for (let number = 2; answers.has(name) || open.has(name); number += 1) name = `${key}#${number}`;
    return name;
  };

  return {
    /** Questions that wait for an answer. */
    open: (): Questions => Object.fromEntries(open),
    /** Puts questions; `onChange` is called once they are open. Resolves when all of them are answered. */
    async ask<Key extends string>(
      questions: Questions<Key>,
      onChange: () => Promise<void>,
    ): Promise<Result<Answers<Key>, AskFailure>> {
      const names = new Map<Key, string>();
      for (const key of Object.keys(questions) as Key[]) {
        const name = freeName(key);
        names.set(key, name);
        open.set(name, questions[key]);
      }
      const { promise } = answered;
      try {
        await onChange();
      } catch (error) {
        for (const name of names.values()) open.delete(name); // the client never sees them
        throw error;
      }
      await promise;
      return success(Object.fromEntries([...names].map(([key, name]) => [key, answers.get(name)])) as Answers<Key>);
    },
    /** Takes answers to open questions and ignores all others; gives the key of one of the wrong shape. */
    take(responses: Readonly<Record<string, unknown>>): string | null {
      for (const [key, response] of Object.entries(responses)) {
        const question = open.get(key);
        if (question === undefined) continue; // never asked, or answered already
        const answer = parseAnswer(question, response);
        if (answer === null) return key;
        answers.set(key, answer);
        open.delete(key);
      }
      return null;
    },
    /** Lets the tool go on when nothing is open any more. */
    proceed() {
      if (open.size > 0) return;
      answered.resolve();
      answered = Promise.withResolvers();
    },
  };
}

const maxStatusCharacters = 2_000;
/** How soon an end that could not be stored is tried again: at first, and at most. */
const firstRetryMs = 100;
const maxRetryMs = 5_000;

/** A task that this process runs. */
export type LiveTask = ReturnType<typeof createLiveTask>;

interface LiveTaskOptions extends Services {
  /** Keeps tasks. The end of a task is final: whichever instance stores one first, every other one finds it. */
  readonly store: ReturnType<typeof createTaskStore>;
  readonly pause: Pause;
  /** Aborts when the server stops: the end of the task is then tried once more and given up. */
  readonly closing: AbortSignal;
  readonly publish: (record: TaskRecord) => void;
  /** Stops the call. */
  readonly onCancel: () => void;
  readonly onSettled: () => void;
  /** Whether the person may keep a result of so many characters. */
  readonly mayKeep: (characters: number) => boolean;
}

/** Looks after a task from here on; nothing is stored before {@link LiveTask.start}. */
export function createLiveTask(first: TaskRecord, options: LiveTaskOptions) {
  const { storage, store, clock, timers, pause, log, closing, publish } = options;
  const { taskId, ttlMs } = first;
  const questions = createTaskQuestions();
  const settled = Promise.withResolvers<void>();
  /** As it is stored, but for the progress, which is only published. */
  let record = first;
  let cancelRequested = false;
  let beatAt = timers.elapsed();
  const expiresAt = beatAt + ttlMs + presumedDeadMs;
  const isExpired = (): boolean => timers.elapsed() >= expiresAt;
  // The last write: the next one waits for it, so that a late sign of life cannot overwrite the end.
  let saved = Promise.resolve();

  const change = (fields: () => Partial<TaskRecord>): Promise<void> => {
    saved = saved.catch(() => {}).then(async () => {
      if (isTerminal(record)) return;
      const changes = { ...fields(), aliveAt: clock() };
      const next = { ...record, ...changes };
      const began = timers.elapsed();
      const stored = await store.save(next);
      if (stored === null && !isExpired()) {
        throw new StorageUnavailableError("a running task has expired by the wall clock, which must have jumped");
      }
      if (stored !== next) return endElsewhere(stored);
      record = { ...record, ...changes };
      beatAt = began;
    });
    return saved;
  };
  /** Another instance took this process for dead, or the task has expired: the call has no client to answer. */
  const endElsewhere = (stored: TaskRecord | null): void => {
    record = stored ?? { ...record, status: "cancelled" };
    cancelRequested = true;
    options.onCancel();
  };
  const showChange = async (fields: () => Partial<TaskRecord>): Promise<void> => {
    await change(() => ({ ...fields(), lastUpdatedAt: clock() }));
    publish(record);
  };
  const showQuestions = (): Promise<void> =>
    showChange(() => ({ status: "input_required", inputRequests: questions.open() }));
  const afterAnswers = async (): Promise<void> => {
    if (record.status !== "input_required") return;
    const open = Object.keys(questions.open()).length;
    if (open > 0) {
      if (open < Object.keys(record.inputRequests ?? {}).length) await showQuestions();
      return;
    }
    await showChange(() => ({ status: "working", inputRequests: undefined }));
    questions.proceed();
  };
  const requestCancel = (): void => {
    if (cancelRequested || isTerminal(record)) return;
    cancelRequested = true;
    options.onCancel();
  };
  const collect = async (): Promise<void> => {
    const left = await store.collect(taskId);
    if (left?.cancel) requestCancel();
    if (left !== null) questions.take(left.responses);
    await afterAnswers(); // also of answers taken earlier, when the storage was away
  };
  const inbox = watchEntries(storage, [taskInboxKey(taskId)], collect, options);
  const release = (): void => {
    inbox.stop();
    options.onSettled();
    settled.resolve();
  };
  let isEnding = false;
  const storeEnd = async (end: Partial<TaskRecord>): Promise<void> => {
    isEnding = true;
    for (let wait = firstRetryMs;; wait = Math.min(2 * wait, maxRetryMs)) {
      try {
        return await showChange(() => end);
      } catch (error) {
        if (closing.aborted || isExpired()) throw error;
        log.write("warn", "task_end_not_stored", { error: String(error), retryInMs: wait });
      }
      await pause(wait, closing);
    }
  };
  /** An instance whose clock has jumped presumes so after the shorter silence. */
  const isLapsed = (): boolean => timers.elapsed() - beatAt > signOfLifeMs;
  let beating: Promise<void> | null = null;
  const beat = (): Promise<void> =>
    beating ??= change(() => ({})).finally(() => {
      beating = null;
    });

  return {
    /** What the client gets in place of the call's result. */
    seed: toTaskView(first),
    ttlMs,
    get record() {
      return record;
    },
    get cancelRequested() {
      return cancelRequested;
    },
    /** Whether its end is being stored: what is in the storage counts then, others may have seen the end there. */
    get isEnding() {
      return isEnding;
    },
    /** Whether other instances may presume this process dead, so that the task may have ended without it. */
    isLapsed,
    /** Fulfilled when the end is stored, or cannot be. */
    settled: settled.promise,
    /** Stores it for the first time. Where that fails there is no task, and nothing of it is left here. */
    async start() {
      try {
        await store.create(first);
      } catch (error) {
        release();
        throw error;
      }
    },
    /** Reports progress. */
    describe({ progress, total, message }: ProgressUpdate) {
      const told = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`);
      const statusMessage = told.slice(0, maxStatusCharacters).toWellFormed(); // a stored value is bounded
      if (isTerminal(record) || isEnding || isLapsed()) return; // it may be known as ended
      record = { ...record, statusMessage, lastUpdatedAt: clock() };
      publish(record);
    },
    /** Puts questions to the client that polls the task. */
    ask: <Key extends string>(asked: Questions<Key>) =>
      questions.ask(asked, async () => {
        await showQuestions();
        inbox.look(); // answers may be there already
      }),
    /** Says that this process lives; finds out when another one has ended the task meanwhile. */
    beat,
    requestCancel,
    /** Takes answers to its questions; gives the key of one that has the wrong shape. */
    async answer(responses: Readonly<Record<string, unknown>>): Promise<string | null> {
      const wrong = questions.take(responses);
      if (wrong !== null) return wrong;
      try {
        await afterAnswers();
      } catch (error) {
        inbox.look(); // the answers are taken: the task goes on once this can be stored
        throw error;
      }
      return null;
    },
    /**
     * Ends the task with the answer of its call, or (`null`) as cancelled, and gives the status that it ended with.
     * Tries until that is stored; rejects when the task has expired, or the server stops, before the storage is back.
     */
    async settle(answer: CallAnswer | null): Promise<TaskRecord["status"]> {
      try {
        await storeEnd(endOf(answer, options.mayKeep));
        return record.status;
      } finally {
        release();
      }
    },
  };
}

/** The largest result that is kept: what a tool may answer, escaped. */
const maxTaskResultCharacters = 16_000_000;
const maxErrorCharacters = 10_000;

/** What is read of a call's answer. */
interface CallAnswer {
  readonly kind: string;
  readonly body?: string;
}

/** How a call's answer ends its task; `null` for a cancelled one. */
function endOf(answer: CallAnswer | null, mayKeep: (characters: number) => boolean): Partial<TaskRecord> {
  if (answer === null) return { status: "cancelled" };
  if (answer.body === undefined) return failedTask("Internal error");
  const { length } = answer.body;
  if (length > maxTaskResultCharacters) {
    return failedTask(`The result has ${length} characters and may have ${maxTaskResultCharacters}: ask for less`);
  }
  if (!mayKeep(length)) {
    return failedTask(
      "Too many large results of tasks are kept: ask for less, or wait until earlier ones have expired",
    );
  }
  const body: unknown = JSON.parse(answer.body);
  if (isObject(body) && "result" in body) return { status: "completed", result: body["result"] };
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { code = rpcErrorCode.internalError, message = "Internal error" } = error;
  const shown = String(message).slice(0, maxErrorCharacters).toWellFormed();
  return { status: "failed", error: { ...error, code, message: shown } };
}
