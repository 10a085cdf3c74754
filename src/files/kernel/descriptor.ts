/**
 * Open files and directories, by descriptor: a name is given to the kernel once, with the directory that it is in, and
 * the kernel refuses what leads out of there (openat2(2)). Names are single or paths without `..`; links are never
 * followed, and other mounts never entered. A descriptor cannot be made from a number, and does not tell its own.
 */
import type { OnEntryChange } from "./directory_watch.ts";
import type { EntryStatus } from "./entry_status.ts";

/**
 * What an entry is opened for: to look and go on from there, to read, to list, to make a new file, to add to one
 * that is made when it is missing, or to lock.
 */
export type Purpose = "path" | "directory" | "read" | "list" | "create" | "append" | "lock" | "create_lock";

/** An entry of a directory. */
export interface ListedName {
  /** Bytes that are not UTF-8 are half surrogate pairs (stored_name.ts), here and wherever a name is given. */
  readonly name: string;
  /** Its `DT_` type. */
  readonly type: number;
}

/** An open file or directory. Every method throws a `KernelError` when the system refuses. */
export interface Descriptor {
  /** Opens what lies at `path` below this directory; `mode` of a new file is 0666 less the umask, of a lock 0600. */
  open(path: string, purpose: Purpose): Descriptor;
  /** The same, or the error's code: for what often is not there. */
  tryOpen(path: string, purpose: Purpose): Descriptor | string;
  status(): EntryStatus;
  /** An entry of this directory, a link itself; `null` when there is none. */
  statusOf(name: string): EntryStatus | null;
  /** Where a link in this directory leads; `null` when that is not UTF-8. */
  readLink(name: string): string | null;
  /** The next entries of this directory, opened to `list`; none at the end. */
  readEntries(): readonly ListedName[];
  /** Tells of changes in this directory until the returned function is called; it may be closed before. */
  watch(onChange: OnEntryChange): () => void;
  makeDirectory(name: string, mode: number): void;
  removeFile(name: string): void;
  removeDirectory(name: string): void;
  link(name: string, to: Descriptor, newName: string): void;
  rename(name: string, to: Descriptor, newName: string): void;
  /** The same, unless something of that name is there: EEXIST. */
  renameNew(name: string, to: Descriptor, newName: string): void;
  /** Two entries take each other's name in one step. */
  exchange(name: string, to: Descriptor, otherName: string): void;
  /** Bytes read at `position` into `buffer`; 0 at the end. */
  read(buffer: Uint8Array<ArrayBuffer>, position: number): number;
  readLater(buffer: Uint8Array<ArrayBuffer>, position: number): Promise<number>;
  /** Writes all of it where the last write ended. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** The same at once, for a few bytes. */
  writeNow(bytes: Uint8Array<ArrayBuffer>): void;
  /** Resolves when what was written is on the disk. */
  flush(): Promise<void>;
  setMode(mode: number): void;
  setOwner(uid: number, gid: number): void;
  /** Whether it got the lock of this file or directory, which it does not wait for. */
  tryLock(): boolean;
  unlock(): void;
  /** May be called several times. */
  close(): void;
}

/** A regular file that was read whole. */
export interface WholeRead {
  readonly sizeBytes: number;
  readonly nlink: number;
}

/** Where descriptors begin. */
export interface KernelRoots {
  /** Opens the directory at `path`, wherever it leads; everything else is opened below it. */
  open(path: string): Descriptor;
  /** What is at `path`, a link itself; `null` when there is nothing. */
  statusOf(path: string): EntryStatus | null;
  /** Reads the regular file at `path` below a directory; `null` where the buffer has no room left, or anything failed. */
  readWhole(directory: Descriptor, path: string, buffer: Uint8Array<ArrayBuffer>): WholeRead | null;
}
