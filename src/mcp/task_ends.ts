/** How a task's record begins, and what the answer of its call makes of it. */
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { isObject } from "../lib/json.ts";
import { randomText } from "../lib/random_secret.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import { maxTaskResultCharacters } from "./result_pieces.ts";
import type { TaskRecord } from "./task_record.ts";

const maxErrorCharacters = 10_000;

export function newTaskRecord(
  { subject, clientId }: Principal,
  { tool, scopes }: { readonly tool: string | null; readonly scopes: readonly string[] },
  { now, taskTtlMs, taskPollIntervalMs }: {
    readonly now: number;
    readonly taskTtlMs: number;
    readonly taskPollIntervalMs: number;
  },
): TaskRecord {
  return {
    taskId: randomText(18),
    subject,
    clientId,
    tool,
    scopes: [...scopes],
    status: "working",
    createdAt: now,
    lastUpdatedAt: now,
    aliveAt: now,
    ttlMs: taskTtlMs,
    pollIntervalMs: taskPollIntervalMs,
  };
}

/** The end that the answer of a call gives its task; `null` is a cancelled one. */
export function endOf(answer: McpAnswer | null, mayKeep: (characters: number) => boolean): Partial<TaskRecord> {
  if (answer === null) return { status: "cancelled" };
  if (!("body" in answer)) return failed("Internal error");
  if (answer.body.length > maxTaskResultCharacters) {
    return failed(
      `The result has ${answer.body.length} characters and may have ${maxTaskResultCharacters}: ask for less`,
    );
  }
  if (!mayKeep(answer.body.length)) {
    return failed("Too many large results of tasks are kept: ask for less, or wait until earlier ones have expired");
  }
  const body: unknown = JSON.parse(answer.body);
  if (isObject(body) && "result" in body) return { status: "completed", result: body["result"] };
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { code = rpcErrorCode.internalError, message = "Internal error" } = error;
  const shown = String(message).slice(0, maxErrorCharacters).toWellFormed();
  return { status: "failed", error: { ...error, code, message: shown } };
}

function failed(message: string): Partial<TaskRecord> {
  return { status: "failed", error: { code: rpcErrorCode.internalError, message } };
}
