/**
 * The tasks extension (SEP-2663): calls that were handed out. A task lives in the storage; the process that runs it
 * keeps its running half and says now and then that it lives, so that another process can tell when it does not.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Principal } from "../../lib/principal.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { McpAnswer } from "../answer.ts";
import type { ChangeHub } from "../change_hub.ts";
import { isObject } from "../json.ts";
import { errorCode } from "../jsonrpc.ts";
import type { McpStorage } from "../mcp_storage.ts";
import { type Answer, type Answers, type AskFailure, parseAnswer, type Question, type Questions } from "../question.ts";
import type { ProgressUpdate } from "../tool.ts";
import {
  isTerminal,
  parseTaskInbox,
  parseTaskRecord,
  type TaskRecord,
  type TaskView,
  toTaskView,
} from "./task_record.ts";

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
  questions: Record<string, Question>;
  answers: Record<string, Answer>;
  onAnswered: (() => void) | null;
  readonly onCancel: () => void;
  readonly settled: PromiseWithResolvers<void>;
}

const heartbeatMs = 5_000;
const presumedDeadMs = 30_000;

/** Opens the tasks. */
export function createTasks(options: TasksOptions): Tasks {
  const { storage, clock, log, changes, limits } = options;
  const live = new Map<string, LiveTask>();
  let heartbeat: ReturnType<typeof setInterval> | undefined;

  const save = async (record: TaskRecord): Promise<void> => {
    const expiresAt = record.createdAt + record.ttlMs + presumedDeadMs;
    await storage.commit({ puts: [{ key: ["mcp_task", record.taskId], value: record, expiresAt }] });
  };
  const change = async (task: LiveTask, fields: Partial<TaskRecord>): Promise<void> => {
    task.record = { ...task.record, ...fields, lastUpdatedAt: clock(), aliveAt: clock() };
    await save(task.record);
    publish(task.record);
  };
  const publish = (record: TaskRecord): void => {
    const { subject, clientId } = record;
    changes.publish({ kind: "task", task: toTaskView(record), subject, clientId });
  };
  const requestCancel = (task: LiveTask): void => {
    if (task.cancelRequested || isTerminal(task.record)) return;
    task.cancelRequested = true;
    task.onCancel();
  };
  const takeAnswers = (task: LiveTask, responses: Readonly<Record<string, unknown>>): string | null => {
    for (const [key, response] of Object.entries(responses)) {
      const question = Object.hasOwn(task.questions, key) ? task.questions[key] : undefined;
      if (question === undefined) continue; // never asked, or answered already
      const answer = parseAnswer(question, response);
      if (answer === null) return key;
      task.answers[key] = answer;
      delete task.questions[key];
    }
    return null;
  };
  const beat = async (task: LiveTask): Promise<void> => {
    task.record = { ...task.record, aliveAt: clock() };
    await save(task.record);
    const key = ["mcp_task_inbox", task.record.taskId] as const;
    const stored = await storage.get(key);
    if (stored === null) return;
    const inbox = parseTaskInbox(stored.value);
    await storage.commit({ deletes: [key] });
    if (inbox.cancel) requestCancel(task);
    takeAnswers(task, inbox.responses);
    await afterAnswers(task);
  };
  const afterAnswers = async (task: LiveTask): Promise<void> => {
    if (task.record.status !== "input_required") return;
    if (Object.keys(task.questions).length > 0) {
      await change(task, { inputRequests: { ...task.questions } });
      return;
    }
    await change(task, { status: "working", inputRequests: undefined });
    task.onAnswered?.();
  };
  const keepBeating = (): void => {
    heartbeat ??= setInterval(() => {
      for (const task of live.values()) {
        beat(task).catch((error) => log.write("error", "task_heartbeat_failed", { error: String(error) }));
      }
    }, heartbeatMs);
  };
  const stopBeating = (): void => {
    clearInterval(heartbeat);
    heartbeat = undefined;
  };
  const load = async (principal: Principal, taskId: string): Promise<TaskRecord | null> => {
    const running = live.get(taskId);
    let record = running?.record;
    if (record === undefined) {
      const stored = await storage.get(["mcp_task", taskId]);
      if (stored === null) return null;
      record = parseTaskRecord(stored.value);
      if (!isTerminal(record) && clock() - record.aliveAt > presumedDeadMs) {
        const error = { code: errorCode.internalError, message: "The server stopped while the task ran" };
        record = { ...record, status: "failed", error, lastUpdatedAt: clock() };
        await save(record);
      }
    }
    return record.subject === principal.subject && record.clientId === principal.clientId ? record : null;
  };
  const leaveInInbox = async (record: TaskRecord, cancel: boolean, responses: Readonly<Record<string, unknown>>) => {
    const key = ["mcp_task_inbox", record.taskId] as const;
    const stored = await storage.get(key);
    const earlier = stored === null ? { cancel: false, responses: {} } : parseTaskInbox(stored.value);
    const value = { cancel: cancel || earlier.cancel, responses: { ...earlier.responses, ...responses } };
    await storage.commit({ puts: [{ key, value, expiresAt: record.createdAt + record.ttlMs }] });
  };

  return {
    async begin({ subject, clientId }, tool, onCancel) {
      const own = [...live.values()].filter(({ record }) => record.subject === subject && record.clientId === clientId);
      if (own.length >= limits.maxTasksPerPrincipal) return null;
      const now = clock();
      const task: LiveTask = {
        record: {
          taskId: randomBytes(18).toString("base64url"),
          subject,
          clientId,
          tool,
          status: "working",
          createdAt: now,
          lastUpdatedAt: now,
          aliveAt: now,
          ttlMs: limits.taskTtlMs,
          pollIntervalMs: limits.taskPollIntervalMs,
        },
        cancelRequested: false,
        questions: {},
        answers: {},
        onAnswered: null,
        onCancel,
        settled: Promise.withResolvers(),
      };
      const { taskId } = task.record;
      live.set(taskId, task);
      await save(task.record);
      keepBeating();
      return {
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
        ask: (questions) => askThroughTask(task, questions, change),
        async settle(answer) {
          try {
            await change(task, endOf(answer));
          } finally {
            live.delete(taskId);
            if (live.size === 0) stopBeating();
            task.settled.resolve();
          }
        },
      };
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
        if (!isTerminal(record)) await leaveInInbox(record, false, responses);
        return { kind: "accepted" };
      }
      const wrong = takeAnswers(task, responses);
      if (wrong !== null) return { kind: "wrong_shape", key: wrong };
      await afterAnswers(task);
      return { kind: "accepted" };
    },
    async cancel(principal, taskId) {
      const record = await load(principal, taskId);
      if (record === null) return false;
      const task = live.get(taskId);
      if (task !== undefined) requestCancel(task);
      else if (!isTerminal(record)) await leaveInInbox(record, true, {});
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

/** Each key means one question for the whole life of a task (SEP-2663): a key that was used before gets a number. */
async function askThroughTask<Key extends string>(
  task: LiveTask,
  questions: Questions<Key>,
  change: (task: LiveTask, fields: Partial<TaskRecord>) => Promise<void>,
): Promise<Result<Answers<Key>, AskFailure>> {
  const names = new Map<Key, string>();
  for (const key of Object.keys(questions) as Key[]) {
    let name: string = key;
    for (let number = 2; name in task.answers || name in task.questions; number += 1) name = `${key}#${number}`;
    names.set(key, name);
    task.questions[name] = questions[key];
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  task.onAnswered = resolve;
  await change(task, { status: "input_required", inputRequests: { ...task.questions } });
  await promise;
  const answers: Record<string, Answer> = {};
  for (const [key, name] of names) {
    const answer = task.answers[name];
    if (answer === undefined) return failure({ reason: "unreachable", message: "There is no answer" });
    answers[key] = answer;
  }
  return success(answers as Answers<Key>);
}

/** The end that the answer of a call gives its task. */
function endOf(answer: McpAnswer | null): Partial<TaskRecord> {
  if (answer === null) return { status: "cancelled" };
  const body: unknown = "body" in answer ? JSON.parse(answer.body) : undefined;
  if (isObject(body) && "result" in body) return { status: "completed", result: body["result"] };
  const error = isObject(body) ? body["error"] : { code: errorCode.internalError, message: "Internal error" };
  return { status: "failed", error };
}
