/**
 * Open files and directories, by descriptor: a name is given to the kernel once, with the directory that it is in, and
 * the kernel refuses what leads out of there (openat2(2)). Names are single or paths without `..`; links are never
 * followed, and other mounts never entered. A descriptor cannot be made from a number, and does not tell its own.
 * Beneath: the calls themselves, and what they say of an entry.
 */
import { type Architecture, dirent, errorNames, file, type Libc, openat2, openFlags, statx } from "./libc.ts";

/**
 * What an entry is opened for: to look and go on from there, to read, to list, to make a new file, to add to one
 * that is made when it is missing, or to lock.
 */
type Purpose = "path" | "directory" | "read" | "list" | "create" | "append" | "lock" | "create_lock";

/** An entry of a directory. */
export interface ListedName {
  /** Bytes that are not UTF-8 are half surrogate pairs, here and wherever a name is given. */
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
}

/** An open file or directory. Every method throws a `KernelError` when the system refuses. */
export interface Descriptor<Status = EntryStatus> {
  /** Opens what lies at `path` below this directory; `mode` of a new file is 0666 less the umask, of a lock 0600. */
  open(path: string, purpose: Purpose): Descriptor<Status>;
  /** The same, or the error's code: for what often is not there. */
  tryOpen(path: string, purpose: Purpose): Descriptor<Status> | string;
  status(): Status;
  /** An entry of this directory, a link itself; `null` when there is none. */
  statusOf(name: string): Status | null;
  /** Where a link in this directory leads; `null` when that is not UTF-8. */
  readLink(name: string): string | null;
  /** The next entries of this directory, opened to `list`; none at the end. */
  readEntries(): readonly ListedName[];
  makeDirectory(name: string, mode: number): void;
  removeFile(name: string): void;
  removeDirectory(name: string): void;
  link(name: string, to: Descriptor<Status>, newName: string): void;
  rename(name: string, to: Descriptor<Status>, newName: string): void;
  /** The same, unless something of that name is there: EEXIST. */
  renameNew(name: string, to: Descriptor<Status>, newName: string): void;
  /** Bytes read at `position` into `buffer`; 0 at the end. */
  read(buffer: Uint8Array, position: number): number;
  readLater(buffer: Uint8Array, position: number): Promise<number>;
  /** Writes all of it where the last write ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** The same at once, for a few bytes. */
  writeNow(bytes: Uint8Array): void;
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

/** Where descriptors begin. */
export interface KernelRoots<Status = EntryStatus> {
  /** Opens the directory at `path`, wherever it leads; everything else is opened below it. */
  open(path: string): Descriptor<Status>;
  /** What is at `path`, a link itself; `null` when there is nothing. */
  statusOf(path: string): Status | null;
}

const { AT_EMPTY_PATH, AT_FDCWD, AT_NO_AUTOMOUNT, AT_REMOVEDIR, AT_SYMLINK_NOFOLLOW } = file;
const { LOCK_EX, LOCK_NB, LOCK_UN, MAP_SHARED, PROT_READ, RENAME_NOREPLACE } = file;
// What later code could replace is taken now.
const toBigInt = BigInt;
const { apply } = Reflect;
const { freeze } = Object;
const { then } = Promise.prototype;
/** Longest write that is not given to another thread: shorter ones end in memory within microseconds. */
const maxWriteAtOnceBytes = 65_536;
const entriesBytes = 65_536;

/** Makes the way to open directories. Everything that later code could replace is taken now. */
export function createKernelRoots(libc: Libc, architecture: Architecture) {
  const { hows, rootHow } = createOpenHows(architecture);
  const linkBytes = new Uint8Array(pathMax);
  const entries = new Uint8Array(entriesBytes);
  const maker = Symbol("the right to make a descriptor");

  const must = (call: () => number): number => mustCall(libc, call);
  /** Gives the rest. A write of nothing would be tried for ever. */
  const writeSome = (number: number, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    const count = must(() => libc.write(number, bytes, toBigInt(lengthOf(bytes))));
    if (count === 0) throw new KernelError("EIO");
    return bytes.subarray(count);
  };
  let numberOf!: (descriptor: Descriptor) => number;
  class OpenDescriptor implements Descriptor {
    #number: number;
    #running = 0; // calls of it on other threads

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
      const how = hows[purpose];
      const bytes = cPath(path);
      const opened = tryCall(libc, () => libc.openat2(SYS_openat2, this.#open(), bytes, how, openHowBytes));
      return typeof opened === "string" ? opened : new OpenDescriptor(maker, opened);
    }

    status(): EntryStatus {
      return statusOfOpen(libc, this.#open());
    }

    statusOf(name: string): EntryStatus | null {
      const bytes = cName(name);
      return statusAt(libc, this.#open(), bytes);
    }

    readLink(name: string): string | null {
      const length = must(() => libc.readlinkat(this.#open(), cName(name), linkBytes, toBigInt(pathMax)));
      const target = decode(linkBytes.subarray(0, length));
      return target.includes("\ufffd") ? null : target;
    }

    readEntries(): readonly ListedName[] {
      const found: ListedName[] = [];
      const statusOf = (name: string): EntryStatus | null => this.statusOf(name);
      while (found.length === 0) {
        const length = must(() => libc.getdents64(this.#open(), entries, toBigInt(entriesBytes)));
        if (length === 0) break;
        addListedNames(found, entries, length, statusOf);
      }
      return found;
    }

    makeDirectory(name: string, mode: number): void {
      must(() => libc.mkdirat(this.#open(), cName(name), mode));
    }

    removeFile(name: string): void {
      must(() => libc.unlinkat(this.#open(), cName(name), 0));
    }

    removeDirectory(name: string): void {
      must(() => libc.unlinkat(this.#open(), cName(name), AT_REMOVEDIR));
    }

    link(name: string, to: Descriptor, newName: string): void {
      cNames(name, newName);
      must(() => libc.linkat(this.#open(), pathBytes, numberOf(to), otherBytes, 0));
    }

    rename(name: string, to: Descriptor, newName: string): void {
      cNames(name, newName);
      must(() => libc.renameat(this.#open(), pathBytes, numberOf(to), otherBytes));
    }

    renameNew(name: string, to: Descriptor, newName: string): void {
      cNames(name, newName);
      must(() => libc.renameat2(this.#open(), pathBytes, numberOf(to), otherBytes, RENAME_NOREPLACE));
    }

    read(buffer: Uint8Array<ArrayBuffer>, position: number): number {
      const offset = toOffset(position);
      return must(() => libc.pread(this.#open(), buffer, toBigInt(lengthOf(buffer)), offset));
    }

    async readLater(buffer: Uint8Array<ArrayBuffer>, position: number): Promise<number> {
      const offset = toOffset(position);
      const count = await this.#later((own) => libc.preadLater(own, buffer, toBigInt(lengthOf(buffer)), offset));
      return count < 0 ? this.read(buffer, position) : count; // again here, where the reason can be asked for
    }

    async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
      let rest = bytes;
      while (lengthOf(rest) > maxWriteAtOnceBytes) {
        const part = rest;
        const count = await this.#later((own) => libc.writeLater(own, part, toBigInt(lengthOf(part))));
        rest = count > 0 ? part.subarray(count) : writeSome(this.#open(), part); // again here, as above
      }
      this.writeNow(rest);
    }

    writeNow(bytes: Uint8Array<ArrayBuffer>): void {
      for (let rest = bytes; lengthOf(rest) > 0;) rest = writeSome(this.#open(), rest);
    }

    async flush(): Promise<void> {
      // not again: the kernel reports a write that failed once only
      if (await this.#later((own) => libc.fdatasyncLater(own)) < 0) throw new KernelError("EIO");
    }

    setMode(mode: number): void {
      must(() => libc.fchmod(this.#open(), mode));
    }

    setOwner(uid: number, gid: number): void {
      must(() => libc.fchown(this.#open(), uid, gid));
    }

    tryLock(): boolean {
      const locked = tryCall(libc, () => libc.flock(this.#open(), LOCK_EX | LOCK_NB));
      if (locked === 0) return true;
      if (locked === "EAGAIN") return false;
      throw new KernelError(`${locked}`);
    }

    unlock(): void {
      must(() => libc.flock(this.#open(), LOCK_UN));
    }

    close(): void {
      if (this.#number >= 0 && this.#running === 0) libc.close(this.#number);
      this.#number = -1;
    }

    /** A call on another thread: its number is free for no other file before it ends, and only its end counts. */
    #later(call: (number: number) => Promise<number>): Promise<number> {
      const number = this.#open();
      const end = (): void => {
        if (--this.#running === 0 && this.#number < 0) libc.close(number);
      };
      this.#running++;
      try {
        const called = call(number);
        apply(then, called, [end, end]);
        return called;
      } catch (error) {
        end();
        throw error;
      }
    }

    #open(): number {
      if (this.#number < 0) throw new KernelError("EBADF"); // never AT_FDCWD
      return this.#number;
    }

    // on no object that is handed out: the class can be reached from each of them
    static {
      numberOf = (descriptor) => {
        if (!(#number in descriptor)) throw new KernelError("EBADF");
        return descriptor.#open();
      };
      freeze(this.prototype);
      freeze(this);
    }
  }

  const roots = freeze<KernelRoots>({
    open(path: string): Descriptor {
      return new OpenDescriptor(
        maker,
        must(() => libc.openat2(SYS_openat2, AT_FDCWD, cPath(path), rootHow, openHowBytes)),
      );
    },
    statusOf: (path) => statusAt(libc, AT_FDCWD, cPath(path)),
  });
  /**
   * Returns a function that copies a file's first bytes as they are now into `buffer`, without a system call: the file
   * stays mapped for as long as the process, which ends if they are read once the file is shorter.
   */
  const mapStart = (opened: Descriptor, buffer: Uint8Array<ArrayBuffer>): () => void => {
    const size = toBigInt(must(() => libc.pread(numberOf(opened), buffer, toBigInt(lengthOf(buffer)), toBigInt(0))));
    const address = libc.mmap(toBigInt(0), size, PROT_READ, MAP_SHARED, numberOf(opened), toBigInt(0));
    must(() => address < 0 ? -1 : 0);
    return () => libc.copyMapped(buffer, address, size);
  };
  return { roots, watchCommits: createCommitWatch(roots, mapStart) };
}

/** Opens each of `directories`, wherever it leads, and the directories in it, which links do not replace. */
export function confineRoots(roots: KernelRoots, directories: readonly string[]): KernelRoots {
  const own = Object.freeze([...directories]);
  /** Always one of them, whatever later code replaces. */
  const find = (isIt: (directory: string) => boolean): string | undefined => {
    for (let at = 0; at < own.length; at++) if (isIt(own[at] ?? "")) return own[at];
    return undefined;
  };
  const within = <T>(path: string, use: (base: Descriptor, name: string) => T): T => {
    const directory = find((each) => path.startsWith(`${each}/`));
    if (directory === undefined) throw new KernelError("EACCES");
    return inDirectory(roots, directory, (base) => use(base, path.slice(directory.length + 1)));
  };
  return Object.freeze<KernelRoots>({
    open: (path) =>
      find((each) => path === each) !== undefined
        ? roots.open(path)
        : within(path, (base, name) => base.open(name, "directory")),
    statusOf: (path): EntryStatus | null =>
      find((each) => path === each) !== undefined
        ? roots.statusOf(path)
        : within(path, (base, name) => base.statusOf(name)),
  });
}

/** Has the directory open for as long as it is used. */
function inDirectory<T>(roots: KernelRoots, path: string, use: (directory: Descriptor) => T): T {
  const directory = roots.open(path);
  try {
    return use(directory);
  } finally {
    directory.close();
  }
}

/**
 * Returns a function that says whether anything may have been committed to the open SQLite database at `path` since it
 * was last called. In WAL mode each commit writes the header of the WAL's index, the `-shm` file that all connections
 * share (sqlite.org/walformat.html §2.1), before it returns. Code that gets it learns only whether that header changed.
 */
export type WatchCommits = (path: string) => () => boolean;

/** One of the header's two copies: the one that a commit writes last. */
const headerBytes = 48;

/** To ask SQLite for each call makes `bench` echo take 1.3 times the processor time, file_read 1.2. While so, this stays. */
function createCommitWatch(
  roots: KernelRoots,
  mapStart: (opened: Descriptor, buffer: Uint8Array<ArrayBuffer>) => () => void,
): WatchCommits {
  return (path) => {
    const end = path.lastIndexOf("/");
    // Never closed: POSIX drops a process's locks on a file when it closes any descriptor of that file.
    const name = `${path.slice(end + 1)}-shm`;
    const index = inDirectory(roots, path.slice(0, end) || "/", (directory) => directory.open(name, "read"));
    const [header, last] = [new Uint8Array(headerBytes), new Uint8Array(headerBytes)];
    const look = mapStart(index, header);
    return () => {
      look();
      for (let at = 0; at < headerBytes; at++) {
        if (header[at] === last[at]) continue;
        last.set(header);
        return true;
      }
      return false;
    };
  };
}

// * Calls of the system, and why they fail.

const lastError = new Int32Array(1);

/** Why the last call of this thread failed. Only right after it, and not for calls that ran on another thread. */
function lastErrorName(libc: Libc): string {
  libc.memcpy(lastError, libc.errnoLocation(), 4n);
  const number = lastError[0] ?? 0;
  return errorNames[number] ?? `E${number}`;
}

/** How often a call is made again whose failure may be another's. */
const maxRepeats = 100;

/**
 * What `call` returns, or why the system refuses it. A call that failed has changed nothing, and is made again where a
 * signal or a rename elsewhere interrupted it, or where the reason may be that of a wait: V8 waits for its own threads
 * whenever it collects garbage, also between a call and the question why the call failed.
 */
function tryCall(libc: Libc, call: () => number): number | string {
  for (let repeats = 0;; repeats++) {
    const result = call();
    if (result >= 0) return result;
    const code = lastErrorName(libc);
    const isDoubtful = code === "EAGAIN" || code === "EINTR" || code === "EINVAL" || code === "ETIMEDOUT";
    if (!isDoubtful || repeats === maxRepeats) return code;
  }
}

/** The same, but throws a `KernelError`. */
function mustCall(libc: Libc, call: () => number): number {
  const result = tryCall(libc, call);
  if (typeof result === "string") throw new KernelError(result);
  return result;
}

/** A call that failed, with the system's name for the reason. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  constructor(readonly code: string) {
    super(`the system refused a file operation: ${code}`);
  }
}

freeze(KernelError.prototype);
freeze(KernelError);

// * What statx(2) says of an entry, in the members of `Deno.FileInfo` that the workspace uses.

const { S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, STATX_BASIC_STATS, STATX_BTIME, STATX_MNT_ID } = statx;
const statusMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
const bitsOfWord = 32n;
const noPath = new Uint8Array(1);

/** The words of a `struct statx`; reused from call to call. */
const statusBytes = new Uint8Array(statx.bytes);
const words = new Uint32Array(statusBytes.buffer);
const halves = new Uint16Array(statusBytes.buffer);

/** One entry as it was when it was looked at: what the last statx(2) left in {@link statusBytes}. */
class EntryStatus {
  readonly mode = half(statx.stx_mode);
  readonly isFile = (this.mode & S_IFMT) === S_IFREG;
  readonly isDirectory = (this.mode & S_IFMT) === S_IFDIR;
  readonly isSymlink = (this.mode & S_IFMT) === S_IFLNK;
  readonly nlink = word(statx.stx_nlink);
  readonly uid = word(statx.stx_uid);
  readonly gid = word(statx.stx_gid);
  /** Exact: overlayfs and others use all 64 bits, and neighbours would be one number. */
  readonly ino = exactLong(statx.stx_ino);
  readonly dev = word(statx.stx_dev_major) * 2 ** 32 + word(statx.stx_dev_minor);
  readonly size = long(statx.stx_size);
  /** Tells a mount of the same file system from what is around it. */
  readonly mountId = long(statx.stx_mnt_id);
  readonly mtimeMs = milliseconds(statx.stx_mtime);
  readonly ctimeMs = milliseconds(statx.stx_ctime);
  readonly #birthtimeMs = milliseconds(statx.stx_btime);

  get mtime(): Date {
    return new Date(this.mtimeMs);
  }

  get ctime(): Date {
    return new Date(this.ctimeMs);
  }

  get birthtime(): Date {
    return new Date(this.#birthtimeMs);
  }
}

freeze(EntryStatus.prototype);
freeze(EntryStatus);

/** What is at a path, a link itself; `null` when there is nothing. */
function statusAt(libc: Libc, directory: number, path: Uint8Array<ArrayBuffer>): EntryStatus | null {
  const how = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  const result = tryCall(libc, () => libc.statx(directory, path, how, statusMask, statusBytes));
  if (result === 0) return new EntryStatus();
  if (result === "ENOENT") return null;
  throw new KernelError(`${result}`);
}

/** What a descriptor is open for. */
function statusOfOpen(libc: Libc, number: number): EntryStatus {
  mustCall(libc, () => libc.statx(number, noPath, AT_EMPTY_PATH, statusMask, statusBytes));
  return new EntryStatus();
}

function half(offset: number): number {
  return halves[offset >> 1] ?? 0;
}

function word(offset: number): number {
  return words[offset >> 2] ?? 0;
}

function long(offset: number): number {
  return word(offset + 4) * 2 ** 32 + word(offset);
}

function exactLong(offset: number): number | bigint {
  const high = word(offset + 4);
  return high < 2 ** 21 ? high * 2 ** 32 + word(offset) : (toBigInt(high) << bitsOfWord) + toBigInt(word(offset));
}

/** `struct statx_timestamp`: seconds with a sign, then nanoseconds. Whole milliseconds, as Deno tells them. */
function milliseconds(offset: number): number {
  const seconds = (word(offset + 4) | 0) * 2 ** 32 + word(offset);
  return seconds * 1_000 + Math.floor(word(offset + 8) / 1_000_000);
}

// * Names as getdents64(2) puts them into a buffer.

const { d_name, d_reclen, d_type, DT_DIR, DT_LNK, DT_REG, DT_UNKNOWN } = dirent;

/** Adds the names in the first `length` bytes, without the directory itself and the one above. */
function addListedNames(
  found: ListedName[],
  entries: Uint8Array,
  length: number,
  statusOf: (name: string) => EntryStatus | null,
): void {
  for (let at = 0; at < length;) {
    const start = at + d_name;
    const name = toName(entries.subarray(start, entries.indexOf(0, start)));
    const type = entries[at + d_type] ?? 0;
    if (name !== "." && name !== "..") found.push({ name, kind: kindOf(name, type, statusOf) });
    at += (entries[at + d_reclen] ?? 0) + (entries[at + d_reclen + 1] ?? 0) * 256;
  }
}

function kindOf(name: string, type: number, statusOf: (name: string) => EntryStatus | null): ListedName["kind"] {
  if (type === DT_REG) return "file";
  if (type === DT_DIR) return "directory";
  if (type === DT_LNK) return "link";
  const status = type === DT_UNKNOWN ? statusOf(name) : null; // a file system that does not tell
  return status?.isSymlink ? "link" : status?.isDirectory ? "directory" : status?.isFile ? "file" : "other";
}

// * Names as Linux stores them are bytes, and need not be UTF-8. A byte that is part of no character becomes half a
// surrogate pair, U+DC80 to U+DCFF (as PEP 383 has it), which no UTF-8 gives: each name has one text, and back.

const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
const decode = decoder.decode.bind(decoder);
const { fromCharCode } = String;
const unitAt: (text: string, at: number) => number = Function.prototype.call.bind(String.prototype.charCodeAt);

/** The text of a stored name, which mostly is UTF-8. */
function toName(bytes: Uint8Array): string {
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

// * Paths, names and positions as the kernel takes them: texts are bytes with a zero at the end.

/** PATH_MAX of linux/limits.h, with the zero at the end. */
export const pathMax = 4_096;
const slash = 0x2f;
const dot = 0x2e;
/** What was made last of a path or name, and of a second one beside it. */
const pathBytes = new Uint8Array(pathMax);
const otherBytes = new Uint8Array(pathMax);
const maxOffset = Number.MAX_SAFE_INTEGER;
const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength")?.get ??
  missing();

/** Its `byteLength`, whatever later code made of that. */
function lengthOf(bytes: Uint8Array): number {
  return apply(lengthGetter, bytes, []);
}

/** A position in a file. */
function toOffset(position: number): bigint {
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
function cName(name: string): Uint8Array<ArrayBuffer> {
  cPath(name);
  requireName(pathBytes);
  return pathBytes;
}

/** The same of two, of which the second is in {@link otherBytes}: both are judged when both are there. */
function cNames(name: string, otherName: string): void {
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

// * Flags of openat2(2) for each purpose: nothing may lead out of the directory, and no link is followed.

const { openHowBytes, RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, SYS_openat2 } =
  openat2;
const confined = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;

type OpenHow = BigUint64Array<ArrayBuffer>;

/** The structures `open_how` by purpose, and the one for a workspace's own directory, which may lie anywhere. */
function createOpenHows(architecture: Architecture): {
  readonly hows: Readonly<Record<Purpose, OpenHow>> & { readonly __proto__: null };
  readonly rootHow: OpenHow;
} {
  const flags = openFlags[architecture];
  const openHow = (purpose: number, mode: number, resolve: number): OpenHow =>
    BigUint64Array.of(BigInt(purpose | flags.O_CLOEXEC), BigInt(mode), BigInt(resolve));
  const noFollow = flags.O_NOFOLLOW | flags.O_NOCTTY;
  return {
    hows: {
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
    },
    rootHow: openHow(flags.O_PATH | flags.O_DIRECTORY, 0, 0),
  };
}
