/** Reads the body of a streaming answer to its final line: every way in which it can go wrong becomes one event. */
import type { ModelCallWatch } from "./call_watch.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";
import type { OllamaLimits } from "./limits.ts";
import { createLineSplitter } from "./ndjson.ts";
import type { ModelCompletion, ModelEvent } from "./port.ts";
import { fromErrorLine } from "./status_error.ts";
import { parseStreamLine } from "./wire.ts";

/** The call that the answer belongs to. */
interface AnswerOptions {
  readonly host: OllamaHost;
  readonly watch: ModelCallWatch;
  readonly limits: OllamaLimits;
}

/** How long the connection may take to become free for the next call, once the final line has arrived. */
const lingerMs = 50;

/** Yields the events of a body. Throws only what `read` throws: the network's errors and the abort of `watch`. */
export async function* readAnswer(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { host, watch, limits }: AnswerOptions,
): AsyncGenerator<ModelEvent, void> {
  const splitter = createLineSplitter(limits.maxLineBytes);
  let outputBytes = 0;
  while (true) {
    const { done, value } = await watch.piece(reader.read());
    const { lines, fault } = done ? splitter.end() : splitter.push(value);
    for (const line of lines) {
      const parsed = parseStreamLine(line);
      if (parsed === null) return yield failed(done ? brokenOff(host) : notOurs(host));
      if (parsed.kind === "error") return yield failed(fromErrorLine(parsed.error, host));
      if (parsed.delta !== null) {
        const { text, thinking } = parsed.delta;
        outputBytes += Buffer.byteLength(text) + Buffer.byteLength(thinking);
        if (outputBytes > limits.maxOutputBytes) return yield failed(tooLarge(limits.maxOutputBytes));
        yield parsed.delta;
      }
      if (parsed.completion !== null) return yield* finish(reader, watch, parsed.completion);
    }
    if (fault !== null) return yield failed(notLines(host, fault));
    if (done) return yield failed(brokenOff(host));
  }
}

/** Lets the answer end by itself, so that its connection serves the next call; whatever follows `done` is ignored. */
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

function failed(failure: OllamaFailure): ModelEvent {
  return { type: "failed", failure };
}

function brokenOff(host: OllamaHost): OllamaFailure {
  return ollamaFailure("truncated", `Ollama at ${host.origin} broke off in the middle of its answer; try again.`);
}

function notOurs(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `Ollama at ${host.origin} sent a line that is not its protocol; try again.`);
}

function notLines(host: OllamaHost, fault: "line_too_long" | "invalid_utf8"): OllamaFailure {
  const what = fault === "invalid_utf8" ? "text that is not UTF-8" : "a line over the limit";
  return ollamaFailure("bad_upstream", `Ollama at ${host.origin} sent ${what}; update Ollama, or use another model.`);
}

function tooLarge(maxOutputBytes: number): OllamaFailure {
  return ollamaFailure(
    "output_too_large",
    `The answer exceeded ${maxOutputBytes} bytes and was stopped; ask for less, or lower max_tokens.`,
  );
}
