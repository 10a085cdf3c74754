/** How text from the workspace is shown, so that it cannot pass for something else on a terminal or a page. */

/** Halves of surrogate pairs in a name: a byte that is not UTF-8 (lib/kernel/stored_name.ts), or one that cannot be told. */
const firstByte = 0xdc00;
export const firstUnknown = 0xd800;

const plainName = /^[ -[\]-~]*$/; // printable ASCII without the backslash: nearly every name
// everything that moves the cursor, ends a line or reorders what is read (Trojan Source, CVE-2021-42574),
// and what shows as nothing, as another blank, or is no character at all (a byte that is not UTF-8)
const misleadingInName =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\\]|(?<=^[A-Za-z]):/gu;
// a text keeps its own line ends and tabs, and the joiners that emoji and Persian need
const misleadingInText = /[^\t\n\r\P{Cc}]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/**
 * A name or path on one line, which {@link readName} reads: control, bidirectional and invisible characters,
 * unusual blanks and the backslash as `\u{...}`, bytes that are not UTF-8 as `\x{..}`. No two names are shown alike.
 */
export function showName(name: string): string {
  return plainName.test(name) && name[1] !== ":" ? name : name.replace(misleadingInName, toNameEscape);
}

/** A pattern or an expression that a caller wrote, on one line: {@link showName}, but for its backslashes. */
export function showWritten(text: string): string {
  return showName(text).replaceAll("\\u{5C}", "\\");
}

/**
 * Shows paths that stand in one answer, or the names at their ends. Of two that differ in their Unicode form alone, the
 * one that is not composed is shown with escapes: a model would write it composed, and reach the other. `null` where
 * there are no two such.
 */
export function createTwinDisplay(paths: Iterable<string>): ((path: string, name?: string) => string) | null {
  const known = new Map<string, string>();
  const twins = new Set<string>();
  for (const path of paths) {
    if (plainName.test(path)) continue;
    const composed = path.normalize("NFC");
    if ((known.get(composed) ?? path) !== path) twins.add(composed);
    known.set(composed, path);
  }
  if (twins.size === 0) return null;
  return (path, name = path) => {
    const shown = showName(name);
    const isTwin = path !== path.normalize("NFC") && twins.has(path.normalize("NFC"));
    return isTwin ? shown.replace(/[^\x20-\x7e]/gu, toEscape) : shown;
  };
}

/** The path as data for programs: as it is, or as {@link showName} has it where no path can be written so. */
export function toPathText(path: string): string {
  return isTypable(path) ? path : showName(path);
}

/** Whether callers can write the name as it is: without backslashes, control characters and halves of pairs. */
export function isTypable(name: string): boolean {
  return name.isWellFormed() && !/[\p{Cc}\u2028\u2029\\]|^[A-Za-z]:/u.test(name);
}

const escape = /\\(?:u\{([0-9A-Fa-f]{1,6})\}|x\{(?:([89A-Fa-f][0-9A-Fa-f])|\?(\d{0,3}))\})/g;

/** The name that a caller wrote, with the escapes of {@link showName}; `null` for a backslash that begins none of them. */
export function readName(written: string): string | null {
  let isEscape = true;
  const read = written.replace(escape, (whole, character?: string, byte?: string, unknown?: string) => {
    if (byte !== undefined) return String.fromCharCode(firstByte + Number.parseInt(byte, 16));
    if (unknown !== undefined) return String.fromCharCode(firstUnknown + Number(unknown));
    const code = Number.parseInt(character ?? "", 16);
    const meant = code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
    // ASCII that shows as itself is written as itself: no dot, no slash
    const isMeant = code > 0x7e || meant === ":" || showName(meant) !== meant;
    if (meant !== "" && isMeant && meant.isWellFormed()) return meant;
    isEscape = false;
    return whole;
  });
  return isEscape && !written.replace(escape, "").includes("\\") ? read : null;
}

/** A text with control characters (but tab and line ends) and bidirectional controls as `\u{...}`. */
export function showText(text: string): string {
  return text.replace(misleadingInText, toEscape);
}

// what shows as nothing, as a blank, or as a line end, what covers its neighbours, and what looks like other characters
const unseen =
  /[^\t\n\r\P{Cc}]|\r(?!\n)|(?! )[\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?<=\p{M}{6})\p{M}|[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}\u037e\u1fef\u2024\u2044\u212a\u2215\u29f5\u29f8\u29f9\uff0f\uff3c]/gu;
const plain = /^[\t\n\r -~]*$/;
const word = /[\p{L}\p{M}\p{N}_]+/gu;
const latin = /\p{Script=Latin}/u;
/** Letters of scripts that do not stand beside Latin ones in one word, as those of East Asia do. */
const alike =
  /(?=\p{L})[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}]/gu;

/**
 * A text for a person who decides about it: {@link showText}, and everything as `\u{...}` that shows as nothing, as a
 * blank, or as another character: tags, variation selectors, joiners, a carriage return alone, piles of marks, and
 * letters of other scripts within Latin words.
 */
export function showExactly(text: string): string {
  if (plain.test(text) && !text.includes("\r")) return text;
  return text.replace(word, (each) => latin.test(each) ? each.replace(alike, toEscape) : each).replace(
    unseen,
    toEscape,
  );
}

/** JSON has six bytes for a control character, and {@link showText} up to nine: a text has few of them, or is binary. */
const maxEscapes = 20_000;

/** A text as {@link showText} shows it, and how many characters that escapes; `null` when there are too many for a text. */
export function escapeText(text: string): { readonly shown: string; readonly escapes: number } | null {
  if (plain.test(text)) return { shown: text, escapes: 0 };
  let escapes = 0;
  for (const _ of text.matchAll(misleadingInText)) if (++escapes > maxEscapes) return null;
  return { shown: escapes === 0 ? text : showText(text), escapes };
}

function toEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

function toNameEscape(character: string): string {
  if (character.isWellFormed()) return toEscape(character);
  const code = character.charCodeAt(0);
  if (code < firstByte) return `\\x{?${code === firstUnknown ? "" : code - firstUnknown}}`;
  return `\\x{${(code - firstByte).toString(16).toUpperCase()}}`;
}
