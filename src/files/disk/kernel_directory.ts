/**
 * Directories by their descriptors: the kernel resolves each name below an open directory, and refuses links, other
 * mounts and what leads out (src/files/kernel/descriptor.ts). What was reached stays what it is, whatever others
 * rename.
 */
import type { Descriptor, KernelRoots, ListedName } from "../kernel/descriptor.ts";
import type { EntryStatus } from "../kernel/entry_status.ts";
import {
  type DiskAccess,
  type DiskDirectory,
  type DiskFile,
  type DiskInfo,
  type DiskListing,
  type DiskLock,
  errorCode,
  identityOf,
  isForeign,
  isSame,
  unlinkable,
} from "./directory.ts";
import { nextTurn } from "../../lib/turns.ts";

/** The way to the workspace whose directory has this real path. */
export function createKernelAccess(roots: KernelRoots, path: string): DiskAccess {
  const descriptor = roots.open(path);
  const first = statusOrClose(descriptor);
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
        return new KernelDirectory(descriptorOf(directory).open(".", "directory"), first, reached);
      });
      return { value, [Symbol.dispose]: () => descriptorOf(value).close() };
    },
    openPlain(relative, purpose, isRootSeen) {
      if (!isRootSeen && !isThere()) return null;
      const opened = descriptor.tryOpen(relative, purpose === "read" ? "read" : "path");
      return typeof opened === "string" ? null : openAny(opened);
    },
    listPlain(relative) {
      const opened = isThere() ? descriptor.tryOpen(relative, "list") : "";
      const listing = typeof opened === "string" ? null : new KernelListing(opened, first);
      if (listing === null || !isForeign(first, listing.info)) return listing;
      listing[Symbol.dispose]();
      return null;
    },
    watch(path, onChange) {
      if (!isThere()) throw Object.assign(new Error("another directory is in its place"), { code: "ESTALE" });
      return withOpened(descriptor.open(path, "directory"), (directory) => directory.watch(onChange));
    },
    close: () => descriptor.close(),
  };
}

/** The file system does not know the kind of rename, or the kernel the flag; a seccomp profile may not let it through. */
const unsupported = new Set(["EINVAL", "ENOSYS", "EOPNOTSUPP", "EPERM"]);
const encoder = new TextEncoder();

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
    return openFile(this.#descriptor.open(name, "read"));
  }

  openOwn(name: string): DiskFile | null {
    return this.statusOf(name)?.isFile ? this.openFile(name) : null;
  }

  createFile(name: string): DiskFile {
    return openAny(this.#descriptor.open(name, "create"));
  }

  openLock(name: string, create: boolean): DiskLock | null {
    if (!create && this.statusOf(name)?.isFile !== true) return null;
    return openFile(this.#descriptor.open(name, create ? "create_lock" : "lock"));
  }

  openSelf(): DiskLock {
    return openAny(this.#descriptor.open(".", "list"));
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
    for (const _ of removeBelow(this.#descriptor, this.#root, name)) continue;
  }

  async removeTreeInTurns(name: string): Promise<void> {
    for (const _ of removeBelow(this.#descriptor, this.#root, name)) await nextTurn();
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
    withOpened(this.#descriptor.open(name, "append"), (file) => file.writeNow(encoder.encode(text)));
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

  /** Where the file system has no such rename: the second name first, which never replaces anything, where it can be. */
  #renameBySteps(name: string, to: DiskDirectory, newName: string): boolean {
    try {
      if (!this.statusOf(name)?.isDirectory && this.link(name, to, newName)) {
        this.removeFile(name);
        return true;
      }
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    }
    if (to.statusOf(newName) !== null) return false;
    this.rename(name, to, newName);
    return true;
  }

  /** Restores what another process had put there after the check. */
  #requireSame(name: string, to: DiskDirectory, newName: string, found: DiskInfo): void {
    const moved = to.statusOf(newName);
    if (moved !== null && identityOf(moved) === identityOf(found)) return;
    if (moved !== null) descriptorOf(to).renameNew(newName, this.#descriptor, name);
    throw Object.assign(new Error("another process replaced the entry in the meantime"), { code: "ESTALE" });
  }

  static descriptorOf(directory: DiskDirectory): Descriptor {
    if (!(#descriptor in directory)) throw new TypeError("a directory of another access");
    return directory.#descriptor;
  }
}
const { descriptorOf } = KernelDirectory;

/** An open directory whose entries are read by its descriptor. */
class KernelListing implements DiskListing {
  readonly info: EntryStatus;
  readonly #descriptor: Descriptor;
  readonly #root: DiskInfo;

  constructor(descriptor: Descriptor, root: DiskInfo) {
    this.#descriptor = descriptor;
    this.#root = root;
    this.info = statusOrClose(descriptor);
  }

  *entries(): Generator<ListedName> {
    for (let batch; (batch = this.#descriptor.readEntries()).length > 0;) yield* batch;
  }

  async *entriesInTurns(): AsyncGenerator<readonly ListedName[]> {
    for (let batch; (batch = this.#descriptor.readEntries()).length > 0;) {
      yield batch; // takes a millisecond or two
      await nextTurn();
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
}

/** A descriptor of a file, or of what is locked, with what was seen when it was opened. */
type LookedAt = Descriptor & { readonly info: EntryStatus };

/** Takes over the descriptor: `null`, and closed, when it is not a file's. */
function openFile(descriptor: Descriptor): LookedAt | null {
  const file = openAny(descriptor);
  if (file.info.isFile) return file;
  file.close();
  return null;
}

/** Takes over the descriptor, of any kind of entry. */
function openAny(descriptor: Descriptor): LookedAt {
  return Object.assign(descriptor, { info: statusOrClose(descriptor) });
}

/** The status of what was just opened, which is closed where the system does not tell. */
function statusOrClose(descriptor: Descriptor): EntryStatus {
  try {
    return descriptor.status();
  } catch (error) {
    descriptor.close();
    throw error;
  }
}

/** Longest path of names that is opened in one call: PATH_MAX and its zero byte, were each character of three bytes. */
const maxRelativePath = 1_365;

/** Removes what is at the name in `directory`, the deepest first, and yields after each entry. What is mounted stays. */
function* removeBelow(directory: Descriptor, root: DiskInfo, name: string): Generator<void> {
  const entry = directory.statusOf(name);
  if (entry === null) return;
  if (!entry.isDirectory || isForeign(root, entry)) return directory.removeFile(name);
  const pending = [name];
  for (let path; (path = pending.at(-1)) !== undefined;) {
    const slash = path.lastIndexOf("/");
    if (path.length > maxRelativePath) {
      using holder = new Opened(directory.open(path.slice(0, slash), "directory"));
      yield* removeBelow(holder.descriptor, root, path.slice(slash + 1));
      pending.pop();
      continue;
    }
    const below: string[] = [];
    using holder = new Opened(directory.open(path, "list"));
    const { descriptor } = holder;
    for (let batch; (batch = descriptor.readEntries()).length > 0;) {
      for (const { name: each, kind } of batch) {
        if (kind === "directory") below.push(`${path}/${each}`);
        else descriptor.removeFile(each);
        yield;
      }
    }
    if (below.length > 0) {
      pending.push(...below);
      continue;
    }
    pending.pop();
    const last = path.slice(slash + 1);
    if (slash < 0) directory.removeDirectory(last);
    else withOpened(directory.open(path.slice(0, slash), "directory"), (parent) => parent.removeDirectory(last));
    yield;
  }
}

/** Closes a descriptor at the end of a block. */
class Opened implements Disposable {
  constructor(readonly descriptor: Descriptor) {}

  [Symbol.dispose](): void {
    this.descriptor.close();
  }
}

/** What `use` makes of a descriptor, which is closed then: for one statement, where Deno's bundler drops a `using`. */
function withOpened<T>(descriptor: Descriptor, use: (descriptor: Descriptor) => T): T {
  try {
    return use(descriptor);
  } finally {
    descriptor.close();
  }
}
