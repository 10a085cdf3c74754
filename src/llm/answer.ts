/** Collects what a model says into one answer, whole or as far as it came. */
import type { Clock } from "../lib/clock.ts";
import type { ToolContext } from "../mcp/tool.ts";
import type { CallsAhead, ModelCompletion, ModelEvent } from "./port.ts";
import { type ToolFailure, toToolFailure } from "./model_call.ts";
import { type ProgressPace, startProgress } from "./progress.ts";

export interface ModelAnswer {
  readonly text: string;
  readonly thinking: string;
  /** Empty for an answer that failed. */
  readonly completion: ModelCompletion;
  /** Why the answer ended early, if it did. */
  readonly failure: ToolFailure | null;
  /** Pieces that arrived: the number of tokens, when the model does not say it. */
  readonly pieces: number;
  readonly durationMs: number;
}

interface FollowOptions {
  readonly maxTokens: number;
  readonly pace: ProgressPace;
  readonly clock: Clock;
}

/** Asks, reads the events to their end, and reports progress on the way. */
export async function followAnswer(
  ask: (onWait: (ahead: CallsAhead) => void) => AsyncIterable<ModelEvent>,
  context: ToolContext,
  { maxTokens, pace, clock }: FollowOptions,
): Promise<ModelAnswer> {
  const start = clock();
  const progress = startProgress((update) => context.progress(update), { total: maxTokens, pace, clock });
  let text = "";
  let thinking = "";
  let pieces = 0;
  const answer = (completion: ModelCompletion, failure: ToolFailure | null): ModelAnswer => ({
    text: text.toWellFormed(),
    thinking: thinking.toWellFormed(),
    completion,
    failure,
    pieces,
    durationMs: clock() - start,
  });
  try {
    for await (const event of ask(progress.inLine)) {
      switch (event.type) {
        case "delta": {
          const visible = withoutControls(event.text);
          text += visible;
          thinking += withoutControls(event.thinking);
          pieces += 1;
          progress.token(visible);
          break;
        }
        case "failed":
          return answer({ type: "done" }, toToolFailure(event.failure, context));
        case "done":
          return answer(event, null);
      }
    }
  } finally {
    progress.stop();
  }
  throw new Error("A model's events ended without `done` or `failed`");
}

/** Control characters have no meaning in an answer, but can take over a terminal that shows it. */
function withoutControls(text: string): string {
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, "");
}
