/** How full a file system is, by statfs(2), which needs no permission to read anything there. */
import type { Libc } from "./libc.ts";

/** In bytes. */
export interface FreeSpace {
  /** What a process without special rights may still use. */
  readonly free: number;
  readonly total: number;
}

/** Of the file system that holds `path`; `null` where the system does not tell. */
export type ReadFreeSpace = (path: string) => FreeSpace | null;

// `struct statfs` in words of 64 bits, the same on x86-64 and ARM: f_type, f_bsize, f_blocks, f_bfree, f_bavail.
const [blockSize, blocks, available] = [1, 2, 4];
const structWords = 32; // more than its 15
const maxPathBytes = 4_096;

/** Binds the question to the library. Code that gets it learns two numbers of a file system, and nothing of files. */
export function createFreeSpaceReader(libc: Libc): ReadFreeSpace {
  // Made before other code runs, which may replace what makes a buffer by what makes a smaller one.
  const words = new BigUint64Array(structWords);
  const pathBytes = new Uint8Array(maxPathBytes);
  const encoder = new TextEncoder();
  const encodeInto = encoder.encodeInto.bind(encoder);
  const toNumber = Number;
  const bytesAt = (index: number): number => toNumber((words[index] ?? 0n) * (words[blockSize] ?? 0n));
  return (path) => {
    const { read, written } = encodeInto(path, pathBytes);
    if (read < path.length || written >= maxPathBytes) return null;
    for (let at = 0; at < written; at++) if (pathBytes[at] === 0) return null;
    pathBytes[written] = 0;
    if (libc.statfs(pathBytes, words) !== 0) return null;
    return { free: bytesAt(available), total: bytesAt(blocks) };
  };
}
