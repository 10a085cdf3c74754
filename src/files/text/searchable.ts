/** Text of any encoding as the bytes of UTF-8 that are searched, without a byte order mark, its lines ended by LF alone unless CR is asked for. */
import { type ByteText, toByteText } from "./byte_text.ts";
import { decodeBytes, type TextEncoding } from "../workspace/encoding.ts";
import { decodeWide, type WideEncoding } from "./wide_encoding.ts";
import { cutAtBoundary } from "./lines.ts";

/** A piece of a file, ready to be searched, and how many of the file's bytes it is made of. */
interface SearchablePiece {
  readonly text: ByteText;
  readonly sourceBytes: number;
}

/** Whole lines of what was read, or all of it at the file's end; `null` for what is no text in the encoding. */
export function toSearchable(
  bytes: Buffer,
  { encoding, isFirst, isLast, keepsReturns }: {
    readonly encoding: TextEncoding;
    readonly isFirst: boolean;
    readonly isLast: boolean;
    /** Leaves the CR of CRLF in the lines. */
    readonly keepsReturns: boolean;
  },
): SearchablePiece | null {
  const isWide = encoding === "utf-16le" || encoding === "utf-16be";
  const piece = isWide
    ? fromUtf16(bytes, encoding, isLast)
    : encoding === "utf-8"
    ? fromUtf8(bytes, isFirst, isLast)
    : fromLegacy(bytes, encoding, isLast);
  return piece === null || keepsReturns ? piece : withoutReturns(piece, isLast, isWide ? 2 : 1);
}

function fromUtf8(bytes: Buffer, isFirst: boolean, isLast: boolean): SearchablePiece | null {
  const sourceBytes = isLast ? bytes.length : cutAtBoundary(bytes);
  const isMarked = isFirst && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const content = bytes.subarray(isMarked ? 3 : 0, sourceBytes);
  const text = toByteText(content, content.length);
  return text === null ? null : { text, sourceBytes };
}

/** Up to a line's end, or where there is none, an ASCII character that is no part of another. */
function fromLegacy(bytes: Buffer, encoding: TextEncoding, isLast: boolean): SearchablePiece | null {
  const line = bytes.lastIndexOf("\n") + 1;
  const sourceBytes = isLast ? bytes.length : line || bytes.lastIndexOf(" ") + 1 || bytes.length;
  const decoded = decodeBytes(bytes.subarray(0, sourceBytes), encoding);
  return decoded === null ? null : fromText(decoded.text, sourceBytes);
}

function fromUtf16(bytes: Buffer, encoding: WideEncoding, isLast: boolean): SearchablePiece | null {
  if (isLast && bytes.length % 2 !== 0) return null;
  const even = bytes.subarray(0, bytes.length - bytes.length % 2);
  const whole = decodeWide(even, encoding);
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
