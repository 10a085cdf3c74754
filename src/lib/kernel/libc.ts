/**
 * The functions of glibc behind `Descriptor`, and what they take and give: numbers, layouts, statuses.
 * A foreign function can do anything that the process can, whatever Deno's permissions say: nothing here leaves this
 * folder, and a test holds that.
 */
import { permittedLibraries } from "../start_flags.ts";

// Numbers and layouts of Linux's interface. tests/kernel/ compares them with the headers of each architecture.

const { freeze } = Object; // other code of the isolate can import these, and replace what is not taken now
const toBigInt = BigInt;

/** From fcntl.h, linux/fs.h, sys/file.h and sys/mman.h. */
export const file = freeze({
  AT_FDCWD: -100,
  AT_SYMLINK_NOFOLLOW: 0x100,
  AT_REMOVEDIR: 0x200,
  AT_NO_AUTOMOUNT: 0x800,
  AT_EMPTY_PATH: 0x1000,
  RENAME_NOREPLACE: 1,
  LOCK_EX: 2,
  LOCK_NB: 4,
  LOCK_UN: 8,
  PROT_READ: 1,
  MAP_SHARED: 1,
});

/** From linux/stat.h: flags, and `struct statx` with offsets in bytes. */
export const statx = freeze({
  STATX_BASIC_STATS: 0x7ff,
  STATX_BTIME: 0x800,
  STATX_MNT_ID: 0x1000,
  S_IFMT: 0o170000,
  S_IFDIR: 0o040000,
  S_IFREG: 0o100000,
  S_IFLNK: 0o120000,
  bytes: 256,
  stx_nlink: 16,
  stx_uid: 20,
  stx_gid: 24,
  stx_mode: 28,
  stx_ino: 32,
  stx_size: 40,
  stx_btime: 80,
  stx_ctime: 96,
  stx_mtime: 112,
  stx_dev_major: 136,
  stx_dev_minor: 140,
  stx_mnt_id: 144,
});

/** From asm-generic/errno.h and errno-base.h. Others become `E` and their number. */
export const errorNames: Readonly<Record<number, string>> = freeze({
  1: "EPERM",
  2: "ENOENT",
  4: "EINTR",
  5: "EIO",
  6: "ENXIO",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  16: "EBUSY",
  17: "EEXIST",
  18: "EXDEV",
  19: "ENODEV",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  26: "ETXTBSY",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
  31: "EMLINK",
  36: "ENAMETOOLONG",
  38: "ENOSYS",
  39: "ENOTEMPTY",
  40: "ELOOP",
  75: "EOVERFLOW",
  95: "EOPNOTSUPP",
  110: "ETIMEDOUT",
  116: "ESTALE",
  122: "EDQUOT",
});

const functions = {
  openat2: { name: "syscall", parameters: ["i32", "i32", "buffer", "buffer", "i32"], result: "i32" },
  statx: { parameters: ["i32", "buffer", "i32", "u32", "buffer"], result: "i32" },
  statfs: { name: "statfs64", parameters: ["buffer", "buffer"], result: "i32" },
  readlinkat: { parameters: ["i32", "buffer", "buffer", "usize"], result: "i32" },
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  mkdirat: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  unlinkat: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  linkat: { parameters: ["i32", "buffer", "i32", "buffer", "i32"], result: "i32" },
  renameat: { parameters: ["i32", "buffer", "i32", "buffer"], result: "i32" },
  renameat2: { parameters: ["i32", "buffer", "i32", "buffer", "u32"], result: "i32" },
  pread: { name: "pread64", parameters: ["i32", "buffer", "usize", "i64"], result: "i32" },
  preadLater: { name: "pread64", parameters: ["i32", "buffer", "usize", "i64"], result: "i32", nonblocking: true },
  write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  writeLater: { name: "write", parameters: ["i32", "buffer", "usize"], result: "i32", nonblocking: true },
  fdatasyncLater: { name: "fdatasync", parameters: ["i32"], result: "i32", nonblocking: true },
  fchmod: { parameters: ["i32", "u32"], result: "i32" },
  fchown: { parameters: ["i32", "u32", "u32"], result: "i32" },
  flock: { parameters: ["i32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  errnoLocation: { name: "__errno_location", parameters: [], result: "pointer" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "isize" },
  copyMapped: { name: "memcpy", parameters: ["buffer", "usize", "usize"], result: "void" },
  memcpy: { parameters: ["buffer", "pointer", "usize"], result: "void" },
  trimLater: { name: "malloc_trim", parameters: ["usize"], result: "i32", nonblocking: true, optional: true },
} as const;

/** The functions by name. */
export type Libc = Deno.DynamicLibrary<typeof functions>["symbols"];

/** Loads glibc; the reason in words where that cannot be. */
export function loadLibc(): Libc | string {
  const permitted = permittedLibraries();
  if (permitted.length === 0) return "foreign functions are not permitted (--allow-ffi)";
  for (const path of permitted) {
    try {
      return Deno.dlopen(path, functions).symbols;
    } catch {
      continue; // not where this distribution keeps it, or too old
    }
  }
  return "glibc was not found, or is too old";
}

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
export function tryCall(libc: Libc, call: () => number): number | string {
  for (let repeats = 0;; repeats++) {
    const result = call();
    if (result >= 0) return result;
    const code = lastErrorName(libc);
    const isDoubtful = code === "EAGAIN" || code === "EINTR" || code === "EINVAL" || code === "ETIMEDOUT";
    if (!isDoubtful || repeats === maxRepeats) return code;
  }
}

/** The same, but throws a `KernelError`. */
export function mustCall(libc: Libc, call: () => number): number {
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

Object.freeze(KernelError.prototype);
Object.freeze(KernelError);

// * What statx(2) says of an entry, in the members of `Deno.FileInfo` that the workspace uses.

const { AT_EMPTY_PATH, AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW } = file;
const { S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, STATX_BASIC_STATS, STATX_BTIME, STATX_MNT_ID } = statx;
const statusMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
const bitsOfWord = 32n;
const noPath = new Uint8Array(1);

/** The words of a `struct statx`; reused from call to call. */
const statusBytes = new Uint8Array(statx.bytes);
const words = new Uint32Array(statusBytes.buffer);
const halves = new Uint16Array(statusBytes.buffer);

/** One entry as it was when it was looked at: what the last statx(2) left in {@link statusBytes}. */
export class EntryStatus {
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
export function statusAt(libc: Libc, directory: number, path: Uint8Array<ArrayBuffer>): EntryStatus | null {
  const how = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  const result = tryCall(libc, () => libc.statx(directory, path, how, statusMask, statusBytes));
  if (result === 0) return new EntryStatus();
  if (result === "ENOENT") return null;
  throw new KernelError(`${result}`);
}

/** What a descriptor is open for. */
export function statusOfOpen(libc: Libc, number: number): EntryStatus {
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
