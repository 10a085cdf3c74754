/** How a {@link StorageKey} becomes one sortable text, for drivers whose keys are strings. */
import type { StorageKey } from "./port.ts";

const separator = "/"; // encodeURIComponent never leaves one in a part

/** The key as text: each part percent-encoded and ended by a slash. Throws `TypeError` for an empty part. */
export function encodeKey(key: StorageKey): string {
  let text = "";
  for (const part of key) {
    if (part === "") throw new TypeError("A storage key has no empty parts");
    text += encodeURIComponent(part) + separator;
  }
  return text;
}

/** The inverse of {@link encodeKey}. */
export function decodeKey(text: string): StorageKey {
  const [first, ...rest] = text.slice(0, -1).split(separator).map(decodeURIComponent);
  if (first === undefined) throw new TypeError("A storage key has at least one part");
  return [first, ...rest];
}

/** The least text that sorts after every key below `prefix`. */
export function endOfPrefix(prefix: StorageKey): string {
  return encodeKey(prefix).slice(0, -1) + String.fromCharCode(separator.charCodeAt(0) + 1);
}
