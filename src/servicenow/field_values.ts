/** A record's fields as agents see them: stored value and display value side by side where they differ. */
import { counted } from "../lib/result.ts";
import * as z from "zod";

/** A field as agents see it: stored value and display value where they differ. */
type FieldValue = string | number | boolean | null | Readonly<Record<"value" | "display_value", string>>;

/** A record as agents see it. */
export type RecordFields = Readonly<Record<string, FieldValue>>;

/**
 * A record as the Table API gives it, parsed to fields in the same order. A journal has no value of its own: its
 * entries are the display value.
 */
export const recordSchema: z.ZodType<RecordFields> = z.record(
  z.string(),
  // One function, not a union: a record has seventy fields, and a union tries each of its members on each of them.
  z.unknown().transform((field, { issues }): FieldValue => {
    if (field === null || typeof field === "string" || typeof field === "number" || typeof field === "boolean") {
      return field;
    }
    if (Array.isArray(field)) return JSON.stringify(field);
    const { value, display_value: displayValue } = (field ?? {}) as Readonly<Record<string, unknown>>;
    if (isTextOrNone(value) && isTextOrNone(displayValue) && field !== undefined) {
      if (displayValue === undefined || displayValue === null || displayValue === value) return value ?? "";
      return value ? { value, display_value: displayValue } : displayValue;
    }
    issues.push({ code: "custom", input: field, message: "no field of a record" });
    return null;
  }),
);

function isTextOrNone(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === "string";
}

export function storedValue(record: RecordFields, name: string): string {
  const field = Object.hasOwn(record, name) ? record[name] ?? "" : "";
  return typeof field === "object" ? field.value : String(field);
}

/** What people see of a field. */
export function displayValue(record: RecordFields, name: string): string {
  const field = Object.hasOwn(record, name) ? record[name] ?? "" : "";
  return typeof field === "object" ? field.display_value : String(field);
}

export function isSysId(text: string): boolean {
  return /^[0-9a-f]{32}$/i.test(text);
}

/** A number as fields hold it. */
export function isNumber(text: string): boolean {
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(text);
}

/** What a word for true or false means; `null` for any other. */
export function truthOf(text: string): boolean | null {
  if (/^(true|yes|y|1|on)$/i.test(text)) return true;
  return /^(false|no|n|0|off)$/i.test(text) ? false : null;
}

/**
 * Whether a stored reference can be a sys_id. People can store any text where one belongs; in a query it would be more
 * than a value.
 */
export function isStoredSysId(text: string): boolean {
  return /^[\w-]{1,32}$/.test(text);
}

// Text of records as plain text: no markup, nothing that misleads on a terminal or hides from a reader.

// What reorders, hides or moves what is read (Trojan Source, CVE-2021-42574; tag characters).
const misleading =
  /(?![\t\n])[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// No element holds another's `<`: otherwise text of many `<p` would take the square of its length.
const blocks = /<\/?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|pre|blockquote|section|article)\b[^<>]*>/gi;
const withContent = /<(script|style|template|iframe|object|noscript)\b[^]*?(<\/\1\s*>|$)/gi;
const activeElement =
  /<\/(?:script|style|iframe|object)\s*>|<(?:a|img|svg|form|input|button|link|meta|base|video|audio|embed)\b[^<>=]*=/i;
/** What a rich text begins with. Other elements are pasted words: XML, a placeholder such as `<name>`. */
const firstElement =
  /^\s*<(?:!doctype|html|head|body|p|div|br|li|ul|ol|dl|tr|table|h[1-6]|pre|blockquote|section|article|a|b|i|u|em|strong|span|font|img|code|center|hr|small|sub|sup)\b[^<>]*>/i;
/** Most values: nothing in them can be markup, a mark or misleading. */
const plainWords = /^[ -;=?-Z\\^-~]*$/;
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Line ends as `\n`; what misleads becomes visible as `\u{202e}`. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replaceAll("\r", "\n")
    .replace(misleading, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** The words of a field or a journal entry; `[code]` is how journals mark HTML (product documentation "Journal fields"). */
export function wordsOf(text: string): string {
  if (plainWords.test(text)) return text.trim();
  const parts = text.split(/\[code\]([^]*?)(?:\[\/code\]|$)/i);
  const words = parts.map((part, at) => {
    if (at % 2 === 0 && !isHtml(part)) return plainText(part);
    return part.search(blocks) < 0 ? htmlToText(part) : `\0${htmlToText(part)}\0`; // what follows is on another line
  });
  return words.join("").replace(/ ?\n?\0+\n? ?/g, "\n").trim();
}

/** A name that cannot pass for more than one line of an answer. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** The words of an HTML text, a line for each block. Links lose their addresses. */
function htmlToText(html: string): string {
  // What nothing ends has no content: all that follows would be lost.
  const bare = html.replace(/<!--[^]*?(-->|$)/g, (whole, end) => end === "" ? whole : "")
    .replace(withContent, (whole, _, end) => end === "" ? whole : "")
    .replace(/<pre\b[^<>]*>[^<]*/gi, (whole) => whole.replaceAll("\n", "<br>"));
  const flowing = bare.search(blocks) < 0 ? bare : bare.replace(/\s+/g, " ");
  const lined = flowing.replace(/<tr\b[^<>]*>\s?<t[dh]\b[^<>]*>/gi, "\n").replace(/<t[dh]\b[^<>]*>/gi, "\0")
    .replace(blocks, "\n").split("\0").map((cell) => cell.trim()).join(" | ").replace(/<[a-z/!][^<>]*>/gi, "");
  const decoded = lined.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[String(name).toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
  return plainText(decoded.split("\n").map((line) => line.trim()).filter((line) => line !== "").join("\n"));
}

/** Whether a text is HTML rather than words with angle brackets in them: it is made of elements, or has active ones. */
function isHtml(text: string): boolean {
  return (firstElement.test(text) && /<\/[a-z]+\s*>|<br\s*\/?>/i.test(text)) ||
    activeElement.test(text);
}

/** The first characters of a text, and how many are left. */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters).toWellFormed()}… (${counted(text.length - maxCharacters, "more character")})`;
}
