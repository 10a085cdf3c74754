/** Collects a model's output into one answer, whole or partial. */
import * as z from "zod";
import { callerKey } from "../lib/principal.ts";
import type { Clock } from "../lib/time.ts";
import type { ContentBlock, ProgressUpdate, ToolContext, ToolOutcome } from "../mcp/mod.ts";
import { largerContext, type OllamaFailure } from "./failure.ts";
import type { CallsAhead, ModelCompletion, ModelEvent, ModelFailed, PrincipalCall } from "./port.ts";

/** A refusal or a failure, in words for the caller. */
export interface ToolFailure extends Pick<OllamaFailure, "tooLong"> {
  readonly code: string;
  readonly message: string;
}

/** What a question needs of its caller. */
export type AnswerContext = Pick<ToolContext, "principal" | "signal" | "answerNow" | "progress">;

/** Turns go round the people, then round the clients of each: two agents of one person do not starve each other. */
export function callOf(context: AnswerContext, timeoutMs: number | undefined): PrincipalCall {
  const { principal, signal, answerNow } = context;
  return {
    signal: AbortSignal.any([signal, answerNow]),
    person: principal.subject,
    fairnessKey: callerKey(principal),
    ...(timeoutMs === undefined ? {} : { totalMs: timeoutMs }),
  };
}

/** Codes of calls that had to answer before the model was done. */
const hurriedCodes: ReadonlySet<string> = new Set(["client_time_limit", "server_stopping"]);

function toToolFailure({ code, message, tooLong }: ModelFailed["failure"], context: AnswerContext): ToolFailure {
  const { signal, answerNow } = context;
  if (code !== "cancelled" || !answerNow.aborted || signal.aborted) {
    return { code, message, ...(tooLong && { tooLong }) };
  }
  return answerNow.reason instanceof DOMException && answerNow.reason.name === "TimeoutError"
    ? { code: "client_time_limit", message: tooSlow }
    : { code: "server_stopping", message: "The server stops and could not wait for the model: try again in a minute." };
}

const tooSlow = "The model was not done in the time that this client waits for an answer: ask for less, lower " +
  "max_tokens, or try again when the model is loaded and less busy.";

/** What a model wrote, and how that ended. */
export interface ModelAnswer {
  readonly text: string;
  readonly thinking: string;
  /** Empty for an answer that failed. */
  readonly completion: ModelCompletion;
  /** Why the answer ended early, if it did. */
  readonly failure: ToolFailure | null;
  /** Pieces that arrived: the number of tokens, when the model does not say it. */
  readonly pieces: number;
  readonly durationMs: number;
}

interface FollowOptions {
  readonly maxTokens: number;
  readonly pace: ProgressPace;
  readonly clock: Clock;
}

/** Asks, reads the events to their end, and reports progress on the way. */
export async function followAnswer(
  ask: (onWait: (ahead: CallsAhead) => void) => AsyncIterable<ModelEvent>,
  context: AnswerContext,
  { maxTokens, pace, clock }: FollowOptions,
): Promise<ModelAnswer> {
  const start = clock();
  const progress = startProgress((update) => context.progress(update), { total: maxTokens, pace, clock });
  let text = "";
  let thinking = "";
  let pieces = 0;
  const answer = (completion: ModelCompletion, failure: ToolFailure | null): ModelAnswer => {
    const parts = separateThoughts(text);
    return {
      text: parts.text.toWellFormed(),
      thinking: `${thinking}${parts.thinking}`.toWellFormed(),
      completion,
      failure,
      pieces,
      durationMs: clock() - start,
    };
  };
  try {
    for await (const event of ask(progress.inLine)) {
      switch (event.type) {
        case "delta": {
          const visible = withoutControls(event.text);
          text += visible;
          thinking += withoutControls(event.thinking);
          pieces += 1;
          progress.token(visible);
          break;
        }
        case "failed":
          return answer({ type: "done" }, toToolFailure(event.failure, context));
        case "done":
          return answer(event, null);
      }
    }
  } finally {
    progress.stop();
  }
  throw new Error("A model's events ended without `done` or `failed`");
}

/** Control characters have no meaning in an answer, but can take over a terminal that shows it. */
function withoutControls(text: string): string {
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, "");
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

/** The parts of an answer. Templates that begin the thoughts in the prompt leave their end alone. */
export function separateThoughts(text: string): { readonly text: string; readonly thinking: string } {
  const start = text.trimStart();
  for (const [open, close] of marks) {
    const isOpen = start.startsWith(open);
    const at = start.indexOf(close);
    if (at < 0 && isOpen) return { text: "", thinking: start.slice(open.length) }; // it was cut while it thought
    if (at < 0 || (!isOpen && start.includes(open))) continue;
    const thinking = start.slice(isOpen ? open.length : 0, at).trim();
    return { text: start.slice(at + close.length).trimStart(), thinking };
  }
  return { text, thinking: "" };
}

// A model's answer as a tool's result: whole, cut, or with the failure that ended it. What was written is never lost.

/** What every answer says in its `structuredContent`. */
export const answerOutput = z.lazy(() =>
  z.object({
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
  })
);

/** Which call an answer belongs to. */
export interface AnsweredCall {
  readonly model: string;
  readonly maxTokens: number;
  readonly isOllama: boolean;
  /** Tokens that the prompt must have at least. */
  readonly leastTokens: number;
}

/** Of the tokens that a prompt must have, what an engine that read it whole counts: a margin for odd tokens. */
const readShare = 0.8;

/** Why an answer is not what it should be, though it came; null for one that is, that failed, or that never began. */
export function problemOf(answer: ModelAnswer, call: AnsweredCall): ToolFailure | null {
  const { completion, failure, text, thinking } = answer;
  if (failure !== null) return hurriedCodes.has(failure.code) && !isEmpty(answer) ? failure : null;
  const { doneReason, promptTokens = 0, completionTokens } = completion;
  const isSilent = text.trim() === "";
  const onlyThought = isSilent && thinking !== "";
  if (promptTokens > 0 && promptTokens < readShare * call.leastTokens) {
    const message =
      `The model read ${promptTokens} tokens of a prompt that has at least ${call.leastTokens}: the engine ` +
      `cut the rest, so the answer is about a part. Shorten the prompt. ${largerContext(call.isOllama, call.model)}`;
    return { code: "prompt_cut", message };
  }
  if (doneReason === "length" && completionTokens !== undefined && completionTokens < call.maxTokens) {
    const message = `The answer was cut where the context of ${call.model} was full: shorten the prompt, or ask for ` +
      `the rest in another call. ${largerContext(call.isOllama, call.model)}`;
    return { code: "context_full", message };
  }
  if (doneReason === "length") {
    const only = onlyThought ? " while the model was still thinking" : "";
    const remedy = onlyThought
      ? "raise max_tokens, or set options.think to false"
      : "raise max_tokens, or ask for the rest in another call";
    return { code: "max_tokens", message: `The answer was cut at max_tokens (${call.maxTokens})${only}: ${remedy}.` };
  }
  if (onlyThought) {
    const message = "The model only thought and gave no answer: set options.think to false, raise max_tokens, or use " +
      "another model.";
    return { code: "only_thoughts", message };
  }
  return isSilent
    ? { code: "empty_answer", message: "The model wrote nothing: shorten the prompt, or use another model." }
    : null;
}

/** An answer as a success; a `problem` is part of the text too. */
export function toSuccess(
  answer: ModelAnswer,
  call: AnsweredCall,
  { parsed, problem = null, fileTokens = 0, notes = [] }: {
    readonly parsed?: unknown;
    readonly problem?: ToolFailure | null;
    readonly fileTokens?: number;
    readonly notes?: readonly string[];
  } = {},
): ToolOutcome {
  const remarks = [...problem === null ? [] : [problem.message], ...notes];
  return {
    ok: true,
    content: [...written(answer), ...remarks.map((remark) => textBlock(`[${remark}]`))],
    structuredContent: {
      ...fieldsOf(answer, call, problem),
      ...(parsed === undefined ? {} : { parsed }),
      ...(fileTokens === 0 ? {} : { file_tokens: fileTokens }),
    },
  };
}

/** The failure that ended an answer, or that was found in it, with what the model wrote. */
export function toModelFailure(failure: ToolFailure, answer: ModelAnswer, call: AnsweredCall): ToolOutcome {
  const { code, message } = failure;
  if (isEmpty(answer)) return { ok: false, code, message };
  return {
    ok: false,
    code,
    message: `${message} What the model wrote follows.`,
    partial: { content: written(answer), structuredContent: fieldsOf(answer, call, failure) },
  };
}

function isEmpty({ text, thinking }: ModelAnswer): boolean {
  return text === "" && thinking === "";
}

/** The text; for a partial answer without text, the thoughts. */
function written({ text, thinking }: ModelAnswer): readonly ContentBlock[] {
  return [textBlock(text.trim() === "" && thinking !== "" ? `The model had only thought so far:\n${thinking}` : text)];
}

function fieldsOf(
  answer: ModelAnswer,
  { model }: Pick<AnsweredCall, "model">,
  problem: ToolFailure | null,
): Record<string, unknown> {
  const { completion } = answer;
  const completionTokens = completion.completionTokens ?? answer.pieces;
  const evaluation = completion.evaluationMs ?? 0;
  return {
    text: answer.text,
    ...(answer.thinking === "" ? {} : { thinking: answer.thinking }),
    model,
    ...(completion.doneReason === undefined ? {} : { done_reason: completion.doneReason }),
    truncated: answer.failure !== null || completion.doneReason === "length" || problem?.code === "prompt_cut",
    ...(problem === null ? {} : { problem: { code: problem.code, message: problem.message } }),
    prompt_tokens: completion.promptTokens ?? 0,
    completion_tokens: completionTokens,
    duration_ms: Math.round(answer.durationMs),
    load_ms: Math.round(completion.loadMs ?? 0),
    ...(evaluation > 0 ? { tokens_per_second: Math.round(completionTokens / evaluation * 1e5) / 100 } : {}),
  };
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

// Reports to the caller what the model has written so far: an update for each 100 ms or 1 KB of text, and a sign of
// life while nothing arrives, because clients give up on a silent call after a minute. `progress` counts tokens; the
// signs of life before the first one lie between 0 and 1, since each update must be greater than the last (MCP
// progress).

/** When updates are sent. */
export interface ProgressPace {
  readonly flushMs: number;
  readonly flushCharacters: number;
  readonly waitingMs: number;
}

/** A pace that suits the known clients. */
export const defaultProgressPace: ProgressPace = { flushMs: 100, flushCharacters: 1024, waitingMs: 10_000 };

/** Starts reporting: the signs of life begin at once. */
function startProgress(
  send: (update: ProgressUpdate) => void,
  { total, pace, clock }: { readonly total: number; readonly pace: ProgressPace; readonly clock: Clock },
) {
  let tokens = 0;
  let sent = 0;
  let pending = "";
  let lastSent = -Infinity; // the first token is sent at once
  let signs = 0;
  let flushTimer: ReturnType<typeof setTimeout> | undefined;
  let callsAhead: CallsAhead = () => null;
  const showLife = (): void => {
    signs += 1;
    send({ progress: signs / (signs + 1), total, message: waitingMessage(callsAhead()) });
  };
  let waitingTimer: ReturnType<typeof setInterval> | undefined = setInterval(showLife, pace.waitingMs);

  const flush = (): void => {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (tokens === sent) return;
    const message = pending;
    [sent, pending, lastSent] = [tokens, "", clock()];
    send({ progress: tokens, total: Math.max(total, tokens), ...(message === "" ? {} : { message }) });
  };

  return {
    /** The call waits in line: says so at once, and its place with each sign of life. */
    inLine(ahead: CallsAhead) {
      callsAhead = ahead;
      showLife();
    },
    /** One token: its visible text, empty for one of the model's thinking. */
    token(text: string) {
      clearInterval(waitingTimer);
      waitingTimer = undefined;
      tokens += 1;
      pending += text;
      if (pending.length >= pace.flushCharacters) return flush();
      if (flushTimer !== undefined) return;
      const due = lastSent + pace.flushMs - clock();
      if (due <= 0) flush();
      else flushTimer = setTimeout(flush, due);
    },
    /** Sends what is left and ends the timers; nothing is sent afterwards. */
    stop() {
      clearInterval(waitingTimer);
      flush();
    },
  };
}

function waitingMessage(ahead: number | null): string {
  switch (ahead) {
    case null:
      return "waiting for the model";
    case 0:
      return "waiting in line for the model: next";
    case 1:
      return "waiting in line for the model: 1 call is ahead";
    default:
      return `waiting in line for the model: ${ahead} calls are ahead`;
  }
}
