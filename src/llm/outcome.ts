/** A model's answer as a tool's result: whole, cut, or with the failure that ended it. What was written is never lost. */
import * as z from "zod";
import type { ContentBlock, ToolOutcome } from "../mcp/tool.ts";
import type { ModelAnswer } from "./answer.ts";
import { hurriedCodes, type ToolFailure } from "./model_call.ts";

/** What every answer says in its `structuredContent`. */
export const answerOutput = z.lazy(() =>
  z.object({
    text: z.string().describe("What the model wrote"),
    thinking: z.string().optional().describe("What it thought before it answered, where the model reports that"),
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
    parsed: z.unknown().optional().describe("The answer as JSON, when a json_schema was given"),
  })
);

/** Which call an answer belongs to. */
interface AnsweredCall {
  readonly model: string;
  readonly maxTokens: number;
}

/** Why an answer is as long as it may be, but not whole; null for one that is whole, failed, or never began. */
export function cutOf(answer: ModelAnswer, call: AnsweredCall): ToolFailure | null {
  const { completion, failure, text, thinking } = answer;
  if (failure !== null && hurriedCodes.has(failure.code)) return isEmpty(answer) ? null : failure;
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
    : "raise max_tokens, or set options.think to false";
  return { code: "max_tokens", message: `The answer was cut at max_tokens (${call.maxTokens})${only}: ${remedy}.` };
}

/** An answer as a success; a `problem` is part of the text too. */
export function toSuccess(
  answer: ModelAnswer,
  call: AnsweredCall,
  { parsed, problem = null }: { readonly parsed?: unknown; readonly problem?: ToolFailure | null } = {},
): ToolOutcome {
  return {
    ok: true,
    content: problem === null ? written(answer) : [...written(answer), textBlock(`[${problem.message}]`)],
    structuredContent: { ...fieldsOf(answer, call, problem), ...(parsed === undefined ? {} : { parsed }) },
  };
}

/** The failure that ended an answer, or that was found in it, with what the model wrote. */
export function toModelFailure(failure: ToolFailure, answer: ModelAnswer, call: AnsweredCall): ToolOutcome {
  if (isEmpty(answer)) return { ok: false, ...failure };
  return {
    ok: false,
    code: failure.code,
    message: `${failure.message} What the model wrote follows.`,
    partial: { content: written(answer), structuredContent: fieldsOf(answer, call, failure) },
  };
}

function isEmpty({ text, thinking }: ModelAnswer): boolean {
  return text === "" && thinking === "";
}

/** The text; the thoughts where there is none because the answer is not whole. */
function written({ text, thinking, completion }: ModelAnswer): readonly ContentBlock[] {
  const isCut = completion.doneReason === undefined || completion.doneReason === "length";
  const onlyThoughts = text === "" && thinking !== "" && isCut;
  return [textBlock(onlyThoughts ? `The model had only thought so far:\n${thinking}` : text)];
}

function fieldsOf(answer: ModelAnswer, { model }: AnsweredCall, problem: ToolFailure | null): Record<string, unknown> {
  const { completion } = answer;
  const completionTokens = completion.completionTokens ?? answer.pieces;
  const evaluation = completion.evaluationMs ?? 0;
  return {
    text: answer.text,
    ...(answer.thinking === "" ? {} : { thinking: answer.thinking }),
    model,
    ...(completion.doneReason === undefined ? {} : { done_reason: completion.doneReason }),
    truncated: answer.failure !== null || completion.doneReason === "length",
    ...(problem === null ? {} : { problem: { code: problem.code, message: problem.message } }),
    prompt_tokens: completion.promptTokens ?? 0,
    completion_tokens: completionTokens,
    duration_ms: Math.round(answer.durationMs),
    load_ms: Math.round(completion.loadMs ?? 0),
    ...(evaluation > 0 ? { tokens_per_second: Math.round(completionTokens / evaluation * 1e5) / 100 } : {}),
  };
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}
