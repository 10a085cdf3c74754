/**
 * Notices changes in open directories, by one inotify(7) instance for all of them. Deno's own watch also asks to be told
 * of each opened file: while a client waited for changes, a search woke it up for every file.
 */
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  errorOf,
  IN_ATTRIB,
  IN_CLOEXEC,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_IGNORED,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_ONLYDIR,
  IN_Q_OVERFLOW,
  inotifyLayout,
  KernelError,
  type Libc,
  MAP_FAILED,
  MAP_SHARED,
  PROT_READ,
  STATX_BASIC_STATS,
} from "./libc.ts";
import { cPath, lengthOf, pathMax, toName } from "./stored_name.ts";
import { createPathStatus, EntryStatus, statusBytes } from "./entry_status.ts";

/** An entry of a directory, and what became of it. */
interface ChangedEntry {
  readonly name: string;
  readonly change: "create" | "remove" | "rename" | "modify";
}

/** Is called with each change; with `null` when some went unseen: the directories should then be watched anew. */
export type OnEntryChange = (changed: ChangedEntry | null) => void;

/** Begins to watch the directory with this descriptor, and returns what ends it. */
type WatchDirectory = (descriptor: number, onChange: OnEntryChange) => () => void;

const eventMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
  IN_ONLYDIR;
const eventsBytes = 65_536;
const toBigInt = BigInt;
const Bytes = Uint8Array; // other code could have it make smaller ones

/** Binds the watch to the library. The instance stays: its number is never another file's while a thread reads it. */
export function createDirectoryWatch(libc: Libc): WatchDirectory {
  const watched = new Map<number, Set<OnEntryChange>>();
  const linkBytes = new Uint8Array(pathMax); // its own: other code can import the one of paths, and read the number
  let instance = -1;
  let isReading = false;

  const tell = (bytes: Uint8Array, length: number): void => {
    const words = new Int32Array(bytes.buffer);
    for (let at = 0; at < length;) {
      const word = (offset: number): number => words[(at + offset) >> 2] ?? 0;
      const [watch, mask, nameBytes] = [word(inotifyLayout.wd), word(inotifyLayout.mask), word(inotifyLayout.len)];
      const start = at + inotifyLayout.bytes;
      at = start + nameBytes;
      if (mask & IN_Q_OVERFLOW) tellAll(watched, null);
      if (mask & IN_IGNORED) watched.delete(watch); // the directory is gone, or no longer watched
      if (nameBytes === 0) continue; // of the directory itself
      const changed = { name: toName(bytes.subarray(start, bytes.indexOf(0, start))), change: changeOf(mask) };
      for (const onChange of [...watched.get(watch) ?? []]) onChange(changed);
    }
  };
  const read = async (): Promise<void> => {
    const bytes = new Bytes(eventsBytes);
    isReading = true;
    while (watched.size > 0) {
      // the end of the last watch is an event, too
      const length = await libc.readLater(instance, bytes, toBigInt(lengthOf(bytes)));
      if (length > 0) tell(bytes, length);
      else fail();
    }
    isReading = false;
  };
  const fail = (): void => {
    tellAll(watched, null);
    watched.clear();
  };

  return (descriptor, onChange) => {
    if (instance < 0) instance = libc.inotifyInit(IN_CLOEXEC);
    // by its magic link: there is no such call by descriptor
    const watch = instance < 0
      ? -1
      : libc.inotifyAdd(instance, cPath(`/proc/self/fd/${descriptor}`, linkBytes), eventMask);
    if (watch < 0) throw errorOf(libc);
    const listeners = watched.get(watch) ?? new Set(); // one watch an inode, however often it is asked for
    watched.set(watch, listeners.add(onChange));
    if (!isReading) void read();
    return () => {
      if (!listeners.delete(onChange) || listeners.size > 0 || watched.get(watch) !== listeners) return;
      watched.delete(watch);
      libc.inotifyRemove(instance, watch);
    };
  };
}

function tellAll(watched: ReadonlyMap<number, ReadonlySet<OnEntryChange>>, changed: ChangedEntry | null): void {
  for (const onChange of [...watched.values()].flatMap((listeners) => [...listeners])) onChange(changed);
}

function changeOf(mask: number): ChangedEntry["change"] {
  if (mask & (IN_MOVED_FROM | IN_MOVED_TO)) return "rename";
  return mask & IN_CREATE ? "create" : mask & IN_DELETE ? "remove" : "modify";
}

// Notices that a file was deleted, moved or replaced, by its name: whatever Deno lets this isolate look at.

/**
 * Returns a function that says whether the file at `path`, no link, is the one that was there. Code that gets it learns
 * of a file only that it has gone from its place.
 */
export type WatchPlace = (path: string) => () => boolean;

export function createPlaceWatch(libc: Libc): WatchPlace {
  return (path) => {
    const statusOf = createPathStatus(libc);
    /** `null`: it cannot be seen now. */
    const look = (): string | null => {
      try {
        const status = statusOf(path);
        return status === null ? "gone" : `${status.dev} ${status.ino}`;
      } catch (error) {
        return error instanceof KernelError && error.code === "ENOTDIR" ? "gone" : null;
      }
    };
    const before = look();
    return () => {
      const now = look();
      return before === null || before === "gone" || now === null || now === before;
    };
  };
}

// * Notices commits to a SQLite database without asking SQLite. In WAL mode each commit rewrites the header of the WAL
// index, the `-shm` file that all connections share (sqlite.org/walformat.html §2.1); SQLite itself compares these bytes
// to learn whether another connection has committed.

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
