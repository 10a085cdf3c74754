/** A record as JSON text that cannot pass for something else on a terminal or a page. */

// Everything that reorders what is read, ends a line or moves a cursor (Trojan Source, CVE-2021-42574).
const misleading = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** JSON with two-space indent. Misleading characters are written as escapes, which leaves the value what it is. */
export function toRecordText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    misleading,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
