/** How text from the workspace is shown, so that it cannot pass for something else on a terminal or a page. */
import { Buffer, isAscii } from "node:buffer";

// everything that moves the cursor, ends a line or reorders what is read (Trojan Source, CVE-2021-42574)
const plainName = /^[ -[\]-~]*$/; // printable ASCII without the backslash: nearly every name
const misleadingInName = /[\p{Cc}\p{Cf}\u2028\u2029\\]/gu;
// a text keeps its own line ends and tabs, and the joiners that emoji and Persian need
const misleadingInText = /[^\t\n\r\P{Cc}]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/** A name on one line: control, bidirectional and invisible characters and the backslash as `\u{...}`. */
export function showName(name: string): string {
  return plainName.test(name) ? name : name.replace(misleadingInName, toEscape);
}

/** A text with control characters (but tab and line ends) and bidirectional controls as `\u{...}`. */
export function showText(text: string): string {
  return text.replace(misleadingInText, toEscape);
}

// a byte order mark is content: what is read and written back stays the same
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text that these bytes encode, or `null` when they are not UTF-8. */
function decodeText(bytes: Uint8Array): string | null {
  if (isAscii(bytes)) return toLatin1(bytes); // a copy, ten times as quick
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8
  }
}

/** JSON has six bytes for a control character, and {@link showText} up to nine: a text has few of them, or is binary. */
const maxEscapes = 20_000;

/**
 * The text that these bytes encode, exactly and as {@link showText} shows it; `null` when they are not UTF-8, or hold
 * more than {@link maxEscapes} control characters.
 */
export function decodeAndShowText(bytes: Uint8Array): { readonly content: string; readonly shown: string } | null {
  if (isPlain(bytes)) {
    const content = toLatin1(bytes);
    return { content, shown: content };
  }
  const content = decodeText(bytes);
  if (content === null) return null;
  let escapes = 0;
  const shown = content.replace(misleadingInText, (character) => ++escapes > maxEscapes ? "" : toEscape(character));
  return escapes > maxEscapes ? null : { content, shown };
}

const plainText = /^[\t\n\r -~]*$/;

/** A text as {@link showText} shows it, and how many characters that escapes; `null` when there are too many for a text. */
export function escapeText(text: string): { readonly shown: string; readonly escapes: number } | null {
  if (plainText.test(text)) return { shown: text, escapes: 0 };
  let escapes = 0;
  const shown = text.replace(misleadingInText, (character) => ++escapes > maxEscapes ? "" : toEscape(character));
  return escapes > maxEscapes ? null : { shown, escapes };
}

// by byte: 0 for printable ASCII, tab and line ends, which are shown as they are
const needsMore = Uint8Array.from(
  { length: 256 },
  (_, byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d ? 0 : 1,
);
const plainBlock = 4096;

function isPlain(bytes: Uint8Array): boolean {
  for (let start = 0; start < bytes.byteLength; start += plainBlock) {
    const end = Math.min(start + plainBlock, bytes.byteLength);
    let found = 0;
    for (let at = start; at < end; at++) found |= needsMore[bytes[at] ?? 0] ?? 1;
    if (found !== 0) return false;
  }
  return true;
}

function toLatin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
}

function toEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}
