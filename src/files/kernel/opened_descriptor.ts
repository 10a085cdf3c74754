/** The descriptors of the system, by the calls that libc.ts binds. */
import type { Descriptor, KernelRoots, ListedName, Purpose } from "./descriptor.ts";
import { createDirectoryWatch, type OnEntryChange } from "./directory_watch.ts";
import { createPathStatus, type EntryStatus, statusAt, statusOfOpen } from "./entry_status.ts";
import { errorOf, KernelError, type Libc } from "./libc.ts";
import { type Architecture, AT_FDCWD, AT_REMOVEDIR, LOCK_EX, LOCK_NB, LOCK_UN, openHowBytes, RENAME_EXCHANGE, RENAME_NOREPLACE, SYS_openat2 } from "./numbers.ts";
import { addListedNames } from "./listed_names.ts";
import { createOpenHows } from "./open_how.ts";
import { cName, cNames, cPath, lengthOf, otherBytes, pathBytes, pathMax, toOffset } from "./path_bytes.ts";
import { createScreening, type ScreenerKeeper } from "./screening.ts";
import { createWholeRead } from "./whole_read.ts";
import { decode } from "./stored_name.ts";

/** Longest write that is not given to another thread: shorter ones end in memory within microseconds. */
const maxWriteAtOnceBytes = 65_536;
const entriesBytes = 65_536;
/** How often a call is made again that a signal, or a rename elsewhere, has interrupted. */
const maxInterruptions = 100;

const toBigInt = BigInt;
const { apply } = Reflect;
const { freeze } = Object;
const { then } = Promise.prototype;

/** Makes the way to open directories. Everything that later code could replace is taken now. */
export function createKernelRoots(libc: Libc, architecture: Architecture, keeper: ScreenerKeeper | null): KernelRoots {
  const { hows, rootHow } = createOpenHows(architecture);
  const linkBytes = new Uint8Array(pathMax);
  const entries = new Uint8Array(entriesBytes);
  const watchDirectory = createDirectoryWatch(libc);
  const maker = Symbol("the right to make a descriptor");

  const must = (result: number): number => {
    if (result < 0) throw errorOf(libc);
    return result;
  };
  /** Gives the rest. A write of nothing would be tried for ever. */
  const writeSome = (number: number, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    const count = libc.write(number, bytes, toBigInt(lengthOf(bytes)));
    if (count === 0) throw new KernelError("EIO");
    must(count);
    return bytes.subarray(count);
  };
  let numberOf!: (descriptor: Descriptor) => number;
  /** Gives the number away, and with it the duty to close it. */
  let takeNumber!: (descriptor: Descriptor) => number;
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
      for (let attempt = 1;; attempt++) {
        const number = libc.openat2(SYS_openat2, this.#open(), bytes, how, openHowBytes);
        if (number >= 0) return new OpenDescriptor(maker, number);
        const { code } = errorOf(libc);
        if ((code !== "EAGAIN" && code !== "EINTR") || attempt === maxInterruptions) return code;
      }
    }

    status(): EntryStatus {
      return statusOfOpen(libc, this.#open());
    }

    statusOf(name: string): EntryStatus | null {
      const bytes = cName(name);
      return statusAt(libc, this.#open(), bytes);
    }

    readLink(name: string): string | null {
      const length = must(libc.readlinkat(this.#open(), cName(name), linkBytes, toBigInt(pathMax)));
      const target = decode(linkBytes.subarray(0, length));
      return target.includes("\ufffd") ? null : target;
    }

    readEntries(): readonly ListedName[] {
      const found: ListedName[] = [];
      while (found.length === 0) {
        const length = must(libc.getdents64(this.#open(), entries, toBigInt(entriesBytes)));
        if (length === 0) break;
        addListedNames(found, entries, length);
      }
      return found;
    }

    watch(onChange: OnEntryChange): () => void {
      return watchDirectory(this.#open(), onChange);
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
      cNames(name, newName);
      must(libc.linkat(this.#open(), pathBytes, numberOf(to), otherBytes, 0));
    }

    rename(name: string, to: Descriptor, newName: string): void {
      cNames(name, newName);
      must(libc.renameat(this.#open(), pathBytes, numberOf(to), otherBytes));
    }

    renameNew(name: string, to: Descriptor, newName: string): void {
      cNames(name, newName);
      must(libc.renameat2(this.#open(), pathBytes, numberOf(to), otherBytes, RENAME_NOREPLACE));
    }

    exchange(name: string, to: Descriptor, otherName: string): void {
      cNames(name, otherName);
      must(libc.renameat2(this.#open(), pathBytes, numberOf(to), otherBytes, RENAME_EXCHANGE));
    }

    read(buffer: Uint8Array<ArrayBuffer>, position: number): number {
      const offset = toOffset(position);
      return must(libc.pread(this.#open(), buffer, toBigInt(lengthOf(buffer)), offset));
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
      must(libc.fchmod(this.#open(), mode));
    }

    setOwner(uid: number, gid: number): void {
      must(libc.fchown(this.#open(), uid, gid));
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
      takeNumber = (descriptor) => {
        if (!(#number in descriptor) || descriptor.#running > 0) throw new KernelError("EBADF");
        const number = descriptor.#open();
        descriptor.#number = -1;
        return number;
      };
      freeze(this.prototype);
      freeze(this);
    }
  }

  return freeze({
    screen: keeper === null ? null : createScreening({ take: takeNumber, close: libc.close }, keeper),
    open(path: string): Descriptor {
      return new OpenDescriptor(
        maker,
        must(libc.openat2(SYS_openat2, AT_FDCWD, cPath(path), rootHow, openHowBytes)),
      );
    },
    statusOf: createPathStatus(libc),
    readWhole: createWholeRead(libc, hows.read, numberOf),
  });
}
