/** Ollama's lines of JSON. Go leaves out what is zero, and writes "" or null for what is not there. */
import * as z from "zod";
import type { AnswerParser, StreamLine } from "./answer_stream.ts";
import { parseJson, present } from "../lib/json.ts";
import type { ModelCompletion } from "./port.ts";

const count = z.lazy(() => z.number().nonnegative().nullish());
const streamLine = z.lazy(() =>
  z.object({
    error: z.string().optional(),
    response: z.string().nullish(),
    thinking: z.string().nullish(),
    message: z.object({ content: z.string().nullish(), thinking: z.string().nullish() }).nullish(),
    done: z.boolean().nullish(),
    done_reason: z.string().nullish(),
    prompt_eval_count: count,
    eval_count: count,
    load_duration: count,
    eval_duration: count,
  })
);

/** The lines of Ollama's streams, of `generate` and `chat`: the last one says how the answer ended. */
export const ollamaLines: AnswerParser = { line: parseStreamLine, end: () => null };

function parseStreamLine(line: string): StreamLine | null {
  const parsed = streamLine.safeParse(parseJson(line));
  if (!parsed.success) return null;
  const value = parsed.data;
  if (value.error !== undefined) return { kind: "error", error: value.error };
  const text = value.response ?? value.message?.content ?? "";
  const thinking = value.thinking ?? value.message?.thinking ?? "";
  return {
    kind: "answer",
    delta: text === "" && thinking === "" ? null : { type: "delta", text, thinking },
    completion: value.done === true ? toCompletion(value) : null,
  };
}

function toCompletion(line: z.output<typeof streamLine>): ModelCompletion {
  const { load_duration: load, eval_duration: evaluation } = line;
  return {
    type: "done",
    ...present({
      doneReason: line.done_reason || undefined,
      promptTokens: line.prompt_eval_count,
      completionTokens: line.eval_count,
      loadMs: load && load / 1e6,
      evaluationMs: evaluation && evaluation / 1e6,
    }),
  };
}
