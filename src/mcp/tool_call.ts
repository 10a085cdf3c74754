/** `tools/call`: find the tool, require its scopes, admit the call, check its input, run it, encode what comes of it. */
import type { Log } from "../lib/log.ts";
import type { Principal } from "../lib/principal.ts";
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { errorCode, errorText, refusalCode } from "./jsonrpc.ts";
import type { Tool, ToolOutcome } from "./tool.ts";
import { createToolContext, type RunningContext } from "./tool_context.ts";
import { parseToolInput } from "./tool_input.ts";
import type { RegisteredTool, ToolRegistry } from "./tool_registry.ts";
import { conformsToOutput, internalToolFailure, toToolResultText } from "./tool_result.ts";

/** Whether a principal may call now, or in how many seconds. */
export type Admission = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** What tool calls need from their server. */
export interface ToolCallOptions {
  readonly tools: ToolRegistry;
  readonly log: Log;
  /** Rate limit, asked once per call, after the scopes and before the tool's input is looked at. */
  readonly admit: (principal: Principal) => Admission;
  /** A call that takes longer is aborted and answered as failed. */
  readonly toolTimeoutMs: number;
}

/** Answers `tools/call`: at once when the tool does, else with a promise. */
export function callTool(options: ToolCallOptions, call: Call, principal: Principal): McpAnswer | Promise<McpAnswer> {
  const params = call.request.params;
  if (!isObject(params)) return answerError(call, errorCode.invalidParams, "params must be an object");
  const { name, arguments: input = {} } = params;
  if (typeof name !== "string") return answerError(call, errorCode.invalidParams, "params.name must be a string");
  const registered = options.tools.get(name);
  if (registered === undefined) return answerError(call, errorCode.invalidParams, `Unknown tool: ${name}`);
  const { tool } = registered;
  call.tool = name;
  if (!hasScopes(principal, tool)) return refuseScopes(call, tool.scopes);
  const admission = options.admit(principal);
  if (!admission.ok) return refuseRate(call, admission.retryAfterSeconds);
  if (!isObject(input)) return answerError(call, errorCode.invalidParams, "params.arguments must be an object");
  const parsed = parseToolInput(tool.input, input);
  if (!parsed.ok) {
    return call.revision.invalidInputIsToolError
      ? answerOutcome(call, registered, { ok: false, code: "invalid_input", message: parsed.error })
      : answerError(call, errorCode.invalidParams, parsed.error);
  }
  const context = createToolContext(call.exchange, principal);
  let outcome: ToolOutcome | Promise<ToolOutcome>;
  try {
    outcome = tool.run(parsed.value as never, context);
  } catch (error) {
    return answerCrash(options, call, registered, error);
  }
  if (outcome instanceof Promise) return awaitOutcome(options, call, registered, outcome, context);
  context.end();
  return answerChecked(options, call, registered, outcome);
}

/** The scopes that a `tools/call` needs and the principal lacks, without running anything; none for other calls. */
export function missingScopes(tools: ToolRegistry, message: unknown, principal: Principal): readonly string[] {
  if (!isObject(message) || message["method"] !== "tools/call" || !isObject(message["params"])) return [];
  const name = message["params"]["name"];
  const tool = typeof name === "string" ? tools.get(name)?.tool : undefined;
  return tool === undefined || hasScopes(principal, tool) ? [] : tool.scopes;
}

function hasScopes(principal: Principal, tool: Tool): boolean {
  for (const scope of tool.scopes) if (!principal.scopes.has(scope)) return false;
  return true;
}

async function awaitOutcome(
  options: ToolCallOptions,
  call: Call,
  registered: RegisteredTool,
  pending: Promise<ToolOutcome>,
  context: RunningContext,
): Promise<McpAnswer> {
  const { promise: timedOut, resolve } = Promise.withResolvers<ToolOutcome>();
  const timer = setTimeout(() => {
    const message = `${registered.tool.name} took longer than ${options.toolTimeoutMs / 1000} s and was stopped`;
    context.abort(new DOMException(message, "TimeoutError"));
    resolve({ ok: false, code: "timeout", message });
  }, options.toolTimeoutMs);
  try {
    return answerChecked(options, call, registered, await Promise.race([pending, timedOut]));
  } catch (error) {
    return answerCrash(options, call, registered, error);
  } finally {
    clearTimeout(timer);
    context.end();
  }
}

function answerChecked(
  options: ToolCallOptions,
  call: Call,
  registered: RegisteredTool,
  outcome: ToolOutcome,
): McpAnswer {
  if (conformsToOutput(registered, outcome)) return answerOutcome(call, registered, outcome);
  return answerCrash(options, call, registered, new TypeError("structuredContent does not fit the output schema"));
}

function answerOutcome(call: Call, registered: RegisteredTool, outcome: ToolOutcome): McpAnswer {
  if (!outcome.ok) {
    call.outcome = "tool_error";
    call.code = outcome.code;
  }
  return answerResult(call, toToolResultText(registered, outcome));
}

/** A tool that throws has a bug, or lost what it stands on: the log gets the reason, the caller only the fact. */
function answerCrash(options: ToolCallOptions, call: Call, registered: RegisteredTool, error: unknown): McpAnswer {
  options.log.write("error", "tool_crashed", {
    requestId: call.exchange.requestId,
    tool: registered.tool.name,
    error: error instanceof Error ? error.stack ?? error.message : String(error),
  });
  return answerOutcome(call, registered, internalToolFailure(registered.tool.name));
}

function refuseScopes(call: Call, scopes: readonly string[]): McpAnswer {
  call.outcome = "insufficient_scope";
  call.code = "insufficient_scope";
  return insufficientScope(call.request.id, scopes);
}

/** The refusal of a call, or of a whole batch, whose token lacks scopes. */
export function insufficientScope(id: string | number | null, scopes: readonly string[]): McpAnswer {
  const message = `This call needs the scopes: ${scopes.join(" ")}`;
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}

function refuseRate(call: Call, retryAfterSeconds: number): McpAnswer {
  call.outcome = "rate_limited";
  call.code = "rate_limited";
  const message = `Too many calls. Try again in ${retryAfterSeconds} s`;
  const body = errorText(call.request.id, refusalCode.rateLimited, message, { retryAfterSeconds });
  return { kind: "rate_limited", retryAfterSeconds, body };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
