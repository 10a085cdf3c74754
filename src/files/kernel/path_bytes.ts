/** Paths, names and positions as the kernel takes them: texts are bytes with a zero at the end. What later code could replace is taken now. */
import { KernelError } from "./libc.ts";
import { putNameBytes } from "./stored_name.ts";

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
