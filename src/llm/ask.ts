/** One question to a model: what is sent, whether it fits, and the answer, asked once more where that helps. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { type ContentBlock, contextWith, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { present } from "../lib/json.ts";
import { failure, success } from "../lib/result.ts";
import { followAnswer, hurriedCodes, parseAnswer } from "./answer.ts";
import type { FollowOptions, ModelAnswer, ToolFailure } from "./answer.ts";
import { fittingShare, largerContext, promptTooLong, quoteUpstream } from "./transport.ts";
import { exampleThatFits, fileLoader, invalid, type LoadFiles, type NamedText, withoutScope } from "./files.ts";
import { isSameModel } from "./mod_settings.ts";
import type { LocalModel } from "./local_model.ts";
import type { ChatMessage, ModelRequest } from "./port.ts";
import { isPattern, matchingFiles, workspaceOf, type WorkspaceSource } from "../files/mod.ts";

/** What a call asks, apart from its files. */
export interface Asking extends FollowOptions {
  readonly local: LocalModel;
  /** Model, options and format in the port's terms. */
  readonly request: Omit<ModelRequest, "messages">;
  readonly prompt: string;
  readonly system?: string | undefined;
  readonly messages?: readonly (ChatMessage & { readonly files?: readonly string[] | undefined })[] | undefined;
  readonly wantsJson: boolean;
}

/** The answer to one question. */
interface Answered {
  readonly answer: ModelAnswer;
  /** The JSON, where it was asked for. */
  readonly parsed?: unknown;
  /** Why the answer is not what it should be. */
  readonly problem: ToolFailure | null;
  /** Why there is none that can be used. */
  readonly failure: ToolFailure | null;
  /** Of the files that were read. */
  readonly fileTokens: number;
}

/** Characters of usual text to a token: for what a caller was spared, not for what fits. */
const charactersPerToken = 4;

/** What is asked, its files included. */
type Question = Extract<Awaited<ReturnType<typeof toQuestion>>, { readonly ok: true }>["value"];

/** Reads the files, and puts them before the prompt. */
export async function toQuestion(
  { prompt, system, messages: earlier = [] }: Asking,
  files: readonly string[] | undefined,
  load: LoadFiles,
) {
  const messages: ChatMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  const texts: NamedText[] = [];
  for (const { role, content, files: named } of [...earlier, { role: "user" as const, content: prompt, files }]) {
    const loaded = await load(named);
    if (!loaded.ok) return loaded;
    const { images } = loaded.value;
    texts.push(...loaded.value.texts);
    messages.push({
      role,
      content: withTexts(loaded.value.texts, content),
      ...(images.length === 0 ? {} : { images }),
    });
  }
  return success({
    messages,
    texts,
    leastTokens: messages.reduce((sum, { content }) => sum + leastTokens(content), 0),
    bytes: messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0),
  });
}

/** No tokenizer joins words, and hardly any token is longer than this many characters. */
const charactersOfLongTokens = 64;
/** Scripts without blanks between words: few tokens are longer than this many of their characters. */
const charactersOfDenseTokens = 4;
/** Runs of letters, with other characters between, of which hardly any token has more. */
const runsOfToken = 2;
const dense = /[\u3040-\u9fff\uac00-\ud7af]/g;

/** Tokens that a text has at least, whatever the model. */
function leastTokens(text: string): number {
  let tokens = Math.floor((text.match(dense)?.length ?? 0) / charactersOfDenseTokens);
  for (const [word] of text.matchAll(/\S+/g)) {
    const runs = word.match(/[\p{L}\p{M}\p{Cf}]+/gu)?.length ?? 0; // minified JSON and code have no blanks
    tokens += Math.max(Math.ceil(word.length / charactersOfLongTokens), Math.ceil(runs / runsOfToken));
  }
  return tokens;
}

/** Prompts of fewer bytes fit into the context of every model. */
const smallPromptBytes = 1_024;
/** Of a text of any kind, bytes to a token at least: for the lines that are named as fitting. */
const cautiousBytesPerToken = 3;

/** Asks the question, once more without thinking where thoughts took the place of the JSON. */
export async function askQuestion(asking: Asking, question: Question, context: ToolContext): Promise<Answered> {
  const { local, request, wantsJson } = asking;
  const { messages, texts, leastTokens, bytes } = question;
  const fileTokens = Math.ceil(texts.reduce((sum, { text }) => sum + text.length, 0) / charactersPerToken);
  const contextTokens = await knownContext(asking, bytes);
  if (contextTokens !== undefined && leastTokens >= contextTokens) {
    const lengths = { promptTokens: leastTokens, contextTokens };
    const room = fittingShare({ promptTokens: bytes, contextTokens });
    const example = exampleThatFits(texts, Math.min(fittingShare(lengths), cautiousBytesPerToken * room));
    const failure = promptTooLong(lengths, local.host, request.model, { example, isEstimate: true });
    return { answer: nothing, problem: null, failure, fileTokens };
  }
  const ask = async (think: Pick<ModelRequest, "think">): Promise<Answered> => {
    const answer = await followAnswer(local, { ...request, messages, ...think }, context, asking);
    const problem = problemOf(answer, asking, leastTokens);
    const answered = { answer, problem, failure: null, fileTokens };
    if (answer.failure !== null && problem === null) {
      const { tooLong } = answer.failure;
      const example = tooLong && exampleThatFits(texts, fittingShare(tooLong));
      const failure = example ? promptTooLong(tooLong, local.host, request.model, { example }) : answer.failure;
      return { ...answered, failure };
    }
    if (!wantsJson) return answered;
    const found = parseAnswer(answer.text, problem);
    if (!found.ok) return { ...answered, problem: null, failure: found.error };
    const { parsed, text } = found.value;
    return { ...answered, answer: { ...answer, text }, parsed };
  };

  const first = await ask({});
  const hasThought = first.answer.failure === null && first.answer.thinking !== "";
  if (first.failure === null || !hasThought || request.think === false) return first;
  const second = await ask({ think: false });
  return second.failure === null ? second : first;
}

const nothing: ModelAnswer = { text: "", thinking: "", completion: {}, failure: null, pieces: 0, durationMs: 0 };

/** As the operator or the engine says it; the engine is asked only where the prompt is long enough to matter. */
async function knownContext({ local, request: { model, contextTokens } }: Asking, bytes: number) {
  if (contextTokens !== undefined || bytes < smallPromptBytes) return contextTokens;
  const { installed } = await local.recentReport();
  return installed.find(({ name }) => isSameModel(name, model))?.contextTokens;
}

/** Problems of answers that are about a part, or end before they are whole. */
const cutCodes: ReadonlySet<string> = new Set([
  ...["prompt_cut", "context_full", "max_tokens", "ended_early", "truncated"],
]);

/** Of the tokens that a prompt must have, what an engine that read it whole counts: a margin for odd tokens. */
const readShare = 0.8;

/** Why an answer is not what it should be, though it came; null for one that is, that failed, or that never began. */
function problemOf(answer: ModelAnswer, { request, local }: Asking, leastTokens: number): ToolFailure | null {
  const { completion, failure, text, thinking } = answer;
  if (failure !== null) return hurriedCodes.has(failure.code) && !isEmpty(answer) ? failure : null;
  const { model, options: { maxTokens } } = request;
  const { doneReason = "", promptTokens = 0, completionTokens = maxTokens } = completion;
  const isSilent = text.trim() === "";
  const onlyThought = isSilent && thinking !== "";
  const larger = largerContext(local.host.isOllama, model);
  if (promptTokens > 0 && promptTokens < readShare * leastTokens) {
    const message = `The model read ${promptTokens} tokens of a prompt that has at least ${leastTokens}: the engine ` +
      `cut the rest, so the answer is about a part. Shorten the prompt. ${larger}`;
    return { code: "prompt_cut", message };
  }
  const isCut = /^(?:length|max_tokens)$/.test(doneReason);
  if (isCut && completionTokens < maxTokens) {
    const message = `The answer was cut where the context of ${model} was full: shorten the prompt, or ask for ` +
      `the rest in another call. ${larger}`;
    return { code: "context_full", message };
  }
  if (isCut) {
    const only = onlyThought ? " while the model was still thinking" : "";
    const remedy = onlyThought
      ? "raise max_tokens, or set options.think to false"
      : "raise max_tokens, or ask for the rest in another call";
    const message = `The answer was cut at max_tokens (${maxTokens})${only}: ${remedy}.`;
    return { code: "max_tokens", message };
  }
  if (/abort|cancel|error|filter|unload/i.test(doneReason)) {
    const message = `The model server ended the answer early (${quoteUpstream(doneReason)}); try again.`;
    return { code: "ended_early", message };
  }
  if (onlyThought) {
    const message = "The model only thought and gave no answer: set options.think to false, raise max_tokens, or use " +
      "another model.";
    return { code: "only_thoughts", message };
  }
  const message = /^(?:tool_calls|function_call)$/.test(doneReason)
    ? "The model called a tool, and it has none: ask for the answer in words, or use another model."
    : "The model wrote nothing: shorten the prompt, or use another model.";
  return isSilent ? { code: "empty_answer", message } : null;
}

function isEmpty({ text, thinking }: ModelAnswer): boolean {
  return text === "" && thinking === "";
}

/** What every answer says in its `structuredContent`. */
export const answerOutput = lazyObject(() => ({
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

/** The answer to a call's only question: what was written is never lost, and a `problem` is part of the text too. */
export function toOutcome({ answer, parsed, problem, failure, fileTokens }: Answered, model: string): ToolOutcome {
  const { text, thinking, completion, pieces, durationMs } = answer;
  const { doneReason, promptTokens = 0, completionTokens = pieces, loadMs = 0, evaluationMs = 0 } = completion;
  const reason = failure ?? problem;
  const structuredContent = {
    text,
    model,
    truncated: answer.failure !== null || cutCodes.has(reason?.code ?? ""),
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    duration_ms: Math.round(durationMs),
    load_ms: Math.round(loadMs),
    ...present({
      thinking: thinking || undefined,
      done_reason: doneReason,
      problem: reason && { code: reason.code, message: reason.message },
      tokens_per_second: evaluationMs > 0 ? Math.round(completionTokens / evaluationMs * 1e5) / 100 : undefined,
    }),
  };
  const shown = text.trim() === "" && thinking !== "" ? `The model had only thought so far:\n${thinking}` : text;
  if (failure === null) {
    return {
      ok: true,
      content: [shown, ...problem === null ? [] : [`[${problem.message}]`]].map(textBlock),
      structuredContent: {
        ...structuredContent,
        ...(parsed === undefined ? {} : { parsed }),
        ...(fileTokens === 0 ? {} : { file_tokens: fileTokens }),
      },
    };
  }
  const { code, message } = failure;
  if (isEmpty(answer)) return { ok: false, code, message };
  const partial = { content: [textBlock(shown)], structuredContent };
  return { ok: false, code, message: `${message} What the model wrote follows.`, partial };
}

export function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

/** The prompt after the texts, each in a tag that none of them closes. */
function withTexts(texts: readonly NamedText[], prompt: string): string {
  if (texts.length === 0) return prompt;
  let tag = "file";
  for (const { text } of texts) {
    for (const [, name = ""] of text.matchAll(/<\/(file_*)/g)) if (name.length >= tag.length) tag = `${name}_`;
  }
  const blocks = texts.map(({ name, text }) => {
    const end = text.endsWith("\n") ? "" : "\n";
    return `<${tag} name=${JSON.stringify(name)}>\n${text}${end}</${tag}>\n`;
  });
  return `${blocks.join("\n")}\n${prompt}`;
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
export async function answerEach(
  asking: Asking,
  files: readonly string[],
  { workspace, maxTextBytes }: { readonly workspace: WorkspaceSource; readonly maxTextBytes: number },
  context: ToolContext,
): Promise<ToolOutcome> {
  const { local, clock, wantsJson, timeoutMs = Infinity, request: { model } } = asking;
  const named = await expand(files, workspace, context, clock);
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
    const question = await toQuestion(asking, [file], fileLoader(workspace, context.principal, maxTextBytes));
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
  const workspace = workspaceOf(source, context.principal);
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

function toRow(file: string, { answer, parsed, problem, failure }: Answered): Row {
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
