/** One question to a model: what is sent, whether it fits, and the answer, asked once more where that helps. */
import type { ToolOutcome } from "../mcp/mod.ts";
import { type Result, success } from "../lib/result.ts";
import {
  type AnswerContext,
  type AnsweredCall,
  callOf,
  followAnswer,
  type ModelAnswer,
  problemOf,
  type ProgressPace,
  toModelFailure,
  type ToolFailure,
  toSuccess,
} from "./answer.ts";
import { fittingShare, promptTooLong } from "./failure.ts";
import { exampleThatFits, type LoadFiles, type NamedText, withTexts } from "./files.ts";
import { parseAnswer } from "./json_answer.ts";
import { isSameModel } from "./mod_settings.ts";
import type { Clock } from "../lib/time.ts";
import type { ChatMessage, LocalModel, ModelRequest } from "./port.ts";

/** What a call asks, apart from its files. */
export interface Asking {
  readonly local: LocalModel;
  /** Model, options and format in the port's terms. */
  readonly request: Omit<ModelRequest, "messages">;
  readonly prompt: string;
  readonly system?: string | undefined;
  readonly messages?: readonly (ChatMessage & { readonly files?: readonly string[] | undefined })[] | undefined;
  readonly wantsJson: boolean;
  readonly timeoutMs?: number | undefined;
  /** What the answer should say beside what was asked. */
  readonly notes: readonly string[];
  readonly pace: ProgressPace;
  readonly clock: Clock;
}

/** The answer to one question. */
export interface Answered {
  readonly answer: ModelAnswer;
  readonly call: AnsweredCall;
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
interface Question extends Pick<ModelRequest, "messages"> {
  readonly texts: readonly NamedText[];
  readonly leastTokens: number;
  readonly bytes: number;
}

/** Reads the files, and puts them before the prompt. */
export async function toQuestion(
  { prompt, system, messages: earlier = [] }: Asking,
  files: readonly string[] | undefined,
  load: LoadFiles,
): Promise<Result<Question, ToolFailure>> {
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

/** No tokenizer joins words, and few tokens are longer than this many characters. */
const charactersOfLongTokens = 32;

/** Tokens that a text has at least, whatever the model. */
function leastTokens(text: string): number {
  let tokens = 0;
  for (const [word] of text.matchAll(/\S+/g)) tokens += Math.ceil(word.length / charactersOfLongTokens);
  return tokens;
}

/** Prompts of fewer bytes fit into the context of every model. */
const smallPromptBytes = 1_024;
/** Of a text of any kind, bytes to a token at least: for the lines that are named as fitting. */
const cautiousBytesPerToken = 3;

/** Asks the question, once more without thinking where thoughts took the place of the JSON. */
export async function askQuestion(asking: Asking, question: Question, context: AnswerContext): Promise<Answered> {
  const { local, request, wantsJson } = asking;
  const call = {
    model: request.model,
    maxTokens: request.options.maxTokens,
    isOllama: local.host.isOllama,
    leastTokens: question.leastTokens,
  };
  const fileTokens = Math.ceil(question.texts.reduce((sum, { text }) => sum + text.length, 0) / charactersPerToken);
  const failing = (answer: ModelAnswer, failure: ToolFailure): Answered => ({
    answer,
    call,
    problem: null,
    failure,
    fileTokens,
  });
  const contextTokens = request.contextTokens ?? await knownContext(local, request.model, question.bytes);
  if (contextTokens !== undefined && question.leastTokens >= contextTokens) {
    return failing(nothing, refuseLength(asking, question, contextTokens));
  }
  const ask = async (think: ModelRequest["think"]): Promise<Answered> => {
    const answer = await follow(asking, question, think, context);
    const problem = problemOf(answer, call);
    if (answer.failure !== null && problem === null) {
      return failing(answer, explainLength(answer.failure, asking, question));
    }
    if (!wantsJson) return { answer, call, problem, failure: null, fileTokens };
    const parsed = parseAnswer(answer.text, problem);
    if (!parsed.ok) return failing(answer, parsed.error);
    const { value, text } = parsed.value;
    return { answer: { ...answer, text }, call, parsed: value, problem, failure: null, fileTokens };
  };

  const first = await ask(request.think);
  const hasThought = first.answer.failure === null && first.answer.thinking !== "";
  if (first.failure === null || !hasThought || request.think === false) return first;
  const second = await ask(false);
  return second.failure === null ? second : first;
}

const nothing: ModelAnswer = {
  text: "",
  thinking: "",
  completion: { type: "done" },
  failure: null,
  pieces: 0,
  durationMs: 0,
};

function follow(
  { local, request, timeoutMs, pace, clock }: Asking,
  { messages }: Question,
  think: ModelRequest["think"],
  context: AnswerContext,
): Promise<ModelAnswer> {
  const asked = { ...request, messages, ...(think === undefined ? {} : { think }) };
  return followAnswer(
    (onWait) => local.ask(asked, { ...callOf(context, timeoutMs), onWait }),
    context,
    { maxTokens: request.options.maxTokens, pace, clock },
  );
}

/** What the engine says of the model; it is asked only where the prompt is long enough to matter. */
async function knownContext(local: LocalModel, model: string, promptBytes: number): Promise<number | undefined> {
  if (promptBytes < smallPromptBytes) return undefined;
  const { installed } = await local.recentReport();
  return installed.find(({ name }) => isSameModel(name, model))?.contextTokens;
}

function refuseLength(
  { local: { host }, request: { model } }: Asking,
  question: Question,
  contextTokens: number,
): ToolFailure {
  const lengths = { promptTokens: question.leastTokens, contextTokens };
  const share = Math.min(
    fittingShare(lengths),
    cautiousBytesPerToken * fittingShare({ promptTokens: question.bytes, contextTokens }),
  );
  const example = exampleThatFits(question.texts, share);
  return promptTooLong(lengths, host, model, { isEstimate: true, ...(example === undefined ? {} : { example }) });
}

/** A refusal of the engine, with lines of the caller's own files that fit. */
function explainLength(
  failed: ToolFailure,
  { local: { host }, request: { model } }: Asking,
  question: Question,
): ToolFailure {
  if (failed.tooLong === undefined) return failed;
  const example = exampleThatFits(question.texts, fittingShare(failed.tooLong));
  return example === undefined ? failed : promptTooLong(failed.tooLong, host, model, { example });
}

/** The answer to a call's only question. */
export function toOutcome(
  { answer, call, parsed, problem, failure: failed, fileTokens }: Answered,
  notes: readonly string[],
): ToolOutcome {
  return failed === null
    ? toSuccess(answer, call, { parsed, problem, fileTokens, notes })
    : toModelFailure(failed, answer, call);
}
