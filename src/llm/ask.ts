/** One question to a model: its files, what is sent, whether it fits, and the answer, asked once more where that helps. */
import type { ContentBlock, ToolContext, ToolOutcome } from "../mcp/mod.ts";
import { hasMoreParts, parseJson, present } from "../lib/json.ts";
import { counted, failure, type Result, success } from "../lib/result.ts";
import { fittingShare, largerContext, promptTooLong, quoteUpstream } from "./transport.ts";
import { isSameModel } from "./mod_settings.ts";
import type { LocalModel } from "./local_model.ts";
import type { ChatMessage, ModelCompletion, ModelRequest, OllamaFailure } from "./port.ts";
import {
  isPattern,
  parseFilePath,
  parseNamedParts,
  readTextPart,
  selectText,
  showName,
  sniffMedia,
  suggestNear,
  toFailure,
  toPathFailure,
} from "../files/mod.ts";
import type { FileContent, LineRequest, Outcome, Workspace, WorkspacePath, WorkspaceSource } from "../files/mod.ts";
import { callerKey, type Principal } from "../lib/principal.ts";
import type { Clock } from "../lib/time.ts";

/** What a call asks, apart from its files. */
export interface Asking {
  readonly local: LocalModel;
  /** Model, options and format in the port's terms. */
  readonly request: Omit<ModelRequest, "messages">;
  readonly prompt: string;
  readonly system?: string | undefined;
  readonly messages?: readonly (ChatMessage & { readonly files?: readonly string[] | undefined })[] | undefined;
  readonly wantsJson: boolean;
  readonly timeoutMs: number | undefined;
  /** Other than what suits the known clients. */
  readonly pace?: ProgressPace | undefined;
  readonly clock: Clock;
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
  { workspace, maxTextBytes }: { readonly workspace: WorkspaceSource; readonly maxTextBytes: number },
  { principal }: ToolContext,
) {
  const load = fileLoader(workspace, principal, maxTextBytes);
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
    const answer = await followAnswer(asking, { ...request, messages, ...think }, context);
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

/** Codes of calls that had to answer before the model was done. */
const hurriedCodes: ReadonlySet<string> = new Set(["client_time_limit", "server_stopping"]);

function toToolFailure(failed: OllamaFailure, { signal, answerNow }: ToolContext): ToolFailure {
  if (failed.code !== "cancelled" || !answerNow.aborted || signal.aborted) return failed;
  return answerNow.reason instanceof DOMException && answerNow.reason.name === "TimeoutError"
    ? { code: "client_time_limit", message: tooSlow }
    : { code: "server_stopping", message: "The server stops and could not wait for the model: try again in a minute." };
}

const tooSlow = "The model was not done in the time that this client waits for an answer: ask for less, lower " +
  "max_tokens, or try again when the model is loaded and less busy.";

/** What a model wrote, and how that ended. */
interface ModelAnswer {
  readonly text: string;
  readonly thinking: string;
  /** Empty for an answer that failed. */
  readonly completion: Omit<ModelCompletion, "type">;
  /** Why the answer ended early, if it did. */
  readonly failure: ToolFailure | null;
  /** Pieces that arrived: the number of tokens, when the model does not say it. */
  readonly pieces: number;
  readonly durationMs: number;
}

/**
 * Asks, reads the events to their end, and reports progress on the way. Turns go round the people, then round the
 * clients of each: two agents of one person do not starve each other.
 */
async function followAnswer(
  { local, timeoutMs, pace = defaultProgressPace, clock }: Asking,
  request: ModelRequest,
  context: ToolContext,
): Promise<ModelAnswer> {
  const { principal, signal, answerNow } = context;
  const start = clock();
  let [text, thinking, pieces] = ["", "", 0];
  const partsNow = () => separateThoughts(text, thinking !== "");
  const progress = startProgress(context, () => partsNow().text, request.options.maxTokens, pace);
  let completion: ModelAnswer["completion"] = {};
  let failed: ToolFailure | null = null;
  try {
    const events = local.ask(request, {
      signal: AbortSignal.any([signal, answerNow]),
      person: principal.subject,
      fairnessKey: callerKey(principal),
      ...(timeoutMs === undefined ? {} : { totalMs: timeoutMs }),
    });
    for await (const event of events) {
      if (event.type === "failed") failed = toToolFailure(event.failure, context);
      else if (event.type === "done") completion = event;
      else {
        const visible = withoutControls(event.text);
        text += visible;
        thinking += withoutControls(event.thinking);
        pieces += 1;
        progress.token(visible.length);
      }
    }
  } finally {
    progress.stop();
  }
  const parts = partsNow();
  return {
    text: parts.text.toWellFormed(),
    thinking: `${thinking}${parts.thinking}`.toWellFormed(),
    completion,
    failure: failed,
    pieces,
    durationMs: clock() - start,
  };
}

/**
 * Control characters have no meaning in an answer, but can take over a terminal that shows it. Characters that do not
 * show turn the direction of a text or are a text of their own, as tags are; joiners and the selectors of emoji stay.
 */
function withoutControls(text: string): string {
  return text.replace(/(?![\t\n\r\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, "");
}

// What a model thought, apart from what it answered, where the engine leaves both in one text.

/** How models mark their thoughts, at the beginning of what they write. */
const marks: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"], // DeepSeek, Qwen
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["<seed:think>", "</seed:think>"],
  ["[THINK]", "[/THINK]"], // Magistral
  ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>"], // gpt-oss, where no engine reads its channels
];

/**
 * The parts of an answer. Templates that begin the thoughts in the prompt leave their end alone; where the engine has
 * told the thoughts apart, `isApart`, such an end is a word of the answer.
 */
export function separateThoughts(text: string, isApart = false): { readonly text: string; readonly thinking: string } {
  const start = text.trimStart();
  for (const [open, close] of marks) {
    const isOpen = start.startsWith(open);
    const at = start.indexOf(close);
    if (at < 0 && isOpen) return { text: "", thinking: start.slice(open.length) }; // it was cut while it thought
    if (at < 0 || (!isOpen && (isApart || start.slice(0, at).includes(open)))) continue;
    const thinking = start.slice(isOpen ? open.length : 0, at).trim();
    return { text: start.slice(at + close.length).trimStart(), thinking };
  }
  return { text, thinking: "" };
}

// Answers in JSON: which schemas are sent, and the JSON in what a model wrote.

/** Values of a schema. Ollama compiles it into a grammar, which is slow long before this. */
const maxSchemaValues = 10_000;

/** What makes a schema too large to be sent, or null. Whether it is a schema at all is for the engine to judge. */
export function schemaProblem(schema: unknown): string | null {
  if (isDeep(schema)) return `it has more than ${maxJsonDepth} levels`;
  return hasMoreParts(schema, maxSchemaValues) ? `it has more than ${maxSchemaValues} values` : null;
}

/** The answer as JSON, with the text that it is in; a failure that says why it is none. */
export function parseAnswer(
  text: string,
  problem: ToolFailure | null,
): Result<{ readonly parsed: unknown; readonly text: string }, ToolFailure> {
  for (const candidate of candidates(text)) {
    const parsed = parseJson(candidate);
    if (parsed === undefined) continue; // the next one may be
    return isDeep(parsed)
      ? failure(notJson("The model's JSON is nested too deeply"))
      : success({ parsed, text: candidate });
  }
  if (problem === null) return failure(notJson("The model did not answer with JSON"));
  return failure({ code: "truncated", message: `The JSON is not complete. ${problem.message}` });
}

/**
 * The whole, what is in fences, the last first, since models repeat the form before they answer, and what is among
 * words: engines that know no schema leave the form to the model.
 */
function* candidates(text: string): Generator<string> {
  yield text;
  const fenced = text.split("```").slice(0, -1).filter((_, at) => at % 2 === 1);
  for (const each of fenced.reverse()) yield each.replace(/^json\b/i, "").trim();
  // from the outermost bracket on: an inner part of broken JSON is not the answer
  const start = text.search(/\{\s*["}]|\[\s*["{[\d\]-]/);
  const end = text.lastIndexOf(text[start] === "{" ? "}" : "]");
  if (start >= 0 && end > start) yield text.slice(start, end + 1);
}

function notJson(what: string): ToolFailure {
  return { code: "model_failed", message: `${what}; describe the format in the prompt too, or use a larger model.` };
}

/** Levels: deeper than anything meant for people. */
const maxJsonDepth = 128;

/** Whether a caller's or a model's JSON has more levels than {@link maxJsonDepth}: asked before anything walks it by recursion. */
function isDeep(root: unknown): boolean {
  let level: readonly unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return true;
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : []);
  }
  return false;
}

// Reports to the caller what the model has written so far, and a sign of life while nothing arrives, because clients
// give up on a silent call after a minute. `progress` counts tokens; the signs of life before the first one lie between
// 0 and 1, since each update must be greater than the last (MCP progress).

/** When updates are sent: so often, and for so many characters; and how often a sign of life. */
export interface ProgressPace {
  readonly flushMs: number;
  readonly flushCharacters: number;
  readonly waitingMs: number;
}

/** A pace that suits the known clients. */
export const defaultProgressPace: ProgressPace = { flushMs: 100, flushCharacters: 1024, waitingMs: 10_000 };

/** Starts reporting: the signs of life begin at once. What turns out to be thoughts, the answer begins anew after it. */
function startProgress(context: ToolContext, textNow: () => string, total: number, pace: ProgressPace) {
  let [tokens, sent, signs, pending, told] = [0, 0, 0, 0, ""];
  const showLife = (): void => {
    if (tokens > 0) return;
    signs += 1;
    context.progress({ progress: signs / (signs + 1), total, message: "waiting for the model" });
  };
  const flush = (): void => {
    if (tokens === sent) return;
    const text = textNow();
    const message = text.startsWith(told) ? text.slice(told.length) : text;
    [sent, pending, told] = [tokens, 0, text];
    context.progress({ progress: tokens, total: Math.max(total, tokens), ...(message === "" ? {} : { message }) });
  };
  const timers = [setInterval(flush, pace.flushMs), setInterval(showLife, pace.waitingMs)];
  return {
    /** One token, with the length of its visible text. The first is sent at once. */
    token(characters: number) {
      tokens += 1;
      pending += characters;
      if (tokens === 1 || pending >= pace.flushCharacters) flush();
    },
    /** Sends what is left and ends the timers. */
    stop() {
      for (const timer of timers) clearInterval(timer);
      flush();
    },
  };
}

// * Workspace files for a model: texts go into the prompt under their names, images beside it.

/** Files of one question, those of all its messages together. */
export const maxFiles = 16;
/** Images of one call. */
const maxImages = 8;
/** The tag around a text, twice, beside its name. */
const tagBytes = 64;
/** What Ollama's models look at. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** A text of the workspace. */
interface NamedText {
  /** As the caller wrote it. */
  readonly name: string;
  readonly text: string;
  readonly file: string;
  /** `null` where it is not known. */
  readonly startLine: number | null;
  /** Whether the last lines were asked for. */
  readonly isTail: boolean;
}

const contentsForName =
  "files takes names of workspace files, not what they hold: put the file into the workspace first.";

const wholeFile: LineRequest = {};

/** For one call: what it may read is counted over all that it loads, with the tags and names around it. */
function fileLoader(source: WorkspaceSource, principal: Principal, maxTextBytes: number) {
  let files = 0;
  let images = 0;
  let usedBytes = 0;

  const textOf = async (
    workspace: Workspace,
    path: WorkspacePath,
    whole: Outcome<FileContent>,
    lines: LineRequest,
  ): Promise<Result<Omit<NamedText, "name">, ToolFailure>> => {
    const file = showName(path.text);
    const notText = invalid(`${JSON.stringify(file)} is neither text nor a PNG, JPEG, WebP or GIF image.`);
    if (whole.ok && sniffMedia(whole.value.bytes) !== null) return failure(notText);
    const roomBytes = Math.max(0, maxTextBytes - usedBytes - tagBytes - Buffer.byteLength(file));
    const request = { lines, cursor: undefined, encoding: undefined, maxBytes: roomBytes + 1 };
    const read = whole.ok
      ? await selectText(whole.value, request)
      : whole.error.reason === "too_large"
      ? await readTextPart(workspace, path, request)
      : whole;
    if (!read.ok) {
      if (read.error.reason !== "not_text") return failure(toFailure("read file", path, read.error));
      return failure(whole.ok ? notText : toFailure("read file", path, whole.error)); // an image may be too large
    }
    const { content: text, next, isShort, totalLines, isWhole, startLine } = read.value;
    const part = { text, file, startLine, isTail: lines.tail !== undefined };
    // A text that was cut must not pass for the whole: the model would answer about a part of it.
    if (Buffer.byteLength(text) > roomBytes || next !== null || isShort) {
      const isCut = next !== null && !text.endsWith("\n"); // within a line
      const fitting = linesThatFit(part, roomBytes, isCut);
      const remedy = fitting === null
        ? `there is no room for ${file}: leave some out, or name lines of them; file_search shows parts of long lines`
        : `name lines that fit, such as ${fitting}`;
      return failure(invalid(`The files have more than ${Math.max(0, maxTextBytes)} bytes of text: ${remedy}.`));
    }
    if (text === "" && !isWhole) {
      const end = totalLines === null ? "" : `: it has ${counted(totalLines, "line")}`;
      return failure(invalid(`${file} has nothing at the lines that are asked for${end}.`));
    }
    usedBytes = maxTextBytes - roomBytes + Buffer.byteLength(text);
    return success(part);
  };

  /** The end of the name asks for a part only if no file has the whole name. */
  const load = async (workspace: Workspace, name: string): Promise<Result<NamedText | Uint8Array, ToolFailure>> => {
    let refusal = invalid("files must be names of files");
    if (/^data:|^[\w+/]{200,}=*$/.test(name)) return failure(invalid(contentsForName));
    for (const { filename, lines } of [{ filename: name, lines: wholeFile }, ...parseNamedParts(name)]) {
      const path = parseFilePath(filename);
      if (!path.ok) {
        refusal = toPathFailure("files", path.error);
        continue;
      }
      const whole = await workspace.read(path.value);
      const isImage = whole.ok && imageTypes.has(sniffMedia(whole.value.bytes)?.mimeType ?? "");
      if (isImage && lines === wholeFile) return success(whole.value.bytes);
      const text = await textOf(workspace, path.value, whole, lines);
      if (text.ok) return success({ name: showName(name), ...text.value });
      refusal = isPattern(name) && text.error.code === "not_found"
        ? invalid(`No file is named ${showName(name)}: set each to true for an answer to each file that it matches.`)
        : await suggestNear(workspace, path.value, text.error, { isFile: true });
      if (text.error.code !== "not_found") break;
    }
    return failure(refusal);
  };

  /** Files as a model gets them: images in Base64. */
  return async (names: readonly string[] = []) => {
    const loaded = { texts: [] as NamedText[], images: [] as string[] };
    if (names.length === 0) return success(loaded);
    if (!principal.scopes.has("files:read")) return failure(withoutScope);
    files += names.length;
    if (files > maxFiles) {
      return failure(
        invalid(`A call may name ${maxFiles} files; leave some out, or set each to true for an answer to each.`),
      );
    }
    const workspace = source(principal);
    for (const name of names) {
      const file = await load(workspace, name);
      if (!file.ok) return file;
      if ("name" in file.value) loaded.texts.push(file.value);
      else loaded.images.push(file.value.toBase64());
    }
    images += loaded.images.length;
    return images > maxImages
      ? failure(invalid(`A call may hold ${maxImages} images; leave some out.`))
      : success(loaded);
  };
}

/** A name for the lines of a text that fit, at its beginning or, of the last lines, at its end; `null` for none. */
function linesThatFit({ text, file, startLine, isTail }: Omit<NamedText, "name">, roomBytes: number, isCut = false) {
  const lines = text.split(/(?<=\n)/);
  if (!isTail && isCut) lines.pop();
  let sizeBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  while (sizeBytes > roomBytes) sizeBytes -= Buffer.byteLength((isTail ? lines.shift() : lines.pop()) ?? "");
  if (sizeBytes === 0) return null;
  return isTail || startLine === null
    ? `${file}:-${lines.length}`
    : `${file}:${startLine}-${startLine + lines.length - 1}`;
}

/** Lines of the first text that does not fit whole into a share of all their bytes; `undefined` where there are none. */
function exampleThatFits(texts: readonly NamedText[], share: number): string | undefined {
  let roomBytes = share * texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  for (const text of texts) {
    const sizeBytes = Buffer.byteLength(text.text);
    if (sizeBytes > roomBytes) return linesThatFit(text, roomBytes) ?? undefined;
    roomBytes -= sizeBytes;
  }
  return undefined;
}

/** Why no file can be read. */
export const withoutScope: ToolFailure = {
  code: "insufficient_scope",
  message: "Reading workspace files needs the scope files:read: connect again and allow it, or leave out files.",
};

/** A refusal or a failure, in words for the caller. */
export interface ToolFailure extends Pick<OllamaFailure, "tooLong"> {
  readonly code: string;
  readonly message: string;
}

/** The refusal of what a call asks. */
export function invalid(message: string): ToolFailure {
  return { code: "invalid_request", message };
}
