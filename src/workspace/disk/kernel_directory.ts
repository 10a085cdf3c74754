/**
 * Directories by their descriptors: the kernel resolves each name below an open directory, and refuses links, other
 * mounts and what leads out (src/kernel/descriptor.ts). What was reached stays what it is, whatever others rename.
 */
import { setImmediate } from "node:timers";
import type { Descriptor, KernelRoots } from "../../kernel/descriptor.ts";
import type { EntryStatus } from "../../kernel/entry_status.ts";
import { DT_DIR, DT_LNK, DT_REG, DT_UNKNOWN } from "../../kernel/numbers.ts";
import { createFairTurns } from "../text/fair_turns.ts";
import type { EntryKind } from "../listing.ts";
import {
  type DiskAccess,
  type DiskDirectory,
  type DiskFile,
  type DiskInfo,
  type DiskListing,
  type DiskLock,
  identityOf,
  isForeign,
  isSame,
} from "./directory.ts";
import { errorCode, unlinkable } from "./refusal.ts";

/** The file system does not know the kind of rename, or the kernel the flag. */
const unsupported = new Set(["EINVAL", "ENOSYS", "EOPNOTSUPP"]);
const encoder = new TextEncoder();
/** Longest path of names that is opened in one call: PATH_MAX and its zero byte, were each character of three bytes. */
const maxRelativePath = 1_365;

/** The way to the workspace whose directory has this real path. */
export function createKernelAccess(roots: KernelRoots, path: string): DiskAccess {
  const descriptor = roots.open(path);
  const first = descriptor.status();
  const reached: Descriptor[] = [];
  const root = new KernelDirectory(descriptor, first, reached);
  let steps = 0;
  const isThere = (): boolean => {
    const now = roots.statusOf(path);
    if (now === null) throw Object.assign(new Error("the workspace is gone"), { code: "ENOENT" });
    return isSame(now, first) && now.isDirectory;
  };
  return {
    root: () => isThere() ? root : null,
    step(run) {
      steps++;
      try {
        return run();
      } finally {
        if (--steps === 0) { for (let each; (each = reached.pop()) !== undefined;) each.close(); }
      }
    },
    hold(reach) {
      const value = this.step(() => {
        const directory = reach();
        const held = new KernelDirectory(descriptorOf(directory).open(".", "directory"), first, reached);
        return held;
      });
      return { value, [Symbol.dispose]: () => descriptorOf(value).close() };
    },
    openPlain(relative, purpose, isRootSeen) {
      if (!isRootSeen && !isThere()) return null;
      const opened = descriptor.tryOpen(relative, purpose === "read" ? "read" : "path");
      if (typeof opened === "string") return null;
      try {
        return new KernelFile(opened, opened.status());
      } catch (error) {
        opened.close();
        throw error;
      }
    },
    close: () => descriptor.close(),
  };
}

class KernelDirectory implements DiskDirectory {
  readonly #descriptor: Descriptor;
  readonly #root: DiskInfo;
  readonly #reached: Descriptor[];

  constructor(descriptor: Descriptor, root: DiskInfo, reached: Descriptor[]) {
    this.#descriptor = descriptor;
    this.#root = root;
    this.#reached = reached;
  }

  status(): EntryStatus {
    return this.#descriptor.status();
  }

  statusOf(name: string): EntryStatus | null {
    return name === "." ? this.status() : this.#descriptor.statusOf(name);
  }

  readLink(name: string): string | null {
    return this.#descriptor.readLink(name);
  }

  enter(name: string): KernelDirectory {
    const opened = this.#descriptor.open(name, "directory");
    this.#reached.push(opened);
    return new KernelDirectory(opened, this.#root, this.#reached);
  }

  list(path: string): DiskListing {
    return new KernelListing(this.#descriptor.open(path, "list"), this.#root);
  }

  openFile(name: string): DiskFile | null {
    return openFile(this.#descriptor.open(name, "read"), ({ isFile }) => isFile);
  }

  openOwn(name: string): DiskFile | null {
    return this.statusOf(name)?.isFile ? this.openFile(name) : null;
  }

  createFile(name: string): DiskFile {
    const opened = this.#descriptor.open(name, "create");
    return new KernelFile(opened, opened.status());
  }

  openToAppend(name: string): DiskFile {
    const opened = this.#descriptor.open(name, "append");
    return new KernelFile(opened, opened.status());
  }

  openLock(name: string, create: boolean): DiskLock | null {
    if (!create && this.statusOf(name)?.isFile !== true) return null;
    return openFile(this.#descriptor.open(name, create ? "create_lock" : "lock"), ({ isFile }) => isFile);
  }

  openSelf(): DiskLock {
    const opened = this.#descriptor.open(".", "list");
    return new KernelFile(opened, opened.status());
  }

  makeDirectory(name: string, mode = 0o777): void {
    try {
      this.#descriptor.makeDirectory(name, mode);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }

  removeFile(name: string): void {
    this.#descriptor.removeFile(name);
  }

  removeDirectory(name: string): void {
    this.#descriptor.removeDirectory(name);
  }

  removeTree(name: string): void {
    for (const _ of this.#removeBelow(name)) continue;
  }

  async removeTreeInTurns(name: string): Promise<void> {
    const nextTurn = createFairTurns();
    for (const _ of this.#removeBelow(name)) await nextTurn();
  }

  rename(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): void {
    this.#descriptor.rename(name, descriptorOf(to), newName);
    if (found !== undefined) this.#requireSame(name, to, newName, found);
  }

  renameNew(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): boolean {
    try {
      this.#descriptor.renameNew(name, descriptorOf(to), newName);
    } catch (error) {
      const code = errorCode(error) ?? "";
      if (code === "EEXIST") return false;
      if (!unsupported.has(code)) throw error;
      if (!this.#renameBySteps(name, to, newName)) return false;
    }
    if (found !== undefined) this.#requireSame(name, to, newName, found);
    return true;
  }

  exchange(name: string, to: DiskDirectory, otherName: string): boolean {
    return this.#isDone(() => this.#descriptor.exchange(name, descriptorOf(to), otherName), unsupported);
  }

  link(name: string, to: DiskDirectory, newName: string): boolean {
    return this.#isDone(() => this.#descriptor.link(name, descriptorOf(to), newName), unlinkable);
  }

  appendText(name: string, text: string): void {
    using file = new Opened(this.#descriptor.open(name, "append"));
    file.descriptor.writeNow(encoder.encode(text));
  }

  isStillInside(): boolean {
    return true;
  }

  isStillChangeable(): boolean {
    return true;
  }

  #isDone(call: () => void, excused: ReadonlySet<string>): boolean {
    try {
      call();
      return true;
    } catch (error) {
      if (excused.has(errorCode(error) ?? "")) return false;
      throw error;
    }
  }

  /** Where the file system has no such rename: the second name first, which never replaces anything. */
  #renameBySteps(name: string, to: DiskDirectory, newName: string): boolean {
    if (this.statusOf(name)?.isDirectory) {
      if (to.statusOf(newName) !== null) return false;
      this.rename(name, to, newName);
      return true;
    }
    try {
      this.#descriptor.link(name, descriptorOf(to), newName);
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    }
    this.removeFile(name);
    return true;
  }

  /** Puts back what another process had put in the place of what was found. */
  #requireSame(name: string, to: DiskDirectory, newName: string, found: DiskInfo): void {
    const moved = to.statusOf(newName);
    if (moved !== null && identityOf(moved) === identityOf(found)) return;
    if (moved !== null) descriptorOf(to).renameNew(newName, this.#descriptor, name);
    throw Object.assign(new Error("another entry was in the place of what was found"), { code: "ESTALE" });
  }

  /** Removes what is there, the deepest first, and yields after each entry. */
  *#removeBelow(name: string): Generator<void> {
    const entry = this.statusOf(name);
    if (entry === null) return;
    if (!entry.isDirectory || isForeign(this.#root, entry)) return this.removeFile(name);
    const pending = [name];
    for (let path; (path = pending.at(-1)) !== undefined;) {
      const slash = path.lastIndexOf("/");
      if (path.length > maxRelativePath) {
        using holder = new Opened(this.#descriptor.open(path.slice(0, slash), "directory"));
        yield* new KernelDirectory(holder.descriptor, this.#root, this.#reached).#removeBelow(path.slice(slash + 1));
        pending.pop();
        continue;
      }
      const below: string[] = [];
      using holder = new Opened(this.#descriptor.open(path, "list"));
      const directory = holder.descriptor;
      for (let batch; (batch = directory.readEntries()).length > 0;) {
        for (const { name: each, type } of batch) {
          const isDirectory = type === DT_DIR || (type === DT_UNKNOWN && directory.statusOf(each)?.isDirectory);
          if (isDirectory) below.push(`${path}/${each}`);
          else directory.removeFile(each);
          yield;
        }
      }
      if (below.length > 0) {
        pending.push(...below);
        continue;
      }
      pending.pop();
      using parent = slash < 0 ? null : new Opened(this.#descriptor.open(path.slice(0, slash), "directory"));
      (parent?.descriptor ?? this.#descriptor).removeDirectory(path.slice(slash + 1));
      yield;
    }
  }

  static descriptorOf(directory: DiskDirectory): Descriptor {
    if (!(#descriptor in directory)) throw new TypeError("a directory of another access");
    return directory.#descriptor;
  }
}
const { descriptorOf } = KernelDirectory;

/** Closes a descriptor at the end of a block. */
class Opened implements Disposable {
  constructor(readonly descriptor: Descriptor) {}

  [Symbol.dispose](): void {
    this.descriptor.close();
  }
}

class KernelListing implements DiskListing {
  readonly info: EntryStatus;
  readonly #descriptor: Descriptor;
  readonly #root: DiskInfo;

  constructor(descriptor: Descriptor, root: DiskInfo) {
    this.#descriptor = descriptor;
    this.#root = root;
    this.info = descriptor.status();
  }

  *entries(): Generator<{ readonly name: string; readonly kind: EntryKind }> {
    for (const batch of this.#batches()) yield* batch;
  }

  async *entriesInTurns(): AsyncGenerator<readonly { readonly name: string; readonly kind: EntryKind }[]> {
    for (const batch of this.#batches()) {
      yield batch;
      await new Promise<void>((resolve) => void setImmediate(resolve)); // a batch takes a millisecond or two
    }
  }

  entryOf(name: string): EntryStatus | null {
    return this.#descriptor.statusOf(name);
  }

  detailsOf(name: string): EntryStatus | null {
    const status = this.entryOf(name);
    return status === null || isForeign(this.#root, status) ? null : status;
  }

  lookAgain(): EntryStatus {
    return this.#descriptor.status();
  }

  [Symbol.dispose](): void {
    this.#descriptor.close();
  }

  *#batches(): Generator<readonly { readonly name: string; readonly kind: EntryKind }[]> {
    for (let batch; (batch = this.#descriptor.readEntries()).length > 0;) {
      yield batch.map(({ name, type }) => ({ name, kind: this.#kindOf(name, type) }));
    }
  }

  #kindOf(name: string, type: number): EntryKind {
    if (type === DT_REG) return "file";
    if (type === DT_DIR) return "directory";
    if (type === DT_LNK) return "link";
    const status = type === DT_UNKNOWN ? this.#descriptor.statusOf(name) : null; // a file system that does not tell
    if (status === null) return "other";
    return status.isSymlink ? "link" : status.isDirectory ? "directory" : status.isFile ? "file" : "other";
  }
}

class KernelFile implements DiskFile, DiskLock {
  readonly #descriptor: Descriptor;

  constructor(descriptor: Descriptor, readonly info: EntryStatus) {
    this.#descriptor = descriptor;
  }

  read(buffer: Uint8Array, position: number): number {
    return this.#descriptor.read(unshared(buffer), position);
  }

  readLater(buffer: Uint8Array, position: number): Promise<number> {
    return this.#descriptor.readLater(unshared(buffer), position);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#descriptor.write(unshared(bytes));
  }

  flush(): Promise<void> {
    return this.#descriptor.flush();
  }

  setMode(mode: number): void {
    this.#descriptor.setMode(mode);
  }

  setOwner(uid: number, gid: number): void {
    this.#descriptor.setOwner(uid, gid);
  }

  lock(): void {
    this.#descriptor.lock();
  }

  tryLock(): boolean {
    return this.#descriptor.tryLock();
  }

  unlock(): void {
    this.#descriptor.unlock();
  }

  close(): void {
    this.#descriptor.close();
  }
}

/** No part of the server shares memory between threads. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

function openFile(descriptor: Descriptor, isWanted: (info: EntryStatus) => boolean): KernelFile | null {
  const info = descriptor.status();
  if (isWanted(info)) return new KernelFile(descriptor, info);
  descriptor.close();
  return null;
}
