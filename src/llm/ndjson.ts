/**
 * Splits a byte stream into lines of UTF-8 text, however the bytes are cut: within a character, many lines at once, the
 * last one without its newline. Memory is bounded by the longest line allowed.
 */

/** Why a stream is not lines of text. */
type LineFault = "line_too_long" | "invalid_utf8";

/** The lines before a fault are still good. */
interface SplitLines {
  readonly lines: readonly string[];
  readonly fault: LineFault | null;
}

/** Turns chunks into lines; empty ones are left out. Not used again after a fault. */
interface LineSplitter {
  push(chunk: Uint8Array): SplitLines;
  /** What follows the last newline, when the stream has ended. */
  end(): SplitLines;
}

const newline = 0x0a;

export function createLineSplitter(maxLineBytes: number): LineSplitter {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let pending = "";
  let pendingBytes = 0;

  return {
    push(chunk) {
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
    end() {
      try {
        pending += decoder.decode();
      } catch {
        return { lines: [], fault: "invalid_utf8" };
      }
      return { lines: pending.trim() === "" ? [] : [pending], fault: null };
    },
  };
}
