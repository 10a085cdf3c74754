/**
 * Notices commits to a SQLite database without asking SQLite. In WAL mode each commit rewrites the header of the WAL
 * index, the `-shm` file that all connections share (sqlite.org/walformat.html §2.1); SQLite itself compares these bytes
 * to learn whether another connection has committed.
 */
import { EntryStatus, statusBytes } from "./entry_status.ts";
import type { Libc } from "./libc.ts";
import { AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW, MAP_FAILED, MAP_SHARED, PROT_READ, STATX_BASIC_STATS } from "./numbers.ts";
import { cPath, pathMax } from "./path_bytes.ts";

/**
 * Returns a function whose number moves when anything may have been committed. `null` unless this process has the
 * database at `path` open in WAL mode.
 */
export type WatchCommits = (path: string) => (() => number) | null;

/** One of the header's two copies: the one that a commit writes last. */
const headerBytes = 48n;
const headerWords = 12;
const Words = Int32Array; // other code could have it make smaller ones
const walIndexVersion = 3_007_000;
const maxDescriptors = 65_536;

/** Binds the watch to the library. Code that gets it learns of a file only whether such a header has changed. */
export function createCommitWatch(libc: Libc): WatchCommits {
  const pathBytes = new Uint8Array(pathMax);

  // SQLite's own descriptor: POSIX drops a process's locks on a file when it closes any descriptor of that file.
  const findDescriptor = (path: string): number | null => {
    cPath(`${path}-shm`, pathBytes);
    if (libc.statx(AT_FDCWD, pathBytes, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, statusBytes) !== 0) return null;
    const wanted = new EntryStatus();
    if (wanted.size < headerBytes) return null; // to read beyond the end of a mapped file ends the process
    for (let number = 0; number < maxDescriptors; number++) {
      if (libc.statx(number, noPath, AT_EMPTY_PATH, STATX_BASIC_STATS, statusBytes) !== 0) continue;
      const found = new EntryStatus();
      if (found.ino === wanted.ino && found.dev === wanted.dev) return number;
    }
    return null;
  };

  // The mapping stays for as long as the process: there is one for each time that a server starts.
  return (path) => {
    const descriptor = findDescriptor(path);
    if (descriptor === null) return null;
    const header = new Words(headerWords);
    const last = new Words(headerWords);
    const address = libc.mmap(0n, headerBytes, PROT_READ, MAP_SHARED, descriptor, 0n);
    if (address === MAP_FAILED) return null;
    libc.copyMapped(header, address, headerBytes);
    if (header[0] !== walIndexVersion) return null;
    let count = 0;
    return () => {
      libc.copyMapped(header, address, headerBytes);
      for (let at = 0; at < header.length; at++) {
        if (header[at] === last[at]) continue;
        last.set(header);
        return ++count;
      }
      return count;
    };
  };
}

const noPath = new Uint8Array(1);
