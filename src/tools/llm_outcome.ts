/** A model's answer as a tool's result: whole, cut, or with the failure that ended it. What was written is never lost. */
import { z } from "zod";
import type { ContentBlock, ToolOutcome } from "../mcp/tool.ts";
import type { ModelAnswer, ToolFailure } from "./llm_answer.ts";

/** What every answer says in its `structuredContent`. */
export const answerFields = {
  text: z.string().describe("What the model wrote"),
  thinking: z.string().optional().describe("What it thought before, if it tells"),
  model: z.string(),
  done_reason: z.string().optional().describe("stop, or length when the answer was cut"),
  truncated: z.boolean().describe("The answer is incomplete; problem says why"),
  problem: z.object({ code: z.string(), message: z.string() }).optional()
    .describe("Why the answer is incomplete, or is not what was asked for"),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  duration_ms: z.number(),
  load_ms: z.number(),
  tokens_per_second: z.number().optional(),
  parsed: z.unknown().optional().describe("The answer as JSON, when a format was asked for"),
};

/** Which call an answer belongs to. */
export interface AnsweredCall {
  readonly model: string;
  readonly maxTokens: number;
}

/** Why Ollama ended an answer before the model did; null for a whole one. */
export function cutOf({ completion, text, thinking }: ModelAnswer, call: AnsweredCall): ToolFailure | null {
  if (completion.doneReason !== "length") return null;
  if (completion.completionTokens !== undefined && completion.completionTokens < call.maxTokens) {
    const message = `The answer was cut where the context of ${call.model} was full: shorten the prompt, or ask for ` +
      "the rest in another call. Only the operator can make the context larger, with OLLAMA_CONTEXT_LENGTH on " +
      "Ollama's side.";
    return { code: "context_full", message };
  }
  const only = text === "" && thinking !== "" ? " while the model was still thinking" : "";
  const remedy = only === ""
    ? "raise max_tokens, or ask for the rest in another call"
    : "raise max_tokens, or set think to false";
  return { code: "max_tokens", message: `The answer was cut at max_tokens (${call.maxTokens})${only}: ${remedy}.` };
}

/** An answer as a success; a `problem` is told in the text too. */
export function toSuccess(
  answer: ModelAnswer,
  call: AnsweredCall,
  { parsed, problem = null }: { readonly parsed?: unknown; readonly problem?: ToolFailure | null } = {},
): ToolOutcome {
  const note = problem === null ? [] : [textBlock(`[${problem.message}]`)];
  return {
    ok: true,
    content: [
      ...(answer.text === "" && answer.toolCalls.length > 0 ? [] : [textBlock(answer.text)]),
      ...calls(answer),
      ...note,
    ],
    structuredContent: { ...fieldsOf(answer, call, problem), ...(parsed === undefined ? {} : { parsed }) },
  };
}

/** The failure that ended an answer, or that was found in it, with what the model wrote. */
export function toFailure(failure: ToolFailure, answer: ModelAnswer, call: AnsweredCall): ToolOutcome {
  const { text, thinking, toolCalls } = answer;
  if (text === "" && thinking === "" && toolCalls.length === 0) return { ok: false, ...failure };
  const thoughts = text === "" && thinking !== "" ? [textBlock(`The model had only thought so far:\n${thinking}`)] : [];
  return {
    ok: false,
    code: failure.code,
    message: `${failure.message} What the model wrote follows.`,
    partial: {
      content: [...(text === "" ? thoughts : [textBlock(text)]), ...calls(answer)],
      structuredContent: fieldsOf(answer, call, failure),
    },
  };
}

function fieldsOf(answer: ModelAnswer, { model }: AnsweredCall, problem: ToolFailure | null): Record<string, unknown> {
  const { completion, toolCalls } = answer;
  const completionTokens = completion.completionTokens ?? answer.pieces;
  const evaluation = completion.evaluationMilliseconds ?? 0;
  return {
    text: answer.text,
    ...(answer.thinking === "" ? {} : { thinking: answer.thinking }),
    model,
    ...(completion.doneReason === undefined ? {} : { done_reason: completion.doneReason }),
    truncated: answer.failure !== null || completion.doneReason === "length",
    ...(problem === null ? {} : { problem: { code: problem.code, message: problem.message } }),
    prompt_tokens: completion.promptTokens ?? 0,
    completion_tokens: completionTokens,
    duration_ms: Math.round(answer.durationMilliseconds),
    load_ms: Math.round(completion.loadMilliseconds ?? 0),
    ...(evaluation > 0 ? { tokens_per_second: Math.round(completionTokens / evaluation * 1e5) / 100 } : {}),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

function calls({ toolCalls }: ModelAnswer): readonly ContentBlock[] {
  return toolCalls.length === 0 ? [] : [textBlock(JSON.stringify(toolCalls))];
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}
