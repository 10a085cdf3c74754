/** The tool `llm_generate`: a prompt in, a local model's text out, token by token for callers that watch. */
import { z } from "zod";
import type { Clock } from "../lib/clock.ts";
import { defineTool, type Tool, type ToolOutcome } from "../mcp/tool.ts";
import type { LocalModel } from "../ollama/port.ts";
import { answerFields, followAnswer, parseAnswer, toAnswerOutcome } from "./llm_answer.ts";
import { callOf } from "./llm_call.ts";
import { canonicalModel, modelParameter, samplingParameters, toModelOptions } from "./llm_input.ts";
import { defaultProgressPace, type ProgressPace } from "./llm_progress.ts";

/** What the tools of the local model need. */
export interface LlmToolOptions {
  readonly model: LocalModel;
  /** The operator's allow list, as Ollama names them; the first is the default. */
  readonly models: readonly [string, ...string[]];
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly pace?: ProgressPace;
}

/** Builds the tool. */
export function llmGenerateTool({ model, models, clock, pace = defaultProgressPace }: LlmToolOptions): Tool {
  return defineTool({
    name: "llm_generate",
    title: "Ask the local model",
    description: "Generates text with a language model that runs on the owner's machine. " +
      "Long answers are cut at max_tokens and say so.",
    scopes: ["llm:generate"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: z.object({
      prompt: z.string().min(1).describe("What the model is asked"),
      model: modelParameter(models),
      system: z.string().optional().describe("Who the model should be, and how it should answer"),
      ...samplingParameters,
    }),
    output: z.object(answerFields),
    async run(input, context): Promise<ToolOutcome> {
      const name = canonicalModel(input.model, models);
      const events = model.generate({
        model: name,
        prompt: input.prompt,
        ...(input.system === undefined ? {} : { system: input.system }),
        ...toModelOptions(input),
      }, callOf(context, input.timeout_ms));
      const answer = await followAnswer(events, context, { maxTokens: input.max_tokens, pace, clock });
      if (!answer.ok) return { ok: false, ...answer.error };
      if (input.format === undefined) return toAnswerOutcome(answer.value, name, {});
      const parsed = parseAnswer(answer.value);
      return parsed.ok ? toAnswerOutcome(answer.value, name, { parsed: parsed.value }) : { ok: false, ...parsed.error };
    },
  });
}
