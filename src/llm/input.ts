/** Parameters of the tools that ask the local model, and the options they make. */
import * as z from "zod";
import { clamped, type Meaning, otherNames } from "../mcp/mod.ts";
import type { AnswerFormat, SamplingOptions, Think } from "./port.ts";
import { filesParameter } from "./files.ts";

/** Spellings that people use and Ollama does not know, with the ones it does. */
const modelAliases: Readonly<Record<string, string>> = { tinylama: "tinyllama" };

/** The `model` parameter: one of the operator's models, the first by default; known misspellings are understood. */
function modelParameter(models: readonly [string, ...string[]]): z.ZodDefault<z.ZodString> {
  return z.string()
    .refine((name) => models.includes(canonicalModel(name, models)), `Use one of these models: ${models.join(", ")}`)
    .default(models[0])
    .meta({ description: "Name", enum: models }); // a transformation would hide both
}

/** The name that Ollama knows a model by. */
export function canonicalModel(name: string, models: readonly string[]): string {
  const alias = Object.hasOwn(modelAliases, name) ? modelAliases[name] : undefined;
  return alias !== undefined && models.includes(alias) && !models.includes(name) ? alias : name;
}

const maxDurationCharacters = 50;
const unitSeconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** Go's durations (`1h30m`), as Ollama's own settings have them, in whole seconds; anything else as it is. */
function durationSeconds(value: unknown): unknown {
  if (typeof value !== "string" || value.length > maxDurationCharacters) return value;
  if (!/^(\d{1,9}(ms|[smh]))+$/.test(value)) return value;
  let seconds = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+)(ms|[smh])/g)) {
    seconds += Number(amount) * (unitSeconds[unit ?? ""] ?? 0);
  }
  return Math.round(seconds);
}

const optionNames = ["temperature", "seed", "top_p", "top_k", "stop", "think", "keep_alive", "timeout_ms"] as const;
const options = z.lazy(() =>
  z.strictObject(
    {
      temperature: z.number().min(0).max(2).optional(),
      seed: z.int().optional(),
      top_p: z.number().min(0).max(1).optional(),
      top_k: z.int().min(1).max(1000).optional(),
      stop: z.array(z.string().min(1).max(200)).max(8).optional(),
      think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])]).optional(),
      keep_alive: z.preprocess(durationSeconds, z.int().min(0).max(86_400)).optional().describe("Seconds"),
      timeout_ms: z.int().min(1).optional(),
    } satisfies Record<typeof optionNames[number], z.ZodType>,
  )
);

/** Earlier turns of a conversation. */
const maxTurns = 100;
const turn = z.lazy(() =>
  z.strictObject({
    role: z.enum(["system", "user", "assistant"]),
    content: z.string(),
    files: filesParameter.meta({ unlisted: true }),
  })
);

/** The parameters of `llm_generate`. */
export function generateInput(models: readonly [string, ...string[]]) {
  return z.object({
    prompt: z.string().min(1).describe("Question"),
    files: filesParameter.describe("Text files, also in part (app.log:-200), or images, for it to read"),
    model: modelParameter(models),
    system: z.string().optional().describe("Role"),
    messages: z.array(turn).max(maxTurns).optional().describe("Earlier turns"),
    json_schema: z.preprocess((value) => value === "json" ? {} : value, z.record(z.string(), z.unknown()).optional())
      // no client refuses it for want of properties (Gemini's do), and a list of tools needs none
      .describe("JSON Schema for an answer in JSON; {} for any").meta({ listedAs: "string" }),
    max_tokens: z.int().min(1).max(4096).default(512).describe("Of the answer").meta(clamped),
    options: options.optional().describe("Sampling, thinking, time"),
  });
}

/** Names that the parameters of `llm_generate` had before, or that callers guess. */
export const generateAliases: Readonly<Record<string, Meaning>> = {
  ...otherNames({
    prompt: "question message input query text",
    files: "images file path filename paths file_path file_paths filenames",
    json_schema: "format schema response_schema response_format",
    system: "system_prompt instructions",
    messages: "history",
    model: "model_name",
    max_tokens: "num_predict max_output_tokens max_new_tokens max_completion_tokens",
  }),
  stream: { values: { true: undefined, false: undefined } },
  ...Object.fromEntries(optionNames.map((name) => [name, `options.${name}`])),
};

export type GenerateInput = z.output<ReturnType<typeof generateInput>>;

/** Options and format in the port's terms. */
export function toModelOptions({ max_tokens, json_schema: schema, options = {} }: GenerateInput): {
  readonly options: SamplingOptions;
  readonly format?: AnswerFormat;
  readonly think?: Think;
  readonly keepAliveSeconds?: number;
} {
  const { temperature, seed, top_p, top_k, stop, think, keep_alive } = options;
  return {
    options: {
      maxTokens: max_tokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(seed === undefined ? {} : { seed }),
      ...(top_p === undefined ? {} : { topP: top_p }),
      ...(top_k === undefined ? {} : { topK: top_k }),
      ...(stop === undefined ? {} : { stop }),
    },
    ...(schema === undefined ? {} : { format: Object.keys(schema).length === 0 ? "json" : schema }),
    ...(think === undefined ? {} : { think }),
    ...(keep_alive === undefined ? {} : { keepAliveSeconds: keep_alive }),
  };
}
