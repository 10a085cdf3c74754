/** A tool's context as a call of the local model, and what became of the call. */
import type { ToolContext } from "../mcp/tool.ts";
import type { ModelFailed, PrincipalCall } from "./port.ts";

export interface ToolFailure {
  readonly code: string;
  readonly message: string;
}

/** Turns go round the people, then round the clients of each: two agents of one person do not starve each other. */
export function callOf(context: ToolContext, timeoutMs: number | undefined): PrincipalCall {
  const { principal, signal, answerNow } = context;
  return {
    signal: AbortSignal.any([signal, answerNow]),
    person: principal.subject,
    fairnessKey: JSON.stringify([principal.subject, principal.clientId]),
    ...(timeoutMs === undefined ? {} : { totalMs: timeoutMs }),
  };
}

/** Codes of calls that had to answer before the model was done. */
export const hurriedCodes: ReadonlySet<string> = new Set(["client_time_limit", "server_stopping"]);

export function toToolFailure({ code, message }: ModelFailed["failure"], context: ToolContext): ToolFailure {
  const { signal, answerNow } = context;
  if (code !== "cancelled" || !answerNow.aborted || signal.aborted) return { code, message };
  return answerNow.reason instanceof DOMException && answerNow.reason.name === "TimeoutError"
    ? { code: "client_time_limit", message: tooSlow }
    : { code: "server_stopping", message: "The server stops and could not wait for the model: try again in a minute." };
}

const tooSlow = "The model was not done in the time that this client waits for an answer: ask for less, lower " +
  "max_tokens, or try again when the model is loaded and less busy.";
