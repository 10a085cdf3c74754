/** Texts cut into passages that fit an embedding model, at the ends of lines where that is possible. */
import { Buffer } from "node:buffer";
import type { NamedText } from "./files.ts";

/** Small embedding models read 256 tokens; code has about 3 bytes in each. */
const passageBytes = 600;

export interface Passage {
  readonly file: string;
  /** Of the file; absent where its lines cannot be counted. */
  readonly lines?: { readonly first: number; readonly last: number };
  readonly text: string;
}

/** All passages that hold more than blanks, in their order. */
export function passagesOf({ file, text, startLine }: NamedText): readonly Passage[] {
  const passages: Passage[] = [];
  let pending = { text: "", bytes: 0, first: 0, last: 0 };
  const flush = (): void => {
    const { first, last } = pending;
    const lines = startLine === null ? {} : { lines: { first: startLine + first, last: startLine + last } };
    const passage = pending.text.trim();
    if (passage !== "") passages.push({ file, ...lines, text: passage });
  };
  for (const [index, line] of text.split(/(?<=\n)/).entries()) {
    for (const piece of piecesOf(line)) {
      const bytes = Buffer.byteLength(piece);
      const fits = pending.bytes + bytes <= passageBytes;
      if (!fits) flush();
      pending = fits && pending.bytes > 0
        ? { text: pending.text + piece, bytes: pending.bytes + bytes, first: pending.first, last: index }
        : { text: piece, bytes, first: index, last: index };
    }
  }
  flush();
  return passages;
}

/** A line, in pieces of at most `passageBytes` where it is longer. */
function* piecesOf(line: string): Generator<string> {
  if (line.length * 3 <= passageBytes || Buffer.byteLength(line) <= passageBytes) return yield line;
  const step = Math.floor(passageBytes / 3); // no character of UTF-16 takes more than 3 bytes of UTF-8
  for (let at = 0; at < line.length;) {
    const cutsPair = /[\ud800-\udbff]$/.test(line.slice(at, at + step)) && at + step < line.length;
    const end = at + step - (cutsPair ? 1 : 0);
    yield line.slice(at, end);
    at = end;
  }
}
