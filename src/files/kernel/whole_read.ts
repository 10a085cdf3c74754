/** Reads small files in one go: a search opens thousands, and no object need stand for each while it is open. */
import type { Descriptor, WholeRead } from "./descriptor.ts";
import { statusBytes } from "./entry_status.ts";
import type { Libc } from "./libc.ts";
import { AT_EMPTY_PATH, openHowBytes, S_IFMT, S_IFREG, STATX_BASIC_STATS, statxLayout, SYS_openat2 } from "./numbers.ts";
import { cPath, lengthOf, pathMax } from "./path_bytes.ts";

const noPath = new Uint8Array(1);
const words = new Uint32Array(statusBytes.buffer);
const halves = new Uint16Array(statusBytes.buffer);
const toBigInt = BigInt;

/** `how` opens to read; `numberOf` gives a directory's number. */
export function createWholeRead(
  libc: Libc,
  how: BigUint64Array<ArrayBuffer>,
  numberOf: (directory: Descriptor) => number,
): (directory: Descriptor, path: string, buffer: Uint8Array<ArrayBuffer>) => WholeRead | null {
  return (directory, path, buffer) => {
    if (path.length >= pathMax) return null;
    const room = lengthOf(buffer);
    const number = libc.openat2(SYS_openat2, numberOf(directory), cPath(path), how, openHowBytes);
    if (number < 0) return null;
    try {
      if (libc.statx(number, noPath, AT_EMPTY_PATH, STATX_BASIC_STATS, statusBytes) !== 0) return null;
      if (((halves[statxLayout.stx_mode >> 1] ?? 0) & S_IFMT) !== S_IFREG) return null;
      const count = libc.pread(number, buffer, toBigInt(room), 0n);
      // what fills the buffer may go on
      if (count === room || count !== words[statxLayout.stx_size >> 2]) return null;
      return { sizeBytes: count, nlink: words[statxLayout.stx_nlink >> 2] ?? 0 };
    } finally {
      libc.close(number);
    }
  };
}
