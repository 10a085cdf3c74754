/** `tasks/get`, `tasks/update` and `tasks/cancel` (SEP-2663). */
import { answerError, answerMissingCapability, answerResult, type Call, type McpAnswer } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";

/** Answers to a task of another instance are left in one stored value. */
const maxResponseCharacters = 50_000;

export function getTask(call: Call): Promise<McpAnswer> {
  return withTask(call, async (taskId) => {
    const view = await call.runtime.tasks.get(call.principal, taskId);
    return view === null ? unknownTask(call) : answerResult(call, JSON.stringify(view));
  });
}

/** Hands in answers to a task's questions. */
export function updateTask(call: Call): Promise<McpAnswer> {
  return withTask(call, async (taskId, { inputResponses }) => {
    if (!isObject(inputResponses)) {
      return answerError(call, rpcErrorCode.invalidParams, "params.inputResponses must be an object");
    }
    if (JSON.stringify(inputResponses).length > maxResponseCharacters) {
      const words = `params.inputResponses may have ${maxResponseCharacters} characters as JSON`;
      return answerError(call, rpcErrorCode.invalidParams, words);
    }
    const outcome = await call.runtime.tasks.update(call.principal, taskId, inputResponses);
    switch (outcome.kind) {
      case "accepted":
        return answerResult(call, "{}");
      case "unknown_task":
        return unknownTask(call);
      case "wrong_shape":
        return answerError(
          call,
          rpcErrorCode.invalidParams,
          `inputResponses.${outcome.key} does not answer its question`,
        );
    }
  });
}

/** Asks for a task's end. */
export function cancelTask(call: Call): Promise<McpAnswer> {
  return withTask(
    call,
    async (taskId) =>
      await call.runtime.tasks.cancel(call.principal, taskId) ? answerResult(call, "{}") : unknownTask(call),
  );
}

async function withTask(
  call: Call,
  serve: (taskId: string, params: Readonly<Record<string, unknown>>) => Promise<McpAnswer>,
): Promise<McpAnswer> {
  const refusal = requireTasks(call);
  if (refusal !== null) return refusal;
  const { params } = call.request;
  if (!isObject(params) || typeof params["taskId"] !== "string") {
    return answerError(call, rpcErrorCode.invalidParams, "params.taskId must be a string");
  }
  return await serve(params["taskId"], params);
}

/** Refuses a client that did not declare the extension on this request. */
export function requireTasks(call: Call): McpAnswer | null {
  if (call.revision.capabilitiesOf(call.request, call.session).has("tasks")) return null;
  return answerMissingCapability(call, ["tasks"]);
}

function unknownTask(call: Call): McpAnswer {
  return answerError(call, rpcErrorCode.invalidParams, "Unknown task: it may have expired; call the tool again");
}
