/** Paths and names as the kernel takes them: bytes with a zero at the end. What later code could replace is taken now. */
import { KernelError } from "./libc.ts";
import { toNameBytes } from "./stored_name.ts";

/** PATH_MAX of linux/limits.h, with the zero at the end. */
export const pathMax = 4_096;
const slash = 0x2f;
const dot = 0x2e;
const pathBytes = new Uint8Array(pathMax);
const encoder = new TextEncoder();
const encodeInto = encoder.encodeInto.bind(encoder);
const { apply } = Reflect;
const { isWellFormed } = String.prototype;
const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength")?.get ??
  missing();

/** Its `byteLength`, whatever later code made of that. */
export function lengthOf(bytes: Uint8Array): number {
  return apply(lengthGetter, bytes, []);
}

/** A path as C has it, in `buffer`, until that is used again. Throws `KernelError` where it cannot be one. */
export function cPath(path: string, buffer = pathBytes): Uint8Array<ArrayBuffer> {
  if (typeof path !== "string") throw new KernelError("EINVAL"); // its toString() could give another path to this buffer
  if (!apply(isWellFormed, path, [])) return cBytes(path, buffer);
  const { read, written } = encodeInto(path, buffer);
  if (read < path.length || written === pathMax) throw new KernelError("ENAMETOOLONG");
  buffer[written] = 0;
  for (let at = 0; at < written; at++) if (buffer[at] === 0) throw new KernelError("EINVAL");
  return buffer;
}

/** A path with names that are not UTF-8. */
function cBytes(path: string, buffer: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (path.length >= pathMax) throw new KernelError("ENAMETOOLONG");
  const bytes = toNameBytes(path);
  if (bytes === null) throw new KernelError("ENOENT");
  const length = lengthOf(bytes);
  if (length >= pathMax) throw new KernelError("ENAMETOOLONG");
  for (let at = 0; at < length; at++) if ((buffer[at] = bytes[at] ?? 0) === 0) throw new KernelError("EINVAL");
  buffer[length] = 0;
  return buffer;
}

/** The same of one name. The bytes are judged: code that was loaded later may have replaced the methods of texts. */
export function cName(name: string, buffer = pathBytes): Uint8Array<ArrayBuffer> {
  const bytes = cPath(name, buffer);
  const isDots = bytes[0] === dot && (bytes[1] === 0 || (bytes[1] === dot && bytes[2] === 0));
  if (bytes[0] === 0 || isDots) throw new KernelError("EINVAL");
  for (let at = 0; bytes[at] !== 0; at++) if (bytes[at] === slash) throw new KernelError("EINVAL");
  return bytes;
}

function missing(): never {
  throw new TypeError("no byteLength");
}
