/** What a model wrote, whole or partial: gathered from its events and told as progress; its thoughts, and its JSON. */
import { parseJson } from "../lib/json.ts";
import { callerKey } from "../lib/principal.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";
import type { ToolContext } from "../mcp/mod.ts";
import type { LocalModel } from "./local_model.ts";
import type { ModelCompletion, ModelRequest, OllamaFailure } from "./port.ts";

/** A refusal or a failure, in words for the caller. */
export interface ToolFailure extends Pick<OllamaFailure, "tooLong"> {
  readonly code: string;
  readonly message: string;
}

/** Codes of calls that had to answer before the model was done. */
export const hurriedCodes: ReadonlySet<string> = new Set(["client_time_limit", "server_stopping"]);

function toToolFailure(failed: OllamaFailure, { signal, answerNow }: ToolContext): ToolFailure {
  if (failed.code !== "cancelled" || !answerNow.aborted || signal.aborted) return failed;
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
  readonly completion: Omit<ModelCompletion, "type">;
  /** Why the answer ended early, if it did. */
  readonly failure: ToolFailure | null;
  /** Pieces that arrived: the number of tokens, when the model does not say it. */
  readonly pieces: number;
  readonly durationMs: number;
}

export interface FollowOptions {
  readonly timeoutMs: number | undefined;
  readonly pace: ProgressPace;
  readonly clock: Clock;
}

/**
 * Asks, reads the events to their end, and reports progress on the way. Turns go round the people, then round the
 * clients of each: two agents of one person do not starve each other.
 */
export async function followAnswer(
  local: LocalModel,
  request: ModelRequest,
  context: ToolContext,
  { timeoutMs, pace, clock }: FollowOptions,
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
export const maxJsonDepth = 128;

/** Whether a caller's or a model's JSON has more levels than {@link maxJsonDepth}: asked before anything walks it by recursion. */
export function isDeep(root: unknown): boolean {
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
