/** How full a file system is, by statfs(2), which needs no permission to read anything there. */
import type { Libc } from "./libc.ts";
import { cPath, pathMax } from "./path_bytes.ts";

/** In bytes. */
export interface FreeSpace {
  /** What a process without special rights may still use. */
  readonly free: number;
  readonly total: number;
}

/** Of the file system that holds `path`, an absolute one, or would; `null` where the system does not tell. */
export type ReadFreeSpace = (path: string) => FreeSpace | null;

// `struct statfs` in words of 64 bits, the same on x86-64 and ARM: f_type, f_bsize, f_blocks, f_bfree, f_bavail.
const [blockSize, blocks, available] = [1, 2, 4];
const structWords = 32; // more than its 15
const slash = 0x2f;

/**
 * Binds the question to the library. Code that gets it learns two numbers of a file system, and nothing of files: of a
 * path that is not there the file system that would hold it.
 */
export function createFreeSpaceReader(libc: Libc): ReadFreeSpace {
  // Made before other code runs, which may replace what makes a buffer by what makes a smaller one.
  const words = new BigUint64Array(structWords);
  const bytes = new Uint8Array(pathMax);
  const toNumber = Number;
  const bytesAt = (index: number): number => toNumber((words[index] ?? 0n) * (words[blockSize] ?? 0n));
  return (path) => {
    cPath(path, bytes);
    let end = 0;
    while (bytes[end] !== 0) end++;
    while (libc.statfs(bytes, words) !== 0) { // then of the directory above
      if (bytes[0] !== slash || end <= 1) return null;
      for (let isName = true; isName && end > 1; bytes[end] = 0) isName = bytes[--end] !== slash;
    }
    return { free: bytesAt(available), total: bytesAt(blocks) };
  };
}
