/** The tool `llm_generate`: a prompt in, a local model's text out, token by token for callers that watch. */
import * as z from "zod";
import {
  clamped,
  defineTool,
  type Meaning,
  otherNames,
  type Tool,
  type ToolContext,
  type ToolOutcome,
} from "../mcp/mod.ts";
import type { AnswerFormat, ChatMessage, LocalModel, ModelEvent, PrincipalCall } from "./port.ts";
import { fileLoader, filesParameter, type LoadFiles, withTexts } from "./files.ts";
import { isObject, present } from "../lib/json.ts";
import type { Clock } from "../lib/time.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { WorkspaceSource } from "../files/mod.ts";
import {
  answerOutput,
  callOf,
  cutOf,
  defaultProgressPace,
  followAnswer,
  type ProgressPace,
  toModelFailure,
  type ToolFailure,
  toSuccess,
} from "./answer.ts";

export interface LlmGenerateOptions {
  readonly model: LocalModel;
  /** The operator's allow list, as Ollama names them; the first is the default. */
  readonly models: readonly [string, ...string[]];
  readonly workspace: WorkspaceSource;
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly pace?: ProgressPace;
}

/** Callers that take tasks get one for an answer that may be longer, so that no connection is held for minutes. */
const longAnswerTokens = 1024;

export function llmGenerateTool(options: LlmGenerateOptions): Tool {
  return defineTool({
    name: "llm_generate",
    title: "Ask the local model",
    description:
      "Asks a small model on the owner's machine to summarise, classify or extract, also from files that you need not " +
      "read. It may be wrong.",
    scopes: ["llm:generate"],
    annotations: {
      title: "Ask the local model",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    aliases: generateAliases,
    knownAs: "llm_ask generate ask_llm ask_model chat complete ollama_generate ollama_chat local_llm",
    input: z.lazy(() => generateInput(options.models)),
    output: answerOutput,
    run: (input, context) => generate(options, input, context),
  });
}

async function generate(options: LlmGenerateOptions, input: GenerateInput, context: ToolContext): Promise<ToolOutcome> {
  const { models, model: local, clock, pace = defaultProgressPace } = options;
  const { json_schema: schema, max_tokens: maxTokens } = input;
  const problem = schema === undefined ? null : schemaProblem(schema);
  if (problem !== null) {
    return { ok: false, code: "invalid_request", message: `json_schema cannot be used: ${problem}.` };
  }
  const load = fileLoader(options.workspace, context.principal, local.maxPromptBytes - wordBytes(input));
  const question = await toQuestion(input, load);
  if (!question.ok) return { ok: false, ...question.error };
  if (maxTokens > longAnswerTokens) await context.handOut();

  const model = canonicalModel(input.model, models);
  const request = { model, ...toModelOptions(input) };
  const ask = (call: PrincipalCall): AsyncIterable<ModelEvent> =>
    "messages" in question.value
      ? local.chat({ ...request, ...question.value }, call)
      : local.generate({ ...request, ...question.value }, call);
  const answer = await followAnswer(
    (onWait) => ask({ ...callOf(context, input.options?.timeout_ms), onWait }),
    context,
    { maxTokens, pace, clock },
  );
  const call = { model, maxTokens };
  const cut = cutOf(answer, call);
  if (answer.failure !== null && cut === null) return toModelFailure(answer.failure, answer, call);
  if (schema === undefined) return toSuccess(answer, call, { problem: cut });
  const parsed = parseAnswer(answer.text, cut);
  return parsed.ok
    ? toSuccess(answer, call, { parsed: parsed.value, problem: cut })
    : toModelFailure(parsed.error, answer, call);
}

/** A prompt, or a conversation that ends with it. */
type Question =
  | { readonly prompt: string; readonly system?: string; readonly images?: readonly string[] }
  | { readonly messages: readonly ChatMessage[] };

async function toQuestion(
  { prompt, system, files, messages }: GenerateInput,
  load: LoadFiles,
): Promise<Result<Question, ToolFailure>> {
  const turns: ChatMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  for (const { role, content, files: named } of messages ?? []) {
    const loaded = await load(named);
    if (!loaded.ok) return loaded;
    turns.push({ role, content: withTexts(loaded.value.texts, content), ...imagesOf(loaded.value) });
  }
  const loaded = await load(files);
  if (!loaded.ok) return loaded;
  const last = { prompt: withTexts(loaded.value.texts, prompt), ...imagesOf(loaded.value) };
  if (messages === undefined) return success({ ...last, ...(system === undefined ? {} : { system }) });
  const { prompt: content, ...images } = last;
  return success({ messages: [...turns, { role: "user", content, ...images }] });
}

/** What the call brings itself, beside its files. */
function wordBytes({ prompt, system = "", messages = [], json_schema: schema }: GenerateInput): number {
  const format = schema === undefined ? "" : JSON.stringify(schema);
  const texts = [prompt, system, format, ...messages.map(({ content }) => content)];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function imagesOf({ images }: { readonly images: readonly string[] }): { readonly images?: readonly string[] } {
  return images.length === 0 ? {} : { images };
}

/** The answer as JSON; a failure that says why it is none. Ollama holds the model to the schema. */
function parseAnswer(text: string, cut: ToolFailure | null): Result<unknown, ToolFailure> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (cut === null) return failure(notJson("The model did not answer with JSON"));
    return failure({ code: "truncated", message: `The JSON is not complete. ${cut.message}` });
  }
  return measure(value, Infinity) === "deep"
    ? failure(notJson("The model's JSON is nested too deeply"))
    : success(value);
}

function notJson(what: string): ToolFailure {
  return { code: "model_failed", message: `${what}; describe the format in the prompt too, or use a larger model.` };
}

/** Levels: deeper than anything meant for people. */
const maxJsonDepth = 128;
/** Values of a schema. Ollama compiles it into a grammar, which is slow long before this. */
const maxSchemaValues = 10_000;

/** What makes a schema too large to be sent, or null. Whether it is a schema at all is for Ollama to judge. */
function schemaProblem(schema: unknown): string | null {
  switch (measure(schema, maxSchemaValues)) {
    case "deep":
      return `it has more than ${maxJsonDepth} levels`;
    case "large":
      return `it has more than ${maxSchemaValues} values`;
    case null:
      return null;
  }
}

/** Which bound a caller's or a model's JSON breaks, if any: asked before anything walks it by recursion. */
function measure(root: unknown, maxValues: number): "deep" | "large" | null {
  let level: readonly unknown[] = [root];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return "deep";
    values += level.length;
    if (values > maxValues) return "large";
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : []);
  }
  return null;
}

/** Spellings that people use and Ollama does not know, with the ones it does. */
const modelAliases: Readonly<Record<string, string>> = { tinylama: "tinyllama" };

/** The `model` parameter: one of the operator's models, the first by default; known misspellings are understood. */
function modelParameter(models: readonly [string, ...string[]]): z.ZodDefault<z.ZodString> {
  return z.string()
    .refine((name) => models.includes(canonicalModel(name, models)), `Use one of these models: ${models.join(", ")}`)
    .default(models[0])
    .meta({ description: "Name", enum: models }); // a transformation would hide both
}

/** The operator's name for a model. */
function canonicalModel(name: string, models: readonly string[]): string {
  const alias = Object.hasOwn(modelAliases, name) ? modelAliases[name] : undefined;
  return [name, alias].find((each) => each !== undefined && models.includes(each)) ??
    models.find((each) => isSameModel(each, name)) ?? name;
}

/** A name without a tag means `latest`. */
export function isSameModel(one: string, other: string): boolean {
  const untagged = (name: string): string => name.replace(/:latest$/, "");
  return untagged(one) === untagged(other);
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
function generateInput(models: readonly [string, ...string[]]) {
  return z.object({
    prompt: z.string().min(1).describe("Question"),
    files: filesParameter.describe("Text files, also in part (app.log:-200), or images, for it to read"),
    model: modelParameter(models),
    system: z.string().optional().describe("Role"),
    messages: z.array(turn).max(maxTurns).optional().describe("Earlier turns"),
    json_schema: z.preprocess(schemaOf, z.record(z.string(), z.unknown()).optional())
      // no client refuses it for want of properties (Gemini's do), and a list of tools needs none
      .describe("JSON Schema for an answer in JSON; {} for any").meta({ listedAs: "string" }),
    max_tokens: z.int().min(1).max(4096).default(512).describe("Of the answer").meta(clamped),
    options: options.optional().describe("Sampling, thinking, time"),
  });
}

/** Names that the parameters of `llm_generate` had before, or that callers guess. */
const generateAliases: Readonly<Record<string, Meaning>> = {
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

/** The schema alone, of what OpenAI's interface calls `response_format`, too. */
function schemaOf(value: unknown): unknown {
  if (value === "json") return {};
  if (!isObject(value)) return value;
  const { type, json_schema: named } = value;
  if (type === "json_schema" && isObject(named)) return named["schema"] ?? {};
  return type === "json_object" ? {} : type === "text" ? undefined : value;
}

type GenerateInput = z.output<ReturnType<typeof generateInput>>;

/** Options and format in the port's terms. */
function toModelOptions({ max_tokens: maxTokens, json_schema: schema, options = {} }: GenerateInput) {
  const { temperature, seed, top_p: topP, top_k: topK, stop, think, keep_alive: keepAliveSeconds } = options;
  const format: AnswerFormat | undefined = schema && Object.keys(schema).length === 0 ? "json" : schema;
  return {
    options: { maxTokens, ...present({ temperature, seed, topP, topK, stop }) },
    ...present({ format, think, keepAliveSeconds }),
  };
}
