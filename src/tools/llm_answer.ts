/** Collects what a model says into one answer, and writes that answer as a tool's result. */
import { z } from "zod";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { ToolContext, ToolOutcome } from "../mcp/tool.ts";
import type { ModelCompletion, ModelEvent, ModelFailed, ToolCall } from "../ollama/port.ts";
import { type ProgressPace, startProgress } from "./llm_progress.ts";

/** A complete answer. */
export interface ModelAnswer {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly completion: ModelCompletion;
  /** Pieces that arrived: the number of tokens, when the model does not say it. */
  readonly pieces: number;
  readonly durationMilliseconds: number;
}

/** How an answer is followed. */
export interface FollowOptions {
  readonly maxTokens: number;
  readonly pace: ProgressPace;
  readonly clock: Clock;
}

/** A failure as tools report it. */
export interface ToolFailure {
  readonly code: string;
  readonly message: string;
}

/** A failure of the model as a tool tells it. */
export function toToolFailure({ code, message }: ModelFailed["failure"]): ToolFailure {
  return { code, message };
}

/** Reads the events to their end and reports progress on the way. */
export async function followAnswer(
  events: AsyncIterable<ModelEvent>,
  context: ToolContext,
  { maxTokens, pace, clock }: FollowOptions,
): Promise<Result<ModelAnswer, ToolFailure>> {
  const start = clock();
  const progress = startProgress((update) => context.progress(update), { total: maxTokens, pace, clock });
  let text = "";
  let thinking = "";
  let pieces = 0;
  const toolCalls: ToolCall[] = [];
  try {
    for await (const event of events) {
      switch (event.type) {
        case "delta": {
          const visible = withoutControls(event.text);
          text += visible;
          thinking += withoutControls(event.thinking);
          toolCalls.push(...event.toolCalls);
          pieces += 1;
          progress.token(visible);
          break;
        }
        case "failed":
          return failure(toToolFailure(event.failure));
        case "done":
          return success({
            text: text.toWellFormed(),
            thinking: thinking.toWellFormed(),
            toolCalls,
            completion: event,
            pieces,
            durationMilliseconds: clock() - start,
          });
      }
    }
  } finally {
    progress.stop();
  }
  throw new Error("A model's events ended without `done` or `failed`");
}

/** What every answer says in its `structuredContent`. */
export const answerFields = {
  text: z.string().describe("What the model wrote"),
  thinking: z.string().optional().describe("What it thought before, if it tells"),
  model: z.string(),
  done_reason: z.string().optional().describe("stop, or length when the answer was cut"),
  truncated: z.boolean().describe("The answer was cut at max_tokens"),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  duration_ms: z.number(),
  load_ms: z.number(),
  tokens_per_second: z.number().optional(),
  parsed: z.unknown().optional().describe("The answer as JSON, when a format was asked for"),
};

/** Writes an answer as {@link answerFields}, followed by the fields of `extra`. */
export function toAnswerOutcome(answer: ModelAnswer, model: string, extra: Record<string, unknown>): ToolOutcome {
  const { completion } = answer;
  const completionTokens = completion.completionTokens ?? answer.pieces;
  const evaluation = completion.evaluationMilliseconds ?? 0;
  return {
    ok: true,
    content: [
      ...(answer.text === "" && answer.toolCalls.length > 0 ? [] : [{ type: "text", text: answer.text } as const]),
      ...(answer.toolCalls.length === 0 ? [] : [{ type: "text", text: JSON.stringify(answer.toolCalls) } as const]),
    ],
    structuredContent: {
      text: answer.text,
      ...(answer.thinking === "" ? {} : { thinking: answer.thinking }),
      model,
      ...(completion.doneReason === undefined ? {} : { done_reason: completion.doneReason }),
      truncated: completion.doneReason === "length",
      prompt_tokens: completion.promptTokens ?? 0,
      completion_tokens: completionTokens,
      duration_ms: Math.round(answer.durationMilliseconds),
      load_ms: Math.round(completion.loadMilliseconds ?? 0),
      ...(evaluation > 0 ? { tokens_per_second: Math.round(completionTokens / evaluation * 1e5) / 100 } : {}),
      ...extra,
    },
  };
}

/** Control characters have no meaning in an answer, but can take over a terminal that shows it. */
function withoutControls(text: string): string {
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, "");
}
