/** A log line for people at a terminal: time, level, event, then `key=value` for its fields, the ids last. */
import type { LogFields, LogLevel } from "./log.ts";

// What a terminal, an editor or a reader of lines would obey instead of showing: controls of C1, line and paragraph
// separators, marks that turn the direction of writing. JSON.stringify leaves them as they are.
const unprintable = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const isId = /(^i|I)d$/;
const plain = /^[\w.:\/@+-]+$/;

/** One line without its end. `time` is RFC 3339 in UTC, and absent values are left out. Values with blanks or signs of other than words are quoted as in JSON. */
export function toTextLine(time: string, level: LogLevel, event: string, fields: LogFields = {}): string {
  let line = `${time.slice(0, 10)} ${time.slice(11, 19)}Z ${level.toUpperCase().padEnd(5)} ${event}`;
  let ids = "";
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    const field = ` ${key}=${shown(value)}`;
    if (isId.test(key)) ids += field;
    else line += field;
  }
  return line + ids;
}

function shown(value: Exclude<LogFields[string], undefined>): string {
  if (typeof value === "number") return String(Math.round(value * 1_000) / 1_000);
  if (typeof value === "string" && plain.test(value)) return value;
  return escapeUnprintable(JSON.stringify(value));
}

/** The same JSON, with escapes for what would not be shown, or would end a line for some readers. */
export function escapeUnprintable(json: string): string {
  return json.replace(unprintable, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
