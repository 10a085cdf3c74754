/** Reads the body of a streaming answer to its final line: every way in which it can go wrong becomes one event. */
import { brokenOff, engineName, fromErrorLine, type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";
import { type ModelCompletion, type ModelDelta, type ModelEvent, modelFailed, type OllamaLimits } from "./port.ts";

/** Why the signal fired: `first_byte` when the total time was over before any piece came. */
export type EndReason = "cancelled" | "first_byte" | "idle" | "total";

/** The timers around one call. */
export type ModelCallWatch = ReturnType<typeof watchCall>;

interface CallWatchOptions {
  readonly caller: AbortSignal;
  readonly idleMs: number;
  readonly totalMs: number;
}

/**
 * One abort signal for a call: it fires when the caller cancels, when the stream stalls, or when the whole takes too
 * long, and remembers which.
 */
export function watchCall({ caller, idleMs, totalMs }: CallWatchOptions) {
  const timeUp = new AbortController();
  const signal = AbortSignal.any([caller, timeUp.signal]);
  let timeUpReason: EndReason | undefined;
  let begun = false;
  let lingerTimer: ReturnType<typeof setTimeout> | undefined;

  const stop = (reason: EndReason): void => {
    timeUpReason ??= reason;
    timeUp.abort();
  };
  const totalTimer = setTimeout(() => stop(begun ? "total" : "first_byte"), totalMs);

  return {
    signal,
    /** Why the signal fired; undefined while it has not. */
    get reason() {
      return timeUpReason ?? (caller.aborted ? "cancelled" : undefined);
    },
    /**
     * Waits for the next piece of the answer; only while this lasts can the stream be idle. Throws once the signal has
     * fired, whatever the read says.
     */
    async piece<T>(read: Promise<T>): Promise<T> {
      const idleTimer = begun ? setTimeout(() => stop("idle"), idleMs) : undefined;
      try {
        const piece = await read;
        signal.throwIfAborted();
        return piece;
      } finally {
        clearTimeout(idleTimer);
      }
    },
    /** The answer has begun: keep-alives of an engine that loads, or reads a long prompt, are no beginning. */
    begin() {
      begun = true;
    },
    /** The answer is complete; what is left of the connection may take this long. */
    lingerFor(milliseconds: number) {
      lingerTimer = setTimeout(() => stop("idle"), milliseconds);
    },
    /** Ends the timers and, unless the answer was read to its end, the connection. */
    dispose() {
      clearTimeout(totalTimer);
      clearTimeout(lingerTimer);
      timeUp.abort();
    },
  };
}

/** Why a stream is not lines of text. */
type LineFault = "line_too_long" | "invalid_utf8";

/** The lines before a fault are still good. */
interface SplitLines {
  readonly lines: readonly string[];
  readonly fault: LineFault | null;
}

const newline = 0x0a;

/**
 * Splits a byte stream into lines of UTF-8 text, however the bytes are cut: within a character, many lines at once, the
 * last one without its newline. Memory is bounded by the longest line allowed.
 */
export function createLineSplitter(maxLineBytes: number) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let pending = "";
  let pendingBytes = 0;

  return {
    push(chunk: Uint8Array): SplitLines {
      const lines: string[] = [];
      for (let start = 0; start < chunk.byteLength;) {
        const found = chunk.indexOf(newline, start);
        const end = found === -1 ? chunk.byteLength : found;
        pendingBytes += end - start;
        if (pendingBytes > maxLineBytes) return { lines, fault: "line_too_long" };
        try {
          pending += decoder.decode(chunk.subarray(start, end + 1), { stream: true });
        } catch {
          return { lines, fault: "invalid_utf8" };
        }
        if (found === -1) break;
        const line = pending.slice(0, -1);
        if (line.trim() !== "") lines.push(line);
        [pending, pendingBytes, start] = ["", 0, end + 1];
      }
      return { lines, fault: null };
    },
    /** What follows the last newline, when the stream has ended. */
    end(): SplitLines {
      try {
        pending += decoder.decode();
      } catch {
        return { lines: [], fault: "invalid_utf8" };
      }
      return { lines: pending.trim() === "" ? [] : [pending], fault: null };
    },
  };
}

/** A piece of a stream, read. */
export type StreamLine =
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "answer"; readonly delta: ModelDelta | null; readonly completion: ModelCompletion | null };

/** Reads the lines of one answer by the rules of an API. */
export interface AnswerParser {
  /** `null` when the line is not of the API. */
  line(text: string): StreamLine | null;
  /** The completion of a stream that ended without saying more; `null` where that cut it off. */
  end(): ModelCompletion | null;
}

/** The call that the answer belongs to. */
interface AnswerOptions {
  readonly model: string;
  readonly parser: AnswerParser;
  readonly host: OllamaHost;
  readonly watch: ModelCallWatch;
  readonly limits: OllamaLimits;
}

/** How long the connection may take to become free for the next call, once the final line has arrived. */
const lingerMs = 50;

/** Yields the events of a body. Throws only what `read` throws: the network's errors and the abort of `watch`. */
export async function* readAnswer(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { host, watch, limits, parser, model }: AnswerOptions,
): AsyncGenerator<ModelEvent, void> {
  const splitter = createLineSplitter(limits.maxLineBytes);
  let outputBytes = 0;
  while (true) {
    const { done, value } = await watch.piece(reader.read());
    const { lines, fault } = done ? splitter.end() : splitter.push(value);
    for (const line of lines) {
      const parsed = parser.line(line);
      if (parsed === null) return yield modelFailed(done ? brokenOff(host) : notOurs(host));
      if (parsed.kind === "error") return yield modelFailed(fromErrorLine(parsed.error, host, model));
      if (parsed.delta !== null) {
        watch.begin();
        const { text, thinking } = parsed.delta;
        outputBytes += Buffer.byteLength(text) + Buffer.byteLength(thinking);
        if (outputBytes > limits.maxOutputBytes) return yield modelFailed(tooLarge(limits.maxOutputBytes));
        yield parsed.delta;
      }
      if (parsed.completion !== null) return yield* finish(reader, watch, parsed.completion);
    }
    if (fault !== null) return yield modelFailed(notLines(host, fault));
    if (done) return yield parser.end() ?? modelFailed(brokenOff(host));
  }
}

/** Reads the answer to its end, so that its connection serves the next call; what follows `done` is ignored. */
async function* finish(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  watch: ModelCallWatch,
  completion: ModelCompletion,
): AsyncGenerator<ModelEvent, void> {
  watch.lingerFor(lingerMs);
  try {
    let rest = await reader.read();
    while (!rest.done) rest = await reader.read();
  } catch { /* the answer is complete, however its connection ends */ }
  yield completion;
}

function notOurs(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `${engineName(host)} sent a line that is not its protocol; try again.`);
}

function notLines(host: OllamaHost, fault: LineFault): OllamaFailure {
  const what = fault === "invalid_utf8" ? "text that is not UTF-8" : "a line over the limit";
  return ollamaFailure(
    "bad_upstream",
    `${engineName(host)} sent ${what}; update it, or use another model.`,
  );
}

function tooLarge(maxOutputBytes: number): OllamaFailure {
  return ollamaFailure(
    "output_too_large",
    `The answer exceeded ${maxOutputBytes} bytes and was stopped; ask for less, or lower max_tokens.`,
  );
}
