/** Texts cut into passages that fit an embedding model, at the ends of lines where that is possible. */
import type { NamedText } from "./files.ts";

/** Small embedding models read 256 tokens; code has about 3 bytes in each. */
const passageBytes = 600;

export interface TextPassage {
  readonly file: string;
  /** Of the file; absent where its lines cannot be counted. */
  readonly lines?: { readonly first: number; readonly last: number };
  readonly text: string;
}

/** All passages that hold more than blanks, in their order. */
export function splitPassages({ file, text, startLine }: NamedText): readonly TextPassage[] {
  const bytes = Buffer.from(text, "utf8");
  const passages: TextPassage[] = [];
  let line = startLine;
  for (let at = 0; at < bytes.byteLength;) {
    const end = endOfPassage(bytes, at);
    const piece = bytes.toString("utf8", at, end);
    const passage = piece.trim();
    if (passage !== "") {
      const first = line === null ? null : line + newlinesIn(piece.slice(0, piece.indexOf(passage)));
      const lines = first === null ? {} : { lines: { first, last: first + newlinesIn(passage) } };
      passages.push({ file, ...lines, text: passage });
    }
    if (line !== null) line += newlinesIn(piece);
    at = end;
  }
  return passages;
}

const newline = 0x0a;

/** After the last line that fits; within a longer line, after the last whole character. */
function endOfPassage(bytes: Buffer, start: number): number {
  const limit = start + passageBytes;
  if (limit >= bytes.byteLength) return bytes.byteLength;
  const afterLine = start + bytes.subarray(start, limit).lastIndexOf(newline) + 1;
  if (afterLine > start) return afterLine;
  let end = limit;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // RFC 3629 §3: a character goes on
  return end;
}

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
