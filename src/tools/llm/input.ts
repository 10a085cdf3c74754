/** What the tools that ask the local model have in common: parameters, the model's names, and the options they make. */
import { z } from "zod";
import type { AnswerFormat, SamplingOptions, Think } from "../../ollama/port.ts";

/** Spellings that people use and Ollama does not know, with the ones it does. */
const aliases: Readonly<Record<string, string>> = { tinylama: "tinyllama" };

/** The `model` parameter: one of the operator's models, the first by default; known misspellings are understood. */
export function modelParameter(models: readonly [string, ...string[]]): z.ZodDefault<z.ZodString> {
  return z.string()
    .refine((name) => models.includes(canonicalModel(name, models)), `Use one of these models: ${models.join(", ")}`)
    .default(models[0])
    .meta({ description: "Which of the installed models to ask", enum: models }); // a transformation would hide both
}

/** The name that Ollama knows a model by. */
export function canonicalModel(name: string, models: readonly string[]): string {
  const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
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

/** Parameters of every call that makes a model write. */
export const samplingParameters = {
  temperature: z.number().min(0).max(2).optional().describe("0 for the most likely answer, higher for more variety"),
  max_tokens: z.int().min(1).max(4096).default(512).describe("The answer is cut after this many tokens"),
  seed: z.int().optional().describe("The same seed gives the same answer"),
  top_p: z.number().min(0).max(1).optional().describe("Choose among the tokens that make up this probability"),
  top_k: z.int().min(1).max(1000).optional().describe("Choose among this many tokens"),
  stop: z.array(z.string().min(1).max(200)).max(8).optional().describe("The answer ends before any of these texts"),
  format: z.union([z.literal("json"), z.record(z.string(), z.unknown())]).optional()
    .describe('"json" for any JSON, or a JSON schema that the answer has to follow; say so in the prompt too'),
  think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])]).optional()
    .describe("Whether, or how much, a thinking model thinks first; its thoughts are kept apart from the answer"),
  keep_alive: z.preprocess(durationSeconds, z.int().min(0).max(86_400)).optional()
    .describe("How many seconds the model stays loaded afterwards; a duration such as 10m is understood too"),
  timeout_ms: z.int().min(1).optional().describe(
    "Stop after this many milliseconds and return the text so far; for clients that give up after a minute, 50000",
  ),
};

export type SamplingInput = z.output<z.ZodObject<typeof samplingParameters>>;

/** The same in the port's terms. */
export function toModelOptions(input: SamplingInput): {
  readonly options: SamplingOptions;
  readonly format?: AnswerFormat;
  readonly think?: Think;
  readonly keepAliveSeconds?: number;
} {
  const { temperature, max_tokens, seed, top_p, top_k, stop, format, think, keep_alive } = input;
  return {
    options: {
      maxTokens: max_tokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(seed === undefined ? {} : { seed }),
      ...(top_p === undefined ? {} : { topP: top_p }),
      ...(top_k === undefined ? {} : { topK: top_k }),
      ...(stop === undefined ? {} : { stop }),
    },
    ...(format === undefined ? {} : { format }),
    ...(think === undefined ? {} : { think }),
    ...(keep_alive === undefined ? {} : { keepAliveSeconds: keep_alive }),
  };
}
