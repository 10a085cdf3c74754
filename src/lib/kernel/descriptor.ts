/**
 * Open files and directories, by descriptor: a name is given to the kernel once, with the directory that it is in, and
 * the kernel refuses what leads out of there (openat2(2)). Names are single or paths without `..`; links are never
 * followed, and other mounts never entered. A descriptor cannot be made from a number, and does not tell its own.
 */
import {
  type Architecture,
  cName,
  cNames,
  cPath,
  decode,
  dirent,
  type EntryStatus,
  file,
  KernelError,
  lengthOf,
  type Libc,
  mustCall,
  openat2,
  openFlags,
  otherBytes,
  pathBytes,
  pathMax,
  statusAt,
  statusOfOpen,
  statusOfPath,
  toName,
  toOffset,
  tryCall,
} from "./libc.ts";

/**
 * What an entry is opened for: to look and go on from there, to read, to list, to make a new file, to add to one
 * that is made when it is missing, or to lock.
 */
type Purpose = "path" | "directory" | "read" | "list" | "create" | "append" | "lock" | "create_lock";

/** An entry of a directory. */
export interface ListedName {
  /** Bytes that are not UTF-8 are half surrogate pairs (libc.ts), here and wherever a name is given. */
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

const { AT_FDCWD, AT_REMOVEDIR, LOCK_EX, LOCK_NB, LOCK_UN, MAP_SHARED, PROT_READ, RENAME_NOREPLACE } = file;
const toBigInt = BigInt; // what later code could replace is taken now
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
    statusOf: (path) => statusOfPath(libc, path),
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
  return { roots, mapStart };
}

// Names as getdents64(2) puts them into a buffer.

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

// Flags of openat2(2) for each purpose: nothing may lead out of the directory, and no link is followed.

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
