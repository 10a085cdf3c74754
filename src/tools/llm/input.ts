/** Parameters of the tools that ask the local model, and the options they make. */
import * as z from "zod";
import type { AnswerFormat, SamplingOptions, Think } from "../../ollama/port.ts";
import { filesParameter } from "./files.ts";

/** Spellings that people use and Ollama does not know, with the ones it does. */
const modelAliases: Readonly<Record<string, string>> = { tinylama: "tinyllama" };

/** The `model` parameter: one of the operator's models, the first by default; known misspellings are understood. */
export function modelParameter(models: readonly [string, ...string[]]): z.ZodDefault<z.ZodString> {
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

const unlisted = { unlisted: true }; // the descriptions of `options` and `messages` name them
const optionNames = ["temperature", "seed", "top_p", "top_k", "stop", "think", "keep_alive", "timeout_ms"] as const;
const options = z.lazy(() =>
  z.strictObject(
    {
      temperature: z.number().min(0).max(2).optional().meta(unlisted),
      seed: z.int().optional().meta(unlisted),
      top_p: z.number().min(0).max(1).optional().meta(unlisted),
      top_k: z.int().min(1).max(1000).optional().meta(unlisted),
      stop: z.array(z.string().min(1).max(200)).max(8).optional().meta(unlisted),
      think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])]).optional().meta(unlisted),
      keep_alive: z.preprocess(durationSeconds, z.int().min(0).max(86_400)).optional().meta(unlisted),
      timeout_ms: z.int().min(1).optional().meta(unlisted),
    } satisfies Record<typeof optionNames[number], z.ZodType>,
  )
);

/** Earlier turns of a conversation. */
const maxTurns = 100;
const turn = z.lazy(() =>
  z.strictObject({
    role: z.enum(["system", "user", "assistant"]).meta(unlisted),
    content: z.string().meta(unlisted),
    files: filesParameter.meta(unlisted),
  })
);

/** The parameters of `llm_generate`. */
export function generateInput(models: readonly [string, ...string[]]) {
  return z.object({
    prompt: z.string().min(1).describe("Question"),
    files: filesParameter.describe("Text files, also in part (app.log:-200), or images, for it to read"),
    model: modelParameter(models),
    system: z.string().optional().describe("Role"),
    messages: z.array(turn).max(maxTurns).optional().describe("Earlier turns: role, content, files"),
    json_schema: z.preprocess((value) => value === "json" ? {} : value, z.record(z.string(), z.unknown()).optional())
      .describe("For an answer in JSON; {} for any"),
    max_tokens: z.int().min(1).max(4096).default(512).describe("Of the answer"),
    options: options.optional().describe(
      "temperature, seed, top_p, top_k, stop, think, keep_alive (seconds), timeout_ms",
    ),
  });
}

/** Names that the parameters of `llm_generate` had before, or that callers guess. */
export const generateAliases: Readonly<Record<string, string>> = {
  images: "files",
  file: "files",
  path: "files",
  filename: "files",
  format: "json_schema",
  schema: "json_schema",
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
