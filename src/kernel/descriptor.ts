/**
 * Open files and directories, by descriptor: a name is given to the kernel once, with the directory that it is in, and
 * the kernel refuses what leads out of there (openat2(2)). Names are single or paths without `..`; links are never
 * followed, and other mounts never entered. A descriptor cannot be made from a number, and does not tell its own.
 */
import { EntryStatus, statusBytes } from "./entry_status.ts";
import { errorOf, KernelError, type Libc } from "./libc.ts";
import { toNameBytes, toNameText } from "./stored_name.ts";
import {
  type Architecture,
  AT_EMPTY_PATH,
  AT_FDCWD,
  AT_NO_AUTOMOUNT,
  AT_REMOVEDIR,
  AT_SYMLINK_NOFOLLOW,
  direntLayout,
  LOCK_EX,
  LOCK_NB,
  LOCK_UN,
  openFlags,
  openHowBytes,
  RENAME_EXCHANGE,
  RENAME_NOREPLACE,
  RESOLVE_BENEATH,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
  RESOLVE_NO_XDEV,
  STATX_BASIC_STATS,
  STATX_BTIME,
  STATX_MNT_ID,
  SYS_openat2,
} from "./numbers.ts";

/**
 * What an entry is opened for: to look and go on from there, to read, to list, to make a new file, to add to one
 * that is made when it is missing, or to lock.
 */
type Purpose = "path" | "directory" | "read" | "list" | "create" | "append" | "lock" | "create_lock";

/** An entry of a directory. */
interface DirectoryEntry {
  /** Bytes that are not UTF-8 are half surrogate pairs (stored_name.ts), here and wherever a name is given. */
  readonly name: string;
  /** Its `DT_` type. */
  readonly type: number;
}

/** An open file or directory. Every method throws a {@link KernelError} when the system refuses. */
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
  readEntries(): readonly DirectoryEntry[];
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
  /** Waits for the lock of this file or directory. */
  lock(): void;
  /** Whether it got the lock at once. */
  tryLock(): boolean;
  unlock(): void;
  /** May be called several times. */
  close(): void;
}

const confined = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
const statusMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
/** PATH_MAX of linux/limits.h, with the zero at the end. */
const maxPathBytes = 4_096;
/** Longest write that is not given to another thread: shorter ones end in memory within microseconds. */
const maxWriteAtOnceBytes = 65_536;
const entriesBytes = 65_536;
const slash = 0x2f;
const dot = 0x2e;
/** How often a call is made again that a signal, or a rename elsewhere, has interrupted. */
const maxInterruptions = 100;

/** Where descriptors begin. */
export interface KernelRoots {
  /** Opens the directory at `path`, wherever it leads; everything else is opened below it. */
  open(path: string): Descriptor;
  /** What is at `path`, a link itself; `null` when there is nothing. */
  statusOf(path: string): EntryStatus | null;
}

/** Makes the way to open directories. Everything that later code could replace is taken now. */
export function createKernelRoots(libc: Libc, architecture: Architecture): KernelRoots {
  const flags = openFlags[architecture];
  const openHow = (purpose: number, mode: number, resolve: number): BigUint64Array<ArrayBuffer> =>
    BigUint64Array.of(BigInt(purpose | flags.O_CLOEXEC), BigInt(mode), BigInt(resolve));
  const noFollow = flags.O_NOFOLLOW | flags.O_NOCTTY;
  const hows: Readonly<Record<Purpose, BigUint64Array<ArrayBuffer>>> & { readonly __proto__: null } = {
    __proto__: null, // a purpose that is not here is none
    path: openHow(flags.O_PATH | flags.O_NOFOLLOW, 0, confined),
    directory: openHow(flags.O_PATH | flags.O_DIRECTORY | flags.O_NOFOLLOW, 0, confined),
    // without waiting: should it be a pipe, there may be no writer
    read: openHow(flags.O_NONBLOCK | noFollow, 0, confined),
    list: openHow(flags.O_DIRECTORY | noFollow, 0, confined),
    append: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_APPEND | flags.O_NONBLOCK | noFollow, 0o600, confined),
    create: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | noFollow, 0o666, confined),
    lock: openHow(flags.O_WRONLY | flags.O_NONBLOCK | noFollow, 0, confined),
    create_lock: openHow(flags.O_WRONLY | flags.O_CREAT | flags.O_NONBLOCK | noFollow, 0o600, confined),
  };
  const rootHow = openHow(flags.O_PATH | flags.O_DIRECTORY, 0, 0);
  const pathBytes = new Uint8Array(maxPathBytes);
  /** The path that was asked for last: of a workspace's directory, before each call. */
  const rootPathBytes = new Uint8Array(maxPathBytes);
  let rootPath = "";
  const otherPathBytes = new Uint8Array(maxPathBytes);
  const linkBytes = new Uint8Array(maxPathBytes);
  const entries = new Uint8Array(entriesBytes);
  const noPath = new Uint8Array(1);
  const encoder = new TextEncoder();
  const encodeInto = encoder.encodeInto.bind(encoder);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
  const decode = decoder.decode.bind(decoder);
  const toBigInt = BigInt;
  const { apply } = Reflect;
  const { isWellFormed } = String.prototype;
  const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength")?.get;
  if (lengthGetter === undefined) throw new TypeError("no byteLength");
  const lengthOf = (bytes: Uint8Array): number => apply(lengthGetter, bytes, []);
  const maker = Symbol("the right to make a descriptor");

  const cPath = (path: string, buffer = pathBytes): Uint8Array<ArrayBuffer> => {
    if (!apply(isWellFormed, path, [])) return cBytes(path, buffer);
    const { read, written } = encodeInto(path, buffer);
    if (read < path.length || written === maxPathBytes) throw new KernelError("ENAMETOOLONG");
    buffer[written] = 0;
    for (let at = 0; at < written; at++) if (buffer[at] === 0) throw new KernelError("EINVAL");
    return buffer;
  };
  /** A path with names that are not UTF-8. */
  const cBytes = (path: string, buffer: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    if (path.length >= maxPathBytes) throw new KernelError("ENAMETOOLONG");
    const bytes = toNameBytes(path);
    if (bytes === null) throw new KernelError("ENOENT");
    const length = lengthOf(bytes);
    if (length >= maxPathBytes) throw new KernelError("ENAMETOOLONG");
    for (let at = 0; at < length; at++) if ((buffer[at] = bytes[at] ?? 0) === 0) throw new KernelError("EINVAL");
    buffer[length] = 0;
    return buffer;
  };
  // The bytes are judged: code that was loaded later may have replaced the methods of texts.
  const cName = (name: string, buffer = pathBytes): Uint8Array<ArrayBuffer> => {
    const bytes = cPath(name, buffer);
    const isDots = bytes[0] === dot && (bytes[1] === 0 || (bytes[1] === dot && bytes[2] === 0));
    if (bytes[0] === 0 || isDots) throw new KernelError("EINVAL");
    for (let at = 0; bytes[at] !== 0; at++) if (bytes[at] === slash) throw new KernelError("EINVAL");
    return bytes;
  };
  const must = (result: number): void => {
    if (result < 0) throw errorOf(libc);
  };

  const statusAt = (directory: number, path: Uint8Array<ArrayBuffer>): EntryStatus | null => {
    const how = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    if (libc.statx(directory, path, how, statusMask, statusBytes) === 0) return new EntryStatus();
    const error = errorOf(libc);
    if (error.code === "ENOENT") return null;
    throw error;
  };

  class OpenDescriptor implements Descriptor {
    #number: number;

    constructor(right: symbol, number: number) {
      if (right !== maker) throw new TypeError("a descriptor is opened, not made");
      this.#number = number;
    }

    open(path: string, purpose: Purpose): Descriptor {
      const opened = this.tryOpen(path, purpose);
      if (typeof opened === "string") throw new KernelError(opened);
      return opened;
    }

    tryOpen(path: string, purpose: Purpose): Descriptor | string {
      const bytes = cPath(path);
      for (let attempt = 1;; attempt++) {
        const number = libc.openat2(SYS_openat2, this.#open(), bytes, hows[purpose], openHowBytes);
        if (number >= 0) return new OpenDescriptor(maker, number);
        const { code } = errorOf(libc);
        if ((code !== "EAGAIN" && code !== "EINTR") || attempt === maxInterruptions) return code;
      }
    }

    status(): EntryStatus {
      must(libc.statx(this.#open(), noPath, AT_EMPTY_PATH, statusMask, statusBytes));
      return new EntryStatus();
    }

    statusOf(name: string): EntryStatus | null {
      return statusAt(this.#open(), cName(name));
    }

    readLink(name: string): string | null {
      const length = libc.readlinkat(this.#open(), cName(name), linkBytes, toBigInt(maxPathBytes));
      must(length);
      const target = decode(linkBytes.subarray(0, length));
      return target.includes("\ufffd") ? null : target;
    }

    readEntries(): readonly DirectoryEntry[] {
      const found: DirectoryEntry[] = [];
      while (found.length === 0) {
        const length = libc.getdents64(this.#open(), entries, toBigInt(entriesBytes));
        must(length);
        if (length === 0) break;
        for (let at = 0; at < length;) {
          const start = at + direntLayout.d_name;
          const stored = entries.subarray(start, entries.indexOf(0, start));
          const decoded = decode(stored);
          const name = decoded.includes("\ufffd") ? toNameText(stored) : decoded;
          const type = entries[at + direntLayout.d_type] ?? 0;
          if (name !== "." && name !== "..") found.push({ name, type });
          at += (entries[at + direntLayout.d_reclen] ?? 0) + (entries[at + direntLayout.d_reclen + 1] ?? 0) * 256;
        }
      }
      return found;
    }

    makeDirectory(name: string, mode: number): void {
      must(libc.mkdirat(this.#open(), cName(name), mode));
    }

    removeFile(name: string): void {
      must(libc.unlinkat(this.#open(), cName(name), 0));
    }

    removeDirectory(name: string): void {
      must(libc.unlinkat(this.#open(), cName(name), AT_REMOVEDIR));
    }

    link(name: string, to: Descriptor, newName: string): void {
      const target = numberOf(to);
      must(libc.linkat(this.#open(), cName(name), target, cName(newName, otherPathBytes), 0));
    }

    rename(name: string, to: Descriptor, newName: string): void {
      const target = numberOf(to);
      must(libc.renameat(this.#open(), cName(name), target, cName(newName, otherPathBytes)));
    }

    renameNew(name: string, to: Descriptor, newName: string): void {
      const target = numberOf(to);
      must(libc.renameat2(this.#open(), cName(name), target, cName(newName, otherPathBytes), RENAME_NOREPLACE));
    }

    exchange(name: string, to: Descriptor, otherName: string): void {
      const target = numberOf(to);
      must(libc.renameat2(this.#open(), cName(name), target, cName(otherName, otherPathBytes), RENAME_EXCHANGE));
    }

    read(buffer: Uint8Array<ArrayBuffer>, position: number): number {
      const count = libc.pread(this.#open(), buffer, toBigInt(lengthOf(buffer)), toBigInt(position));
      must(count);
      return count;
    }

    async readLater(buffer: Uint8Array<ArrayBuffer>, position: number): Promise<number> {
      const count = await libc.preadLater(this.#open(), buffer, toBigInt(lengthOf(buffer)), toBigInt(position));
      return count < 0 ? this.read(buffer, position) : count; // again here, where the reason can be asked for
    }

    async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
      let rest = bytes;
      while (lengthOf(rest) > 0) {
        let count = lengthOf(rest) <= maxWriteAtOnceBytes
          ? libc.write(this.#open(), rest, toBigInt(lengthOf(rest)))
          : await libc.writeLater(this.#open(), rest, toBigInt(lengthOf(rest)));
        if (count < 0) must(count = libc.write(this.#open(), rest, toBigInt(lengthOf(rest))));
        rest = rest.subarray(count);
      }
    }

    writeNow(bytes: Uint8Array<ArrayBuffer>): void {
      for (let rest = bytes; lengthOf(rest) > 0;) {
        const count = libc.write(this.#open(), rest, toBigInt(lengthOf(rest)));
        must(count);
        rest = rest.subarray(count);
      }
    }

    async flush(): Promise<void> {
      // not again: the kernel reports a write that failed once only
      if (await libc.fdatasyncLater(this.#open()) < 0) throw new KernelError("EIO");
    }

    setMode(mode: number): void {
      must(libc.fchmod(this.#open(), mode));
    }

    setOwner(uid: number, gid: number): void {
      must(libc.fchown(this.#open(), uid, gid));
    }

    lock(): void {
      for (let attempt = 1;; attempt++) {
        if (libc.flock(this.#open(), LOCK_EX) === 0) return;
        const error = errorOf(libc);
        if (error.code !== "EINTR" || attempt === maxInterruptions) throw error;
      }
    }

    tryLock(): boolean {
      if (libc.flock(this.#open(), LOCK_EX | LOCK_NB) === 0) return true;
      const error = errorOf(libc);
      if (error.code === "EAGAIN") return false;
      throw error;
    }

    unlock(): void {
      must(libc.flock(this.#open(), LOCK_UN));
    }

    close(): void {
      if (this.#number < 0) return;
      libc.close(this.#number);
      this.#number = -1;
    }

    #open(): number {
      if (this.#number < 0) throw new KernelError("EBADF"); // never AT_FDCWD
      return this.#number;
    }

    static numberOf(descriptor: Descriptor): number {
      if (!(#number in descriptor)) throw new KernelError("EBADF");
      return descriptor.#open();
    }
  }
  const { numberOf } = OpenDescriptor;

  return {
    open(path) {
      const number = libc.openat2(SYS_openat2, AT_FDCWD, cPath(path), rootHow, openHowBytes);
      must(number);
      return new OpenDescriptor(maker, number);
    },
    statusOf(path) {
      if (path !== rootPath) {
        cPath(path, rootPathBytes);
        rootPath = path;
      }
      return statusAt(AT_FDCWD, rootPathBytes);
    },
  };
}
