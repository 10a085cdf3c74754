/**
 * How a {@link StorageKey} becomes one text whose order, byte by byte in UTF-8, is the order the port promises: part by
 * part, a key before the keys below it. Each part ends with `!`; every character up to and including `%` is written as
 * `%XX`, so nothing inside a part sorts below the end of a part, and no text holds a NUL.
 */
import { isOver, storageLimits } from "./limits.ts";
import type { StorageKey } from "./port.ts";

const endOfPart = "!";
const afterEndOfPart = '"';
const escaped = /[^&-\u{10ffff}]/gu; // what sorts before &

/** The key as text. Throws `TypeError` for an empty part or half a surrogate pair, `RangeError` for an over-long key. */
export function encodeKey(key: StorageKey): string {
  let text = "";
  for (const part of key) {
    if (part === "") throw new TypeError("A storage key has no empty parts");
    if (!part.isWellFormed()) throw new TypeError("A storage key holds no half surrogate pairs");
    text += part.replace(escaped, escape) + endOfPart;
  }
  if (isOver(text, storageLimits.keyBytes)) {
    throw new RangeError(`A storage key has at most ${storageLimits.keyBytes} bytes, escaped`);
  }
  return text;
}

/** The key as text, or `null` when nothing can be stored under it. */
export function encodeKeyToRead(key: StorageKey): string | null {
  try {
    return encodeKey(key);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return null;
    throw error;
  }
}

/** The inverse of {@link encodeKey}. */
export function decodeKey(text: string): StorageKey {
  const [first, ...rest] = text.slice(0, -1).split(endOfPart).map(decodePart);
  if (first === undefined) throw new TypeError("A storage key has at least one part");
  return [first, ...rest];
}

/** The least text that sorts after every key below the one given as text. */
export function endOfRange(keyText: string): string {
  return keyText.slice(0, -1) + afterEndOfPart;
}

function escape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function decodePart(text: string): string {
  return text.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
