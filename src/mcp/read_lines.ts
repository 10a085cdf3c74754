/** Bytes in, lines out: the framing of MCP's stdio transport, with a bound on what one line may hold. */

/** One line without its end, or why it cannot be given. The rest of a line that is too long has been skipped. */
export type Line =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly refusal: "too_long" | "not_utf8" };

const newline = 0x0a;
const tooLong: Line = { ok: false, refusal: "too_long" };
const notUtf8: Line = { ok: false, refusal: "not_utf8" };

/** Reads until the input ends or `stop` aborts. A last line without an end counts as one; blank lines do not. */
export async function* readInputLines(
  input: ReadableStream<Uint8Array>,
  options: { readonly maxLineBytes: number; readonly stop: AbortSignal },
): AsyncGenerator<Line> {
  const { maxLineBytes, stop } = options;
  const reader = input.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  stop.addEventListener("abort", cancel, { once: true });
  if (stop.aborted) cancel();
  const line = createLine(maxLineBytes);
  try {
    for (;;) {
      const { value: chunk, done } = await reader.read();
      if (done) break;
      let from = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
        line.add(chunk.subarray(from, end));
        from = end + 1;
        const taken = line.take();
        if (taken !== null) yield taken;
      }
      line.add(chunk.subarray(from));
    }
    const last = line.take();
    if (last !== null && !stop.aborted) yield last;
  } finally {
    stop.removeEventListener("abort", cancel);
    reader.releaseLock();
  }
}

interface GrowingLine {
  add(part: Uint8Array): void;
  /** The line so far, and begins the next one; `null` for a blank one. */
  take(): Line | null;
}

function createLine(maxLineBytes: number): GrowingLine {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  return {
    add(part) {
      bytes += part.byteLength;
      if (bytes <= maxLineBytes) parts.push(part);
      else parts = []; // what will not be read takes no room
    },
    take() {
      const taken = bytes > maxLineBytes ? tooLong : decode(parts);
      parts = [];
      bytes = 0;
      return taken;
    },
  };
}

function decode(parts: readonly Uint8Array[]): Line | null {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    let text = "";
    for (const part of parts) text += decoder.decode(part, { stream: true });
    text = (text + decoder.decode()).trim();
    return text === "" ? null : { ok: true, text };
  } catch {
    return notUtf8;
  }
}
