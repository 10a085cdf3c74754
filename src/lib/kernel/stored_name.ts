/**
 * Names as Linux stores them are bytes, and need not be UTF-8. A byte that is part of no character becomes half a
 * surrogate pair, U+DC80 to U+DCFF (as PEP 383 has it), which no UTF-8 gives: each name has one text, and back.
 */
import { KernelError } from "./libc.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
export const decode = decoder.decode.bind(decoder);
const { fromCharCode } = String;
const unitAt: (text: string, at: number) => number = Function.prototype.call.bind(String.prototype.charCodeAt);

/** The text of a stored name, which mostly is UTF-8. */
export function toName(bytes: Uint8Array): string {
  const decoded = decode(bytes);
  return decoded.includes("\ufffd") ? toNameText(bytes) : decoded;
}

/** The text of a stored name, or of a path of them. */
function toNameText(bytes: Uint8Array): string {
  let text = "";
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    if (length === 0) {
      text += decode(bytes.subarray(start, at)) + fromCharCode(0xdc00 + (bytes[at] ?? 0));
      start = at + 1;
    }
    at += length || 1;
  }
  return text + decode(bytes.subarray(start));
}

/**
 * Puts the stored bytes that have this text into `buffer`, as far as they fit, and gives their number; `null` where
 * none have it, so that no name has two texts. Calls nothing that other code could have replaced.
 */
function putNameBytes(text: string, buffer: Uint8Array): number | null {
  let length = 0;
  let strays = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = unitAt(text, at);
    if (unit < 0x80) {
      buffer[length++] = unit;
      continue;
    }
    const next = unitAt(text, at + 1);
    const isPair = (unit & 0xfc00) === 0xd800 && (next & 0xfc00) === 0xdc00;
    if (isPair) at++;
    if (isPair || (unit & 0xf800) !== 0xd800) {
      length = putCharacter(isPair ? 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff) : unit, buffer, length);
      continue;
    }
    if (unit < 0xdc80 || unit > 0xdcff) return null;
    buffer[length++] = unit - 0xdc00;
    strays++;
  }
  buffer[length] = 0;
  for (let at = 0; strays > 0 && at < length;) { // strays that are a character together have another text
    const characterBytes = characterLength(buffer, at);
    if (characterBytes === 0) strays--;
    at += characterBytes || 1;
  }
  return strays === 0 ? length : null;
}

/** RFC 3629 §3, beyond ASCII. */
function putCharacter(code: number, buffer: Uint8Array, at: number): number {
  const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  buffer[at] = ((0xff00 >> (more + 1)) & 0xff) | (code >> (6 * more));
  for (let index = 1; index <= more; index++) buffer[at + index] = 0x80 | ((code >> (6 * (more - index))) & 0x3f);
  return at + more + 1;
}

/** The bytes of the character that starts at `at` (RFC 3629 §4); 0 where none does. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (let index = 1; index < length; index++) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
  const isOverlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90);
  const isSurrogate = lead === 0xed && second >= 0xa0;
  return isOverlong || isSurrogate || (lead === 0xf4 && second >= 0x90) ? 0 : length;
}

// Paths, names and positions as the kernel takes them: texts are bytes with a zero at the end. What later code could replace is taken now.

/** PATH_MAX of linux/limits.h, with the zero at the end. */
export const pathMax = 4_096;
const slash = 0x2f;
const dot = 0x2e;
/** What was made last of a path or name, and of a second one beside it. */
export const pathBytes = new Uint8Array(pathMax);
export const otherBytes = new Uint8Array(pathMax);
const maxOffset = Number.MAX_SAFE_INTEGER;
const toBigInt = BigInt;
const { apply } = Reflect;
const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength")?.get ??
  missing();

/** Its `byteLength`, whatever later code made of that. */
export function lengthOf(bytes: Uint8Array): number {
  return apply(lengthGetter, bytes, []);
}

/** A position in a file. */
export function toOffset(position: number): bigint {
  // valueOf() of an object could close the file, and what is beyond 64 bits would begin again at 0
  if (typeof position === "number" && position >= 0 && position <= maxOffset) return toBigInt(position);
  throw new KernelError("EINVAL");
}

/** A path as C has it, in `buffer`, until that is used again. Throws `KernelError` where it cannot be one. */
export function cPath(path: string, buffer = pathBytes): Uint8Array<ArrayBuffer> {
  if (typeof path !== "string") throw new KernelError("EINVAL"); // its toString() could give another path to this buffer
  if (path.length >= pathMax) throw new KernelError("ENAMETOOLONG");
  const length = putNameBytes(path, buffer);
  if (length === null) throw new KernelError("ENOENT");
  if (length >= pathMax) throw new KernelError("ENAMETOOLONG");
  for (let at = 0; at < length; at++) if (buffer[at] === 0) throw new KernelError("EINVAL");
  return buffer;
}

/** The same of one name, in {@link pathBytes}. */
export function cName(name: string): Uint8Array<ArrayBuffer> {
  cPath(name);
  requireName(pathBytes);
  return pathBytes;
}

/** The same of two, of which the second is in {@link otherBytes}: both are judged when both are there. */
export function cNames(name: string, otherName: string): void {
  cPath(otherName, otherBytes);
  cPath(name);
  requireName(otherBytes);
  requireName(pathBytes);
}

/** The bytes are judged, right before their use: code that was loaded later may have replaced the methods of texts. */
function requireName(bytes: Uint8Array<ArrayBuffer>): void {
  const isDots = bytes[0] === dot && (bytes[1] === 0 || (bytes[1] === dot && bytes[2] === 0));
  if (bytes[0] === 0 || isDots) throw new KernelError("EINVAL");
  for (let at = 0; at < pathMax && bytes[at] !== 0; at++) if (bytes[at] === slash) throw new KernelError("EINVAL");
}

function missing(): never {
  throw new TypeError("no byteLength");
}
