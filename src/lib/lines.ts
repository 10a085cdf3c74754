/** Lines of text out of a stream of bytes, however it is cut: of a pipe, and of a model engine's answers. */
import { collectBytes } from "./request_text.ts";

/** One line without its end, or why it cannot be given. The rest of a line that is too long is skipped. */
export type Line =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly refusal: "too_long" | "not_utf8" };

/** How a stream is read. */
interface ReadOptions {
  /** Cancels the stream, which ends then. */
  readonly stop: AbortSignal;
  /** Waits for each read, for callers that lose patience. */
  readonly wait?: <T>(read: Promise<T>) => Promise<T>;
}

/** The pieces of a stream, until it ends or is stopped. */
async function* readPieces(
  stream: ReadableStream<Uint8Array>,
  { stop, wait = (read) => read }: ReadOptions,
): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {}); // one that has failed needs no end
  stop.addEventListener("abort", cancel, { once: true });
  if (stop.aborted) cancel();
  try {
    for (;;) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    stop.removeEventListener("abort", cancel);
    reader.releaseLock();
  }
}

const newline = 0x0a;

/** A last line without an end counts as one; blank lines do not. Memory is bounded by the longest line allowed. */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  { maxLineBytes, ...options }: ReadOptions & { readonly maxLineBytes: number },
): AsyncGenerator<Line, void> {
  let line = collectBytes(maxLineBytes);
  let isSkipped = false;
  for await (const piece of readPieces(stream, options)) {
    for (let from = 0; from < piece.byteLength;) {
      const found = piece.indexOf(newline, from);
      const end = found < 0 ? piece.byteLength : found;
      if (!isSkipped && !line.add(piece.subarray(from, end))) {
        isSkipped = true;
        yield { ok: false, refusal: "too_long" };
      }
      from = end + 1;
      if (found < 0) continue;
      if (!isSkipped) yield* decode(line.bytes());
      line = collectBytes(maxLineBytes);
      isSkipped = false;
    }
  }
  if (!isSkipped && !options.stop.aborted) yield* decode(line.bytes());
}

function decode(bytes: Uint8Array): readonly Line[] {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
    return text === "" ? [] : [{ ok: true, text }];
  } catch {
    return [{ ok: false, refusal: "not_utf8" }];
  }
}
