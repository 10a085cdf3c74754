/** The descriptors of the system, by the calls that libc.ts binds. */
import type { Descriptor, KernelRoots, ListedName, Purpose } from "./descriptor.ts";
import { EntryStatus, statusBytes } from "./entry_status.ts";
import { errorOf, KernelError, type Libc } from "./libc.ts";
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
  openHowBytes,
  RENAME_EXCHANGE,
  RENAME_NOREPLACE,
  STATX_BASIC_STATS,
  STATX_BTIME,
  STATX_MNT_ID,
  SYS_openat2,
} from "./numbers.ts";
import { createOpenHows } from "./open_how.ts";
import { cName, cPath, lengthOf, pathMax } from "./path_bytes.ts";
import { toNameText } from "./stored_name.ts";

const statusMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
/** Longest write that is not given to another thread: shorter ones end in memory within microseconds. */
const maxWriteAtOnceBytes = 65_536;
const entriesBytes = 65_536;
/** How often a call is made again that a signal, or a rename elsewhere, has interrupted. */
const maxInterruptions = 100;

/** Makes the way to open directories. Everything that later code could replace is taken now. */
export function createKernelRoots(libc: Libc, architecture: Architecture): KernelRoots {
  const { hows, rootHow } = createOpenHows(architecture);
  /** The path that was asked for last: of a workspace's directory, before each call. */
  const rootPathBytes = new Uint8Array(pathMax);
  let rootPath = "";
  const otherPathBytes = new Uint8Array(pathMax);
  const linkBytes = new Uint8Array(pathMax);
  const entries = new Uint8Array(entriesBytes);
  const noPath = new Uint8Array(1);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // U+FEFF at its start is a part of a name
  const decode = decoder.decode.bind(decoder);
  const toBigInt = BigInt;
  const maker = Symbol("the right to make a descriptor");

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
      const length = libc.readlinkat(this.#open(), cName(name), linkBytes, toBigInt(pathMax));
      must(length);
      const target = decode(linkBytes.subarray(0, length));
      return target.includes("\ufffd") ? null : target;
    }

    readEntries(): readonly ListedName[] {
      const found: ListedName[] = [];
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
