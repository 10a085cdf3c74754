/** How text from the workspace is shown, so that it cannot pass for something else on a terminal or a page. */

// everything that moves the cursor, ends a line or reorders what is read (Trojan Source, CVE-2021-42574)
const misleadingInName = /[\p{Cc}\p{Cf}\u2028\u2029\\]/gu;
// a text keeps its own line ends and tabs, and the joiners that emoji and Persian need
const misleadingInText = /[^\t\n\r\P{Cc}]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/** A name on one line: control, bidirectional and invisible characters and the backslash as `\u{...}`. */
export function showName(name: string): string {
  return name.replace(misleadingInName, toEscape);
}

/** A text with control characters (but tab and line ends) and bidirectional controls as `\u{...}`. */
export function showText(text: string): string {
  return text.replace(misleadingInText, toEscape);
}

// a byte order mark is content: what is read and written back stays the same
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text that these bytes encode, or `null` when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8
  }
}

function toEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}
