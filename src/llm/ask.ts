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
import type { LocalModel } from "./local_model.ts";
import type { ChatMessage, ModelRequest } from "./port.ts";

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

/** No tokenizer joins words, and hardly any token is longer than this many characters. */
const charactersOfLongTokens = 64;
/** Scripts without blanks between words: few tokens are longer than this many of their characters. */
const charactersOfDenseTokens = 4;
const dense = /[\u3040-\u9fff\uac00-\ud7af]/g;

/** Tokens that a text has at least, whatever the model. */
function leastTokens(text: string): number {
  let tokens = Math.floor((text.match(dense)?.length ?? 0) / charactersOfDenseTokens);
  for (const [word] of text.matchAll(/\S+/g)) tokens += Math.ceil(word.length / charactersOfLongTokens);
  return tokens;
}

/** Prompts of fewer bytes fit into the context of every model. */
const smallPromptBytes = 1_024;
/** Of a text of any kind, bytes to a token at least: for the lines that are named as fitting. */
const cautiousBytesPerToken = 3;

/** Asks the question, once more without thinking where thoughts took the place of the JSON. */
export async function askQuestion(asking: Asking, question: Question, context: AnswerContext): Promise<Answered> {
  const { local: { host }, request: { model, options, think }, wantsJson } = asking;
  const { texts, leastTokens } = question;
  const call = { model, maxTokens: options.maxTokens, isOllama: host.isOllama, leastTokens };
  const fileTokens = Math.ceil(texts.reduce((sum, { text }) => sum + text.length, 0) / charactersPerToken);
  const answered = (answer: ModelAnswer, rest: Partial<Answered>): Answered => ({
    ...{ answer, call, fileTokens, problem: null, failure: null },
    ...rest,
  });
  const contextTokens = await knownContext(asking, question);
  if (contextTokens !== undefined && leastTokens >= contextTokens) {
    const lengths = { promptTokens: leastTokens, contextTokens };
    const room = fittingShare({ promptTokens: question.bytes, contextTokens });
    const example = exampleThatFits(texts, Math.min(fittingShare(lengths), cautiousBytesPerToken * room));
    return answered(nothing, { failure: promptTooLong(lengths, host, model, { example, isEstimate: true }) });
  }
  const ask = async (think: ModelRequest["think"]): Promise<Answered> => {
    const answer = await follow(asking, question, think, context);
    const problem = problemOf(answer, call);
    if (answer.failure !== null && problem === null) {
      const { tooLong } = answer.failure;
      const example = tooLong && exampleThatFits(texts, fittingShare(tooLong));
      return answered(answer, { failure: example ? promptTooLong(tooLong, host, model, { example }) : answer.failure });
    }
    if (!wantsJson) return answered(answer, { problem });
    const parsed = parseAnswer(answer.text, problem);
    return parsed.ok
      ? answered({ ...answer, text: parsed.value.text }, { parsed: parsed.value.value, problem })
      : answered(answer, { failure: parsed.error });
  };

  const first = await ask(think);
  const hasThought = first.answer.failure === null && first.answer.thinking !== "";
  if (first.failure === null || !hasThought || think === false) return first;
  const second = await ask(false);
  return second.failure === null ? second : first;
}

const nothing: ModelAnswer = {
  ...{ text: "", thinking: "", pieces: 0, durationMs: 0 },
  completion: { type: "done" },
  failure: null,
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

/** As the operator or the engine says it; the engine is asked only where the prompt is long enough to matter. */
async function knownContext(
  { local, request: { model, contextTokens } }: Asking,
  { bytes }: Question,
): Promise<number | undefined> {
  if (contextTokens !== undefined || bytes < smallPromptBytes) return contextTokens;
  const { installed } = await local.recentReport();
  return installed.find(({ name }) => isSameModel(name, model))?.contextTokens;
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
