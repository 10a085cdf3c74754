/**
 * The tasks extension (SEP-2663): calls that were handed out. A task lives in the storage; the process that runs it
 * keeps its running half and says now and then that it lives, so that another process can tell when it does not.
 */
import { changeEntry, putPieces, readPieces, watchEntries } from "../lib/stored_entries.ts";
import { atMost, type Clock, createPause, type Pause } from "../lib/time.ts";
import { hasDirectories, hasScopes, type Principal } from "../lib/principal.ts";
import { randomText } from "../lib/secrets.ts";
import type { Services } from "./limits.ts";
import { type Result, success } from "../lib/result.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { type Answer, type Answers, type AskFailure, parseAnswer, type Question, type Questions } from "./question.ts";
import { parseStored, StorageUnavailableError } from "../lib/system_fault.ts";
import type { ProgressUpdate } from "./tool.ts";
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import type { StorageKey } from "../storage/mod.ts";
import { boundedMap } from "../lib/bounded_map.ts";

/** How long tasks may take to end by themselves when the server stops. */
const lastWordsMs = 1_000;

/** A change that the streams of the task's client are told of. */
export interface TaskChange extends Pick<TaskRecord, "subject" | "clientId"> {
  readonly kind: "task";
  readonly task: TaskView;
}

export function createTasks(services: Services, onChange: (change: TaskChange) => void) {
  const { storage, clock, timers, log, limits } = services;
  const pause = createPause(timers);
  const closing = new AbortController();
  const store = createTaskStore(services);
  const live = new Map<string, LiveTask>();
  const mayKeep = countKeptResults(clock);
  let stopHeartbeat: (() => void) | undefined;

  const publish = (record: TaskRecord): void => {
    const { subject, clientId } = record;
    onChange({ kind: "task", task: toTaskView(record), subject, clientId });
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
    async find(principal: Principal, taskId: string) {
      const running = live.get(taskId);
      if (running?.isLapsed()) await running.beat();
      const record = running === undefined || running.isEnding ? await store.load(taskId) : running.record;
      if (record === null || !isOf(principal, record)) return null;
      // One person's scripts are one client, whatever the scopes of each token: none gets what it could not have called.
      if (!hasScopes(principal, record.scopes) || !hasDirectories(principal, record.directories)) return null;
      return {
        /** Without a large result. */
        known: toTaskView(record),
        view: () => store.view(record),
        /** Hands in answers. Unknown keys are ignored; gives the key of one that has the wrong shape. */
        async answer(responses: Readonly<Record<string, unknown>>) {
          const task = live.get(taskId);
          if (task !== undefined) return await task.answer(responses);
          if (!isTerminal(record)) await store.leave(record, { cancel: false, responses: openOnes(record, responses) });
          return null;
        },
        /** Asks for its end. */
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

// A task where it runs: each change of its record is stored and published, and what other instances leave for it is
// taken.

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
function createLiveTask(first: TaskRecord, options: LiveTaskOptions) {
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
type TaskRecord = z.infer<typeof recordShape>;

const inboxShape = lazyObject(() => ({ cancel: z.boolean(), responses: z.record(z.string(), z.unknown()) }));

/** What another process left for the one that runs the task. */
type TaskInbox = z.infer<typeof inboxShape>;

/** Whether a task has ended. */
function isTerminal({ status }: TaskRecord): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** A task as its client sees it. */
export type TaskView = ReturnType<typeof toTaskView>;

/** The client's view of a record: JSON leaves out what is undefined. */
function toTaskView(record: TaskRecord) {
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

/** Where a task's record is. */
function taskKey(taskId: string): StorageKey {
  return ["mcp_task", taskId];
}

/** Where others leave what is for the process that runs the task. */
function taskInboxKey(taskId: string): StorageKey {
  return ["mcp_task_inbox", taskId];
}

/** When the storage may drop the record of a task. */
function taskExpiresAt({ createdAt, ttlMs }: TaskRecord): number {
  return createdAt + ttlMs + presumedDeadMs;
}

// Tasks in the storage, and messages there for the process that runs a task.

/** Larger results lie beside the record, in pieces that are written before it. */
const maxInlineCharacters = 100_000;

function resultKey(taskId: string, piece: number): StorageKey {
  return ["mcp_task_result", taskId, String(piece)];
}

/** A process that was seen to say nothing for so long runs its tasks no more. */
const presumedDeadMs = 30_000;
/** Where its last sign of life is older, two minutes for clocks that are apart included, a shorter silence is enough. */
const longDeadMs = presumedDeadMs + 120_000;
/** Two heartbeats: a look at a task that seems long dead waits so long for one, once. */
const signOfLifeMs = 10_000;

/** Tasks that are remembered. An evicted one starts counting again. */
const maxTasks = 10_000;

/**
 * How long the record of a task that another instance runs has stayed as it is, by this one's own timers. A stamp of the
 * other only counts where this one has not seen a sign of life: its clock may be a minute off, or jump.
 */
interface SeenTask {
  readonly version: string;
  /** When it was first seen with this version. */
  readonly at: number;
  /** Whether it was seen to change. */
  readonly hasChanged: boolean;
}

const lostTask =
  "The server that ran this task stopped before the task ended. It may have taken effect: check, then call the tool again";

function createTaskStore({ storage, clock, timers }: Services) {
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
function failedTask(message: string): Pick<TaskRecord, "status" | "error"> {
  return { status: "failed", error: { code: rpcErrorCode.internalError, message } };
}
