/** The tool `llm_generate`: a prompt in, a local model's text out, token by token for callers that watch. */
import * as z from "zod";
import type { Clock } from "../lib/time.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import type { ChatMessage, LocalModel, ModelEvent, PrincipalCall } from "./port.ts";
import type { WorkspaceSource } from "../files/mod.ts";
import { answerOutput, callOf, cutOf, followAnswer, toModelFailure, type ToolFailure, toSuccess } from "./answer.ts";
import { fileLoader, type LoadFiles, withTexts } from "./files.ts";
import { canonicalModel, generateAliases, type GenerateInput, generateInput, toModelOptions } from "./input.ts";
import { defaultProgressPace, type ProgressPace } from "./progress.ts";

// Bounds of JSON that a caller or a model wrote, checked before anything walks it by recursion.

/** Levels: deeper than anything meant for people. */
const maxJsonDepth = 128;
/** Values of a schema. Ollama compiles it into a grammar, which is slow long before this. */
const maxSchemaValues = 10_000;

function isTooDeep(value: unknown): boolean {
  return measure(value, Infinity) === "deep";
}

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
  return isTooDeep(value) ? failure(notJson("The model's JSON is nested too deeply")) : success(value);
}

function notJson(what: string): ToolFailure {
  return { code: "model_failed", message: `${what}; describe the format in the prompt too, or use a larger model.` };
}
