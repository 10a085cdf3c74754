/** `prompts/get`. */
import { hasScopes } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call, logCrash } from "./call.ts";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { Prompt, PromptOutcome, PromptRegistry } from "./prompt.ts";
import { runInContext } from "./run_in_context.ts";
import { refuseRate, refuseScopes } from "./refusals.ts";
import { encodeBlock } from "./tool_result.ts";

export async function getPrompt(
  { prompts }: { readonly prompts: PromptRegistry },
  call: Call,
): Promise<McpAnswer> {
  const { params } = call.request;
  if (!isObject(params) || typeof params["name"] !== "string") return invalid(call, "params.name must be a string");
  const prompt = prompts.get(params["name"]);
  if (prompt === undefined) return invalid(call, `Unknown prompt: ${params["name"]}`);
  if (!hasScopes(call.principal, prompt.scopes)) return refuseScopes(call, prompt.scopes);
  return await refuseRate(call) ?? await renderPrompt(prompt, withoutNulls(params["arguments"]), call);
}

function withoutNulls(given: unknown = {}): unknown {
  return isObject(given) ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) : given;
}

function renderPrompt(
  prompt: Prompt,
  given: unknown,
  call: Call,
): McpAnswer | Promise<McpAnswer> {
  if (!isObject(given) || !Object.values(given).every((value) => typeof value === "string")) {
    return invalid(call, "params.arguments must be an object of strings");
  }
  const absent = prompt.arguments.find(({ name, required }) => required && !Object.hasOwn(given, name));
  if (absent !== undefined) return invalid(call, `${absent.name} parameter is required`);
  return runInContext<PromptOutcome>(call, {
    run: (context) => prompt.render(given as Record<string, string>, context),
    encode(outcome) {
      if (!outcome.ok) return answerError(call, rpcErrorCode.invalidParams, outcome.message);
      const { revision, exchange } = call;
      const messages = outcome.messages.map(({ role, content }) => ({
        role,
        content: encodeBlock(content, revision, exchange.profile),
      }));
      return answerResult(call, JSON.stringify({ description: prompt.description, messages }));
    },
    crash(error, words) {
      logCrash(call, "prompt", prompt.name, error);
      return answerError(call, rpcErrorCode.internalError, words ?? "Internal server error");
    },
    fail: (_code, message) => invalid(call, message),
  });
}

function invalid(call: Call, message: string): McpAnswer {
  return answerError(call, rpcErrorCode.invalidParams, message);
}
