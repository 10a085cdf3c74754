/** Encodings of text files: told apart by their bytes, and written back as they were. */

/** What a text file is encoded in. `latin1` is what is no UTF-8, holds no NUL, and reads as text. */
export type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "latin1";

/** What a byte order mark tells. */
export type MarkedEncoding = "utf-16le" | "utf-16be";

/** A decoded file. A byte order mark is the first character of the text, so that what is written back stays the same. */
export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
}

/** Of a text in Latin-1: control characters, of which binary files are full. */
const maxControlShare = 0.02;

/** The text of these bytes in `encoding`, or in the one that they show; `null` when they are no text in it. */
export function decodeBytes(bytes: Uint8Array, encoding: TextEncoding | null = null): DecodedText | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chosen = encoding ?? markedEncoding(buffer) ?? "utf-8";
  switch (chosen) {
    case "utf-8": {
      const text = asciiText(buffer) ?? utf8Text(buffer);
      if (text !== null) return { text, encoding: chosen };
      return encoding === null && looksLikeLatin1(buffer) ? decodeBytes(buffer, "latin1") : null;
    }
    case "utf-16le":
    case "utf-16be": {
      if (buffer.length % 2 !== 0) return null;
      const text = (chosen === "utf-16le" ? buffer : Buffer.from(buffer).swap16()).toString("utf16le");
      return text.isWellFormed() ? { text, encoding: chosen } : null;
    }
    case "latin1":
      return { text: buffer.toString("latin1"), encoding: chosen };
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
  }
}

/** The encoding that a byte order mark at the start names; `null` without one, and for that of UTF-8. */
export function markedEncoding(start: Uint8Array): MarkedEncoding | null {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : null;
}

/** Whether bytes that are not UTF-8 read as text: without NUL, and with few control characters. */
export function looksLikeLatin1(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) return false;
    const isControl = byte < 0x20 ? byte !== 0x09 && byte !== 0x0a && byte !== 0x0d : byte >= 0x7f && byte < 0xa0;
    if (isControl) controls++;
  }
  return controls <= bytes.length * maxControlShare;
}
