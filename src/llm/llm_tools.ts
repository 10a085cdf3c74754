/** The tools of the local model: `llm_generate` asks it, `llm_models` lists what can be asked. */
import * as z from "zod";
import { clamped, contextWith, defineTool, emptyIsAbsent, otherNames, readingHints, saysNothing } from "../mcp/mod.ts";
import type { Meaning, Tool, ToolContext, ToolOutcome } from "../mcp/mod.ts";
import type { LocalModel } from "./local_model.ts";
import type { AnswerFormat, HostReport } from "./port.ts";
import { isSameModel, offerOf, parseAllowedModel, problemWords } from "./mod_settings.ts";
import { isObject, present } from "../lib/json.ts";
import type { Clock } from "../lib/time.ts";
import { failure, success } from "../lib/result.ts";
import { isPattern, matchingFiles, type WorkspaceSource } from "../files/mod.ts";
import { lazyObject } from "../lib/lazy_object.ts";
import {
  askQuestion,
  invalid,
  maxFiles,
  schemaProblem,
  textBlock,
  toOutcome,
  toQuestion,
  withoutScope,
} from "./ask.ts";
import type { Asking, ToolFailure } from "./ask.ts";

/** What every answer says in its `structuredContent`. */
const answerOutput = lazyObject(() => ({
  text: z.string().describe("What the model wrote"),
  thinking: z.string().optional().describe("What it thought before it answered, where the model reports that"),
  model: z.string(),
  done_reason: z.string().optional().describe("stop, or length when the answer was cut"),
  truncated: z.boolean().describe("The answer is incomplete; problem says why"),
  file_tokens: z.number().optional().describe("Tokens of files that the caller need not read, estimated"),
  answers: z.array(z.object({ file: z.string(), answer: z.unknown().optional(), problem: z.string().optional() }))
    .optional().describe("One for each file"),
  files_left: z.array(z.string()).optional().describe("Files that it did not come to"),
  problem: z.object({ code: z.string(), message: z.string() }).optional()
    .describe("Why the answer is incomplete, or is not what was asked for"),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  duration_ms: z.number(),
  load_ms: z.number(),
  tokens_per_second: z.number().optional(),
  parsed: z.unknown().optional().describe("The answer as JSON, when a json_schema was given"),
}));

interface LlmGenerateOptions {
  readonly model: LocalModel;
  /** The operator's allow list, as `LLM_MODELS` has it; without one, what the engine has. */
  readonly models: readonly string[] | undefined;
  readonly workspace: WorkspaceSource;
  /** Only differences are used; `performance.now` serves best. */
  readonly clock: Clock;
  readonly pace?: Asking["pace"];
}

/** `llm_generate` and `llm_models`. */
export function llmTools(options: LlmGenerateOptions): readonly Tool[] {
  return [llmGenerateTool(options), llmModelsTool(options)];
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
    annotations: { title: "Ask the local model", ...readingHints, idempotentHint: false },
    aliases: generateAliases,
    knownAs: "llm_ask generate ask_llm ask_model chat complete ollama_generate ollama_chat local_llm",
    input: z.lazy(() => z.preprocess(withPrompt, generateInput(options))),
    output: answerOutput,
    refresh: () => void options.model.recentReport(),
    follow(changed) {
      const shown = (): string => namesOf(options).join();
      let last = shown();
      options.model.onReport(() => {
        if (shown() === last) return;
        last = shown();
        changed();
      });
    },
    run: (input, context) => generate(options, input, context),
  });
}

const noKeepAlive = "[options.keep_alive has no effect: this model server decides how long a model stays in memory.]";

async function generate(options: LlmGenerateOptions, input: GenerateInput, context: ToolContext): Promise<ToolOutcome> {
  const outcome = await answer(options, input, context);
  const isIgnored = input.options?.keep_alive !== undefined && !options.model.host.isOllama;
  return isIgnored && outcome.ok ? { ...outcome, content: [...outcome.content, textBlock(noKeepAlive)] } : outcome;
}

async function answer(options: LlmGenerateOptions, input: GenerateInput, context: ToolContext): Promise<ToolOutcome> {
  const { model: local, clock, workspace, pace } = options;
  const { json_schema: schema, max_tokens: maxTokens, prompt, system, messages, files, each } = input;
  const problem = schemaProblem(schema);
  if (problem !== null) return { ok: false, ...invalid(`json_schema cannot be used: ${problem}.`) };
  const chosen = await chooseModel(options, input.model);
  if (!chosen.ok) return { ok: false, code: chosen.error.code, message: chosen.error.message };
  const asking: Asking = {
    local,
    request: { ...chosen.value, ...toModelOptions(input) },
    ...{ prompt, system, messages, pace, clock },
    wantsJson: schema !== undefined,
    timeoutMs: input.options?.timeout_ms,
  };
  const room = { workspace, maxTextBytes: local.maxPromptBytes - wordBytes(input) };
  if (each) {
    return files === undefined || files.length === 0
      ? { ok: false, ...invalid("each needs files: name them, or give a pattern.") }
      : await answerEach(asking, files, room, context);
  }
  const question = await toQuestion(asking, files, room, context);
  if (!question.ok) return { ok: false, ...question.error };
  if (maxTokens > longAnswerTokens) await context.handOut();
  return toOutcome(await askQuestion(asking, question.value, context), chosen.value.model);
}

/** What the call brings itself, beside its files. */
function wordBytes({ prompt, system = "", messages = [], json_schema: schema }: GenerateInput): number {
  const format = schema === undefined ? "" : JSON.stringify(schema);
  const texts = [prompt, system, format, ...messages.map(({ content }) => content)];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

// * One prompt for each of many files: a table of short answers, for a caller that need not read the files.

/** Files of one call, each with an answer of its own. */
const maxEachFiles = 100;
/** A directory is looked through for this long. */
const maxFindMs = 10_000;
/** Callers that take tasks get one for more files than this. */
const filesAtOnce = 3;
/** How often a file's own progress is told: the caller counts files. */
const eachPace = { flushMs: 10_000, flushCharacters: Infinity, waitingMs: 10_000 };

/** Failures after which the next file would fail as well; those of one file are in its row. */
const lastingCodes: ReadonlySet<string> = new Set([
  ...["cancelled", "client_time_limit", "server_stopping", "busy", "auth_required", "model_not_installed"],
  ...["ollama_unreachable", "host_not_found", "not_ollama", "forbidden_host"],
]);

interface Row {
  readonly file: string;
  readonly answer?: unknown;
  readonly problem?: string;
}

/** Answers for each file in turn. Stopped before its end, it gives what there is, and names the rest. */
async function answerEach(
  asking: Asking,
  files: readonly string[],
  room: Parameters<typeof toQuestion>[2],
  context: ToolContext,
): Promise<ToolOutcome> {
  const { local, clock, wantsJson, timeoutMs = Infinity, request: { model } } = asking;
  const named = await expand(files, room.workspace, context, clock);
  if (!named.ok) return { ok: false, ...named.error };
  const { names, isWhole } = named.value;
  if (names.length > filesAtOnce) await context.handOut();

  const startedAt = clock();
  const rows: Row[] = [];
  const spent = { files: 0, prompts: 0, answers: 0 };
  const part = contextWith(context, {
    // its progress counts as a part of its file
    progress: ({ progress, total = 1 }) =>
      context.progress({ progress: rows.length + Math.min(0.99, progress / total), total: names.length }),
  });
  let stopped: ToolFailure | null = null;
  while (rows.length < names.length && stopped === null) {
    const file = names[rows.length] ?? "";
    const question = await toQuestion(asking, [file], room, context);
    if (!question.ok) {
      rows.push({ file, problem: question.error.message });
      continue;
    }
    const leftMs = startedAt + local.totalMs - clock();
    const hurried = { ...asking, pace: eachPace, timeoutMs: Math.max(1, Math.min(timeoutMs, leftMs)) };
    const asked = await askQuestion(hurried, question.value, part);
    const { answer: { completion, pieces }, problem, failure } = asked;
    const reason = failure ?? problem;
    if (reason !== null && (lastingCodes.has(reason.code) || clock() - startedAt >= local.totalMs)) stopped = reason;
    if (failure !== null && stopped !== null) break;
    spent.files += asked.fileTokens;
    spent.prompts += completion.promptTokens ?? 0;
    spent.answers += completion.completionTokens ?? pieces;
    rows.push(toRow(file, asked));
    const message = `${rows.length} of ${names.length}: ${file}`;
    context.progress({ progress: rows.length, total: names.length, message });
  }
  const problem = stopped && { code: stopped.code, message: stopped.message };
  if (problem !== null && rows.length === 0) return { ok: false, ...problem };

  const left = names.slice(rows.length);
  const answered = rows.filter(({ problem }) => problem === undefined).length;
  const text = [
    `${answered} of ${names.length} files answered by ${model}; you did not have to read about ${spent.files} tokens of files.`,
    isWhole ? "" : `More files may match: at most ${maxEachFiles} that can be read are taken, so narrow the pattern.`,
    problem && `${problem.message} Left, for another call: ${left.join(", ") || "none"}`,
  ].filter((note) => note).join(" ");
  const shown = wantsJson ? `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]` : table(rows);
  const content = [textBlock(shown), textBlock(`[${text}]`)];
  const structuredContent = {
    ...{ text, model, truncated: problem !== null, answers: rows, file_tokens: spent.files },
    ...{ prompt_tokens: spent.prompts, completion_tokens: spent.answers, load_ms: 0 },
    duration_ms: Math.round(clock() - startedAt),
    ...(problem === null ? {} : { problem, files_left: left }),
  };
  if (problem === null || !context.signal.aborted) return { ok: true, content, structuredContent };
  const message = `${problem.message} What was answered by then follows.`;
  return { ok: false, code: problem.code, message, partial: { content, structuredContent } };
}

/** The files that names and patterns stand for, each once. */
async function expand(files: readonly string[], source: WorkspaceSource, context: ToolContext, clock: () => number) {
  if (!context.principal.scopes.has("files:read")) return failure(withoutScope);
  const workspace = source(context.principal);
  const deadline = clock() + maxFindMs;
  const names = new Set<string>();
  let isWhole = true;
  for (const file of files) {
    if (!isPattern(file)) {
      names.add(file);
      continue;
    }
    const isOver = (): boolean => clock() > deadline || context.signal.aborted;
    const found = await matchingFiles(workspace, file, { limit: maxEachFiles, isOver });
    if (found === null) return failure(invalid(`files has a pattern that cannot be used: ${file}`));
    if (found.names.length === 0) return failure(invalid(`No file matches ${file}: file_list shows what there is.`));
    for (const name of found.names) names.add(name);
    isWhole &&= found.isWhole;
  }
  const taken = [...names].slice(0, maxEachFiles);
  return success({ names: taken, isWhole: isWhole && taken.length === names.size });
}

function toRow(file: string, { answer, parsed, problem, failure }: Awaited<ReturnType<typeof askQuestion>>): Row {
  if (failure !== null) return { file, problem: failure.message };
  return { file, answer: parsed ?? answer.text.trim(), ...(problem === null ? {} : { problem: problem.message }) };
}

/** A line for each file, its name and its answer with a tab between; breaks within an answer become blanks. */
function table(rows: readonly Row[]): string {
  const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
  return rows.map(({ file, answer, problem }) => {
    const cells = [
      ...answer === undefined ? [] : [oneLine(String(answer))],
      ...problem === undefined ? [] : [`[${problem}]`],
    ];
    return `${file}\t${cells.join(" ")}`;
  }).join("\n");
}

/** Spellings that people use and Ollama does not know, with the ones it does. */
const modelAliases: ReadonlyMap<string, string> = new Map([["tinylama", "tinyllama"]]);

/** What is offered, by a report; `null` for an engine that was not asked yet, or cannot be. */
function offered({ models, model }: LlmGenerateOptions, report: HostReport | null) {
  return offerOf(models, model.host, report?.failure === undefined ? report?.installed ?? null : null);
}

/** The names that the list shows, as far as is known: never waits. */
function namesOf(options: LlmGenerateOptions): readonly [string, ...string[]] {
  return offered(options, options.model.known).names;
}

/** The `model` parameter, the first of the offered models by default; known misspellings are understood. */
function modelParameter(options: LlmGenerateOptions) {
  const allowed = options.models?.map((entry) => parseAllowedModel(entry).name);
  return z.string()
    .refine((name) => allowed === undefined || nameIn(allowed, name) !== undefined, {
      error: () => useOneOf(namesOf(options)),
    })
    .optional()
    .meta({
      description: "Name",
      // asked for with each list: a transformation would hide both
      get enum() {
        return namesOf(options);
      },
      get default() {
        return namesOf(options)[0];
      },
    });
}

function useOneOf(names: readonly string[]): string {
  return `Use one of these models: ${names.join(", ")}`;
}

/** The model to ask, with its context where the operator sets it. Without an allow list the engine says what it has. */
async function chooseModel(options: LlmGenerateOptions, asked: string | undefined) {
  const { models, model: local } = options;
  if (models !== undefined) {
    const allowed = models.map(parseAllowedModel);
    const name = nameIn(allowed.map((each) => each.name), asked ?? namesOf(options)[0]) ?? namesOf(options)[0];
    return success({
      model: name,
      ...present({ contextTokens: allowed.find((it) => it.name === name)?.contextTokens }),
    });
  }
  const look = (report: HostReport) => {
    const { names, isUsable, problem } = offered(options, report);
    return { report, names, name: asked === undefined ? names[0] : nameIn(names, asked), isUsable, problem };
  };
  let found = look(await local.recentReport());
  if (found.name === undefined) found = look(await local.report(new AbortController().signal)); // it may have come since
  const { report, names, name, isUsable, problem } = found;
  if (report.failure !== undefined && (name === undefined || local.host.isElsewhere)) return failure(report.failure);
  if (!isUsable && problem !== null) {
    return failure({ code: "model_not_installed", message: `There is no model to use: ${problemWords(problem)}.` });
  }
  if (name !== undefined) return success({ model: name }); // also of an engine that could not be asked: it may come yet
  const isRemote = report.installed.some((it) => it.isRemote === true && isSameModel(it.name, asked ?? ""));
  const why = isRemote ? `. ${asked} runs on another machine: only the operator can allow it, with LLM_MODELS` : "";
  return failure(invalid(`${useOneOf(names)}${why}`));
}

/** The name in the list that is meant, also in other letters, or with LiteLLM's word for the engine before it. */
function nameIn(names: readonly string[], asked: string): string | undefined {
  const name = asked.trim().toLowerCase().replace(/^ollama\//, "");
  return [asked, modelAliases.get(name)].find((each) => each !== undefined && names.includes(each)) ??
    names.find((each) => isSameModel(each, asked)) ?? names.find((each) => isSameModel(each.toLowerCase(), name));
}

const unitSeconds: ReadonlyMap<string, number> = new Map([["s", 1], ["m", 60], ["h", 3_600]]);

/** `10m`, as Ollama writes it, in seconds; anything else as it is. */
function durationSeconds(value: unknown): unknown {
  const [, count, unit = ""] = /^(\d{1,6})([smh])$/.exec(typeof value === "string" ? value : "") ?? [];
  return count === undefined ? value : Number(count) * (unitSeconds.get(unit) ?? 1);
}

/** Names and patterns of a call with an answer for each file. */
const maxEachNames = 100;

/** Names of files; a single one may come without its list. */
const filesParameter = z.lazy(() =>
  z.preprocess(
    (value) => typeof value === "string" ? [value] : value,
    z.array(z.string().min(1)).max(maxEachNames).optional(),
  )
).meta({ joined: true });

const optionNames = ["temperature", "seed", "top_p", "top_k", "stop", "think", "keep_alive", "timeout_ms"] as const;
const samplingOptions = z.lazy(() =>
  z.strictObject(
    {
      temperature: z.number().min(0).max(2).optional(),
      seed: z.int().optional(),
      top_p: z.number().min(0).max(1).optional(),
      top_k: z.int().min(1).max(1000).optional(),
      stop: z.array(z.string().min(1).max(200)).max(8).optional(),
      think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])], {
        error: "options.think must be true, false, low, medium, high or max",
      }).optional(),
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
function generateInput(options: LlmGenerateOptions) {
  return z.object({
    prompt: z.string().min(1).describe("Question"),
    files: filesParameter.describe("Text files, also in part (app.log:-200), or images, for it to read"),
    each: z.boolean().default(false).describe("An answer for each file; files takes patterns (mails/*.eml)").meta({
      flat: "absent",
    }),
    model: modelParameter(options),
    system: z.string().optional().describe("Role").meta(emptyIsAbsent),
    messages: z.array(turn).max(maxTurns).optional().describe("Earlier turns"),
    json_schema: z.preprocess(schemaOf, z.record(z.string(), z.unknown()).optional())
      // no client refuses it for want of properties (Gemini's do), and a list of tools needs none
      .describe("JSON Schema for an answer in JSON; {} for any").meta({ listedAs: "string" }),
    max_tokens: z.int().min(1).max(4096).default(512).describe("Of the answer").meta(clamped),
    options: samplingOptions.optional().describe("Sampling, thinking, time"),
  }).refine(({ each, files = [] }) => each || files.length <= maxFiles, {
    path: ["files"],
    error: `names at most ${maxFiles} files; leave some out, or set each to true`,
  });
}

/** Names that the parameters of `llm_generate` had before, or that callers guess. */
const generateAliases: Readonly<Record<string, Meaning>> = {
  ...otherNames({
    prompt: "question message input query text content user_prompt user_message",
    files: "images image file path filename paths file_path file_paths filenames attachments documents",
    json_schema: "format schema response_schema response_format output_schema output_format",
    system: "system_prompt system_message system_instruction instructions",
    messages: "history",
    model: "model_name model_id",
    max_tokens: "num_predict max_output_tokens max_new_tokens max_completion_tokens",
  }),
  stream: saysNothing,
  context: { instead: "put the text into prompt, or name its file in files" },
  json: { to: "json_schema", values: { true: {}, false: undefined } },
  role: { to: "role", values: { developer: "system", human: "user", ai: "assistant", model: "assistant" } },
  ...Object.fromEntries(optionNames.map((name) => [name, `options.${name}`])),
  stop_sequences: "options.stop",
  thinking: "options.think",
  reasoning_effort: { to: "options.think", values: { none: false, minimal: "low" } },
};

/** The schema alone, of what OpenAI's interface and llama.cpp's call `response_format`, too. */
function schemaOf(value: unknown): unknown {
  if (typeof value === "string") {
    return /^text$/i.test(value) ? undefined : /^json(?:_object)?$/i.test(value) ? {} : value;
  }
  if (!isObject(value)) return value;
  const { type, json_schema: named, name, schema = isObject(named) ? named["schema"] : undefined } = value;
  if (type === "text") return undefined;
  if (/^json(?:_object|_schema)?$/.test(String(type))) return schema ?? {};
  return type === undefined && typeof name === "string" && isObject(schema) ? schema : value;
}

/** Where there is no prompt, the last turn of the conversation asks, as in the interfaces of chats. */
function withPrompt(input: unknown): unknown {
  if (!isObject(input) || input["prompt"] !== undefined || !Array.isArray(input["messages"])) return input;
  const last: unknown = input["messages"].at(-1);
  if (!isObject(last) || last["role"] !== "user") return input;
  const files = [input["files"] ?? [], last["files"] ?? []].flat();
  const question = { prompt: last["content"], messages: input["messages"].slice(0, -1) };
  return { ...input, ...question, ...(files.length === 0 ? {} : { files }) };
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

// Which models there are: what the server has, compared with the operator's allow list.

const modelsReport = lazyObject(() => ({
  models: z.array(z.object({
    name: z.string().describe("What to pass as model"),
    installed: z.boolean(),
    loaded: z.boolean().describe("It is in memory, so that answers begin sooner"),
    allowed: z.boolean().describe("The operator allows calls of it"),
    parameter_size: z.string().optional(),
    capabilities: z.array(z.string()).optional(),
    context_tokens: z.number().optional().describe("Room for prompt and answer"),
  })),
  server: z.object({
    address: z.string(),
    ok: z.boolean(),
    problem: z.string().optional().describe("What to do about a server that cannot be used"),
  }),
}));

export type ModelsReport = z.infer<typeof modelsReport>;
type ModelEntry = ModelsReport["models"][number];

type DescribeModelsOptions = Pick<LlmGenerateOptions, "model" | "models">;

/** Asks the engine now. Models that agents may use come first, in the order in which they are offered. */
export async function describeModels(
  { model, models }: DescribeModelsOptions,
  signal: AbortSignal,
): Promise<ModelsReport> {
  const { failure, installed } = await model.report(signal);
  const set = models?.map(parseAllowedModel);
  const { names, isUsable, problem } = offerOf(models, model.host, installed);
  const allowed = set?.map(({ name }) => name) ?? (isUsable ? names : []);
  const others = installed.map(({ name }) => name).filter((name) => !allowed.some((it) => isSameModel(it, name)));
  return {
    models: [...allowed, ...others.sort()].map((name): ModelEntry => {
      const details = installed.find((it) => isSameModel(it.name, name));
      return {
        name,
        installed: details !== undefined,
        loaded: details?.isLoaded === true,
        allowed: allowed.includes(name),
        ...present({
          parameter_size: details?.parameterSize,
          capabilities: details?.capabilities?.slice(),
          context_tokens: set?.find((it) => it.name === name)?.contextTokens ?? details?.contextTokens,
        }),
      };
    }),
    server: {
      address: model.host.origin,
      ok: failure === undefined,
      ...present({ problem: failure?.message ?? (isUsable || problem === null ? null : problemWords(problem)) }),
    },
  };
}

export function llmModelsTool(options: DescribeModelsOptions): Tool {
  return defineTool({
    name: "llm_models",
    title: "List the local models",
    description: "Lists the models for llm_generate: installed, in memory, allowed.",
    scopes: ["llm:generate"],
    knownAs: "list_models models local_models ollama_list get_models",
    annotations: { title: "List the local models", ...readingHints },
    input: lazyObject(() => ({})),
    output: modelsReport,
    async run(_input, { signal }): Promise<ToolOutcome> {
      const described = await describeModels(options, signal);
      const { models, server: { ok, problem } } = described;
      if (!ok) return { ok: false, code: "ollama_unreachable", message: problem ?? "" };
      const lines = models.map((entry) => toLine(entry, options.model.host));
      return {
        ok: true,
        content: [{ type: "text", text: [...lines, ...problem === undefined ? [] : [`(${problem})`]].join("\n") }],
        structuredContent: { ...described },
      };
    },
  });
}

/** One line a model: what it can do, and whether it can be asked. */
function toLine(entry: ModelEntry, { isOllama }: LocalModel["host"]): string {
  const { name, installed, loaded, allowed, parameter_size: size, capabilities = [] } = entry;
  const about = [...size === undefined ? [] : [size], ...capabilities].join(", ");
  const missing = isOllama ? `missing: ollama pull ${name}` : "not there";
  const state = installed ? (loaded ? "installed, in memory" : "installed") : missing;
  return `${name}${about === "" ? "" : ` (${about})`}: ${state}${allowed ? "" : ", not allowed by the operator"}`;
}
