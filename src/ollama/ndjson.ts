/**
 * Splits a byte stream into lines of UTF-8 text, however the bytes are cut: within a character, many lines at once, the
 * last one without its newline. Memory is bounded by the longest line allowed.
 */
import { failure, type Result, success } from "../lib/result.ts";

/** Why a stream is not lines of text. */
export type LineFault = "line_too_long" | "invalid_utf8";

/** Turns chunks into lines; empty ones are left out. Not used again after a fault. */
export interface LineSplitter {
  /** The lines that `chunk` completes. */
  push(chunk: Uint8Array): Result<readonly string[], LineFault>;
  /** What follows the last newline, when the stream has ended; null when nothing does. */
  end(): Result<string | null, LineFault>;
}

/** Builds a {@link LineSplitter} that refuses lines over `maxLineBytes`. */
export function createLineSplitter(maxLineBytes: number): LineSplitter {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let pending = "";
  let pendingBytes = 0;

  return {
    push(chunk) {
      const firstNewline = chunk.indexOf(0x0a);
      const overlong = pendingBytes + (firstNewline === -1 ? chunk.byteLength : firstNewline) > maxLineBytes;
      if (overlong) return failure("line_too_long");
      let text: string;
      try {
        text = decoder.decode(chunk, { stream: true });
      } catch {
        return failure("invalid_utf8");
      }
      if (firstNewline === -1) {
        pending += text;
        pendingBytes += chunk.byteLength;
        return success([]);
      }
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      pendingBytes = chunk.byteLength - 1 - chunk.lastIndexOf(0x0a);
      // A line within one chunk is shorter than the chunk: only chunks over the limit need a closer look.
      if (chunk.byteLength > maxLineBytes) {
        if (pendingBytes > maxLineBytes || lines.some((line) => line.length > maxLineBytes)) {
          return failure("line_too_long");
        }
      }
      return success(lines.filter((line) => line.trim() !== ""));
    },
    end() {
      try {
        pending += decoder.decode();
      } catch {
        return failure("invalid_utf8");
      }
      return success(pending.trim() === "" ? null : pending);
    },
  };
}
