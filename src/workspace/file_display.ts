/** How text from the workspace is shown, so that it cannot pass for something else on a terminal or a page. */
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

/** JSON has six bytes for a control character, and {@link showText} up to nine: a text has few of them, or is binary. */
const maxEscapes = 20_000;

const plainText = /^[\t\n\r -~]*$/;

/** A text as {@link showText} shows it, and how many characters that escapes; `null` when there are too many for a text. */
export function escapeText(text: string): { readonly shown: string; readonly escapes: number } | null {
  if (plainText.test(text)) return { shown: text, escapes: 0 };
  let escapes = 0;
  const shown = text.replace(misleadingInText, (character) => ++escapes > maxEscapes ? "" : toEscape(character));
  return escapes > maxEscapes ? null : { shown, escapes };
}

function toEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}
