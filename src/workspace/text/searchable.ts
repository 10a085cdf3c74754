/** Text of any encoding as the bytes of UTF-8 that are searched, without a byte order mark, its lines ended by LF alone unless CR is asked for. */
import { type ByteText, toByteText } from "./byte_text.ts";
import { looksLikeLatin1, type MarkedEncoding } from "./encoding.ts";
import { cutAtBoundary } from "./lines.ts";

/** A piece of a file, ready to be searched, and how many of the file's bytes it is made of. */
interface SearchablePiece {
  readonly text: ByteText;
  readonly sourceBytes: number;
}

/** Whole lines of what was read, or all of it at the file's end; `null` for binary content. */
export function toSearchable(
  bytes: Buffer,
  { encoding, isFirst, isLast, keepsReturns }: {
    /** `null` for what shows only piece by piece: UTF-8 or Latin-1. */
    readonly encoding: MarkedEncoding | null;
    readonly isFirst: boolean;
    readonly isLast: boolean;
    /** Leaves the CR of CRLF in the lines. */
    readonly keepsReturns: boolean;
  },
): SearchablePiece | null {
  const piece = encoding === null ? fromBytes(bytes, isFirst, isLast) : fromUtf16(bytes, encoding, isLast);
  return piece === null || keepsReturns ? piece : withoutReturns(piece, isLast, encoding === null ? 1 : 2);
}

function fromBytes(bytes: Buffer, isFirst: boolean, isLast: boolean): SearchablePiece | null {
  const sourceBytes = isLast ? bytes.length : cutAtBoundary(bytes);
  const isMarked = isFirst && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const content = bytes.subarray(isMarked ? 3 : 0, sourceBytes);
  const text = toByteText(content, content.length);
  if (text !== null) return { text, sourceBytes };
  return looksLikeLatin1(content) ? fromText(content.toString("latin1"), sourceBytes) : null;
}

function fromUtf16(bytes: Buffer, encoding: MarkedEncoding, isLast: boolean): SearchablePiece | null {
  if (isLast && bytes.length % 2 !== 0) return null;
  const even = bytes.subarray(0, bytes.length - bytes.length % 2);
  const whole = (encoding === "utf-16le" ? even : Buffer.from(even).swap16()).toString("utf16le");
  const cut = isLast
    ? whole.length
    : whole.lastIndexOf("\n") + 1 || whole.length - (/[\ud800-\udbff]$/.test(whole) ? 1 : 0);
  const text = whole.slice(0, cut);
  return text.isWellFormed() ? fromText(text.replace(/^\ufeff/, ""), 2 * cut) : null;
}

function fromText(text: string, sourceBytes: number): SearchablePiece | null {
  const bytes = Buffer.from(text, "utf8");
  const searchable = toByteText(bytes, bytes.length);
  return searchable === null ? null : { text: searchable, sourceBytes };
}

/** A CR at the end of a piece is left to the next, which may begin with its LF. */
function withoutReturns(piece: SearchablePiece, isLast: boolean, characterBytes: number): SearchablePiece {
  const { text } = piece;
  const isCut = !isLast && text.characters.endsWith("\r");
  if (!isCut && !text.characters.includes("\r\n")) return piece;
  const whole = isCut ? text.characters.slice(0, -1) : text.characters;
  const characters = whole.replaceAll("\r\n", "\n");
  const bytes = Buffer.from(characters, "latin1");
  return {
    text: { characters, decode: (from, to) => bytes.toString("utf8", from, to) },
    sourceBytes: piece.sourceBytes - (isCut ? characterBytes : 0),
  };
}
