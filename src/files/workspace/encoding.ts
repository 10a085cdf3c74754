/** Encodings of text files: their bytes as text, and written back as they were. */
import { decodeLegacy, encodeLegacy, legacyEncodings } from "./legacy_encoding.ts";
import { decodeWide, wideEncoding } from "./wide_encoding.ts";
import { toFileUri } from "./file_uri.ts";
import type { WorkspacePath } from "./path.ts";
import { escapeText, mediaTypeOf, sniffMedia } from "./file_display.ts";

/** What a text file is encoded in. `latin1` is what is the same in Windows-1252. */
export const textEncodings = ["utf-8", "utf-16le", "utf-16be", "latin1", ...legacyEncodings] as const;
export type TextEncoding = typeof textEncodings[number];

/** A decoded file. A byte order mark is the first character of the text, so that what is written back stays the same. */
export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
}

/** Of a text: control characters, of which binary files are full. */
const maxControlShare = 0.02;

/** The text of these bytes in `encoding`, or in UTF-8 or UTF-16 as they show; `null` when they are no text in it. */
export function decodeBytes(bytes: Uint8Array, encoding: TextEncoding | null = null): DecodedText | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chosen = encoding ?? wideEncoding(buffer) ?? "utf-8";
  switch (chosen) {
    case "utf-8": {
      const text = asciiText(buffer) ?? utf8Text(buffer);
      return text === null ? null : { text, encoding: chosen };
    }
    case "utf-16le":
    case "utf-16be": {
      if (buffer.length % 2 !== 0) return null;
      const text = decodeWide(buffer, chosen);
      return text.isWellFormed() ? { text, encoding: chosen } : null;
    }
    case "latin1":
      return { text: buffer.toString("latin1"), encoding: chosen };
    default: {
      const text = decodeLegacy(bytes, chosen);
      return text === null ? null : { text, encoding: chosen };
    }
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** So few bytes are decoded before the decoder could be called. */
const fewBytes = 4_096;
const replacement = "\ufffd";

/** The text of these bytes, or `null` where one of them is not ASCII. Ten times as quick as to decode UTF-8. */
export function asciiText(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return Buffer.byteLength(text) === text.length ? text : null;
}

/** The text of these bytes, or `null` where they are no UTF-8. */
export function utf8Text(bytes: Uint8Array): string | null {
  if (bytes.byteLength <= fewBytes) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    if (!text.includes(replacement)) return text;
  }
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of the text in `encoding`; `null` when it has characters that the encoding lacks. */
export function encodeText(text: string, encoding: TextEncoding): Uint8Array<ArrayBuffer> | null {
  if (!text.isWellFormed()) return null;
  switch (encoding) {
    case "utf-8":
      return new Uint8Array(Buffer.from(text, "utf8"));
    case "utf-16le":
      return new Uint8Array(Buffer.from(text, "utf16le"));
    case "utf-16be":
      return new Uint8Array(Buffer.from(text, "utf16le").swap16());
    case "latin1":
      return /^[\0-\xff]*$/.test(text) ? new Uint8Array(Buffer.from(text, "latin1")) : null;
    default:
      return encodeLegacy(text, encoding);
  }
}

/** The first character that the encoding lacks. */
export function lackingIn(text: string, encoding: TextEncoding): string | undefined {
  return Array.from(text).find((character) => encodeText(character, encoding) === null);
}

/**
 * The bytes of a text that was made of another by edits: lines that are the same keep their bytes, which an encoding may
 * have several of. `null` as in {@link encodeText}.
 */
export function encodeEdited(
  before: DecodedText & { readonly bytes: Uint8Array },
  text: string,
): Uint8Array<ArrayBuffer> | null {
  const { encoding } = before;
  if (encoding === "utf-8" || encoding.startsWith("utf-16")) return encodeText(text, encoding);
  const [was, now] = [before.text, text].map((each) => each.split("\n")) as [string[], string[]];
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && was[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && was.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const changed = encodeText(now.slice(head, now.length - tail).join("\n"), encoding);
  if (changed === null) return null;
  const lines = Buffer.from(before.bytes).toString("latin1").split("\n"); // a newline is no part of a character
  const bytes = (part: readonly string[]): Buffer => Buffer.from(part.join("\n"), "latin1");
  const parts = [
    ...head === 0 ? [] : [bytes(lines.slice(0, head))],
    ...head + tail === now.length ? [] : [changed],
    ...tail === 0 ? [] : [bytes(lines.slice(lines.length - tail))],
  ];
  const newline = Buffer.from("\n");
  return new Uint8Array(Buffer.concat(parts.flatMap((part, index) => index === 0 ? [part] : [newline, part])));
}

/** Whether bytes that are not UTF-8 read as text: without NUL, and with few control characters. */
export function looksLikeText(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) return false;
    if (byte < 0x20 ? byte !== 0x09 && byte !== 0x0a && byte !== 0x0d : byte === 0x7f) controls++;
  }
  return controls <= bytes.length * maxControlShare;
}

// A file of the workspace as the contents of a resource: text where it is text, bytes otherwise.

/** MCP schema `TextResourceContents` or `BlobResourceContents`. */
type FileContents =
  & { readonly uri: string; readonly mimeType: string }
  & ({ readonly text: string } | { readonly blob: string });

/** The media type of what shows no other (RFC 2046 §4.5.1). */
export const unknownMediaType = "application/octet-stream";

/** What the bytes show outweighs what the name promises. */
export function toResourceContents(path: WorkspacePath, bytes: Uint8Array): FileContents {
  const uri = toFileUri(path);
  const promised = mediaTypeOf(path.text);
  const text = decodeBytes(bytes, "utf-8")?.text;
  if (text !== undefined && escapeText(text) !== null) {
    const isText = /^(?:text\/|application\/(?:json|xml|yaml|toml)$|image\/svg)/.test(promised);
    return { uri, mimeType: isText ? promised : "text/plain", text };
  }
  const mimeType = sniffMedia(bytes)?.mimeType ?? (promised.startsWith("text/") ? unknownMediaType : promised);
  return { uri, mimeType, blob: Buffer.from(bytes).toString("base64") };
}
