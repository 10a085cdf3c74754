/** What statx(2) says of an entry, in the members of `Deno.FileInfo` that the workspace uses. */
import { errorOf, file, type Libc, statx } from "./libc.ts";
import { cPath } from "./stored_name.ts";

const { AT_EMPTY_PATH, AT_FDCWD, AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW } = file;
const { S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, STATX_BASIC_STATS, STATX_BTIME, STATX_MNT_ID } = statx;
const statusMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
const toBigInt = BigInt; // other code could replace it
const bitsOfWord = 32n;
const { freeze } = Object;
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
  if (libc.statx(directory, path, how, statusMask, statusBytes) === 0) return new EntryStatus();
  const error = errorOf(libc);
  if (error.code === "ENOENT") return null;
  throw error;
}

/** What a descriptor is open for. */
export function statusOfOpen(libc: Libc, number: number): EntryStatus {
  if (libc.statx(number, noPath, AT_EMPTY_PATH, statusMask, statusBytes) !== 0) throw errorOf(libc);
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

/** What is at a whole path, a link itself; `null` when there is nothing. */
export function statusOfPath(libc: Libc, path: string): EntryStatus | null {
  return statusAt(libc, AT_FDCWD, cPath(path));
}
