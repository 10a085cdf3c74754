/**
 * Directories and files of a disk workspace, each reached by a handle: a descriptor, where the kernel resolves each name
 * below an open directory and refuses links, other mounts and what leads out (src/lib/kernel/descriptor.ts), or a path
 * that is checked before and after each use (checked_path.ts). What a descriptor reached stays what it is, whatever
 * others rename.
 */
import { failure, type Result } from "../../lib/result.ts";
import { systemTimers } from "../../lib/time.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { Descriptor, KernelRoots, ListedName } from "../../lib/kernel/descriptor.ts";
import { denied, type Outcome, type WorkspaceRefusal } from "../workspace/port.ts";

/** What the system says of an entry, a link itself. */
export interface DiskInfo
  extends
    Pick<Deno.FileInfo, "isFile" | "isDirectory" | "isSymlink" | "size" | "dev" | "mode" | "nlink" | "uid" | "gid">,
    Pick<Deno.FileInfo, "mtime" | "ctime" | "birthtime"> {
  /** More than a number can tell apart is a bigint, where the kernel resolves names; Deno's own calls round it. */
  readonly ino: number | bigint | null;
  /** Where the system tells. */
  readonly mountId?: number;
}

/** What an entry is reached by. */
export interface Handle extends Descriptor<DiskInfo> {
  /** What a path needs beside what a descriptor does. */
  readonly checks?: PathChecks;
}

/** Of a directory that is reached by its path, which another process may have led elsewhere. */
interface PathChecks {
  isStillInside(name?: string): boolean;
  isStillChangeable(): boolean;
  /** Whether what was opened at the name is what was found there, and still is. */
  isUnchanged(name: string, opened: DiskInfo, found: DiskInfo): boolean;
  removeTree(name: string): void;
  /** The same, and what a directory lists, without keeping others waiting. */
  removeTreeInTurns(name: string): Promise<void>;
  entriesInTurns(): AsyncIterable<readonly ListedName[]>;
}

/** An open file, or what is locked, with what was seen of it when it was opened. Its user closes it. */
export type DiskFile = Handle & { readonly info: DiskInfo };

const { elapsed } = systemTimers;
/**
 * For how long files are read without a look whether the workspace's directory is in its place: they are those of the
 * directory that was opened. While that look makes a search take 1.1 times the time (`bench search`), this stays.
 */
const presenceMilliseconds = 1;

/** The way to the files of one workspace. */
export type DiskAccess = ReturnType<typeof createDiskAccess>;

/** The way to the workspace whose directory has this real path. */
export function createDiskAccess(path: string, roots: KernelRoots<DiskInfo>) {
  const handle = openAny(roots.open(path));
  const first = handle.info;
  const reached: Handle[] = [];
  const root = new DiskDirectory(handle, first, reached);
  let steps = 0;
  let seenAt = -Infinity;
  const isThere = (): boolean => {
    seenAt = -Infinity;
    const now = roots.statusOf(path);
    if (now === null) throw coded("ENOENT");
    if (!isSame(now, first) || !now.isDirectory) return false;
    seenAt = elapsed();
    return true;
  };
  const step = <T>(run: () => T): T => {
    steps++;
    try {
      return run();
    } finally {
      if (--steps === 0) { for (let each; (each = reached.pop()) !== undefined;) each.close(); }
    }
  };
  return {
    /** The workspace's directory; `null` when another was put in its place since it was opened. Throws when it is gone. */
    root: (): DiskDirectory | null => isThere() ? root : null,
    /** Runs a step that gives up control nowhere, and then closes the directories that it reached. */
    step,
    /** The same for a step that may refuse; what the system refuses is refused. */
    attempt: <T>(run: () => Outcome<T>): Outcome<T> => attempt(() => step(run)),
    /** Reaches a directory that stays good until it is disposed of. */
    hold(reach: () => DiskDirectory): { readonly value: DiskDirectory } & Disposable {
      const held = step(() => handleOf(reach()).open(".", "directory"));
      return { value: new DiskDirectory(held, first, reached), [Symbol.dispose]: () => held.close() };
    },
    /** Opens what lies at a path of names without links, in one call; `null` where that cannot be, for whatever reason. */
    openPlain(relative: string, purpose: "read" | "path"): DiskFile | null {
      if (elapsed() - seenAt >= presenceMilliseconds && !isThere()) return null;
      const opened = handle.tryOpen(relative, purpose);
      return typeof opened === "string" ? null : openAny(opened);
    },
    /** The same for a directory. */
    listPlain(relative: string): DiskListing | null {
      const opened = isThere() ? handle.tryOpen(relative, "list") : "";
      const listing = typeof opened === "string" ? null : new DiskListing(opened);
      if (listing === null || !isForeign(first, listing.info)) return listing;
      listing[Symbol.dispose]();
      return null;
    },
    close: (): void => handle.close(),
  };
}

/** The file system does not know the kind of rename, or the kernel the flag; a seccomp profile may not let it through. */
const unsupported: ReadonlySet<string> = new Set(["EINVAL", "ENOSYS", "EOPNOTSUPP", "EPERM"]);
/** A file can have no second name: the file system has none, or the system none for files of others. */
const unlinkable: ReadonlySet<string> = new Set([...unsupported, "ENOTSUP", "EMLINK"]);
const encoder = new TextEncoder();

/**
 * A directory inside the workspace, good until the step ends in which it was reached. Methods throw the system's error,
 * which `toRefusal` reads. Each `name` is one name.
 */
export class DiskDirectory {
  readonly #handle: Handle;
  readonly #root: DiskInfo;
  readonly #reached: Handle[];

  constructor(handle: Handle, root: DiskInfo, reached: Handle[]) {
    this.#handle = handle;
    this.#root = root;
    this.#reached = reached;
  }

  status(): DiskInfo {
    return this.#handle.status();
  }

  statusOf(name: string): DiskInfo | null {
    return name === "." ? this.status() : this.#handle.statusOf(name);
  }

  /** Where a link leads; `null` when that is not UTF-8. */
  readLink(name: string): string | null {
    return this.#handle.readLink(name);
  }

  /** A directory in this one. */
  enter(name: string): DiskDirectory {
    const opened = this.#handle.open(name, "directory");
    this.#reached.push(opened);
    return new DiskDirectory(opened, this.#root, this.#reached);
  }

  /** Opens the directory at the end of a path of names; `.` is this one. */
  list(path: string): DiskListing {
    return new DiskListing(this.#handle.open(path, "list"));
  }

  /** Opens the regular file that was found; `null` when another entry was put in its place. */
  openFile(name: string, found?: DiskInfo): DiskFile | null {
    const file = openAny(this.#handle.open(name, "read"));
    const { checks } = this.#handle;
    let isGood = false;
    try {
      isGood = file.info.isFile && (!checks || !found || checks.isUnchanged(name, file.info, found));
    } finally {
      if (!isGood) file.close();
    }
    return isGood ? file : null;
  }

  /** Opens a file in the staging directory, where no path of a caller leads; `null` when there is no file. */
  openOwn(name: string): DiskFile | null {
    return this.statusOf(name)?.isFile ? this.openFile(name) : null;
  }

  createFile(name: string): DiskFile {
    return openAny(this.#handle.open(name, "create"));
  }

  /** Opens a file to lock it, for one process until it ends or closes it; `null` when there is none, or no file. */
  openLock(name: string, create: boolean): DiskFile | null {
    if (!create && this.statusOf(name)?.isFile !== true) return null;
    const lock = openAny(this.#handle.open(name, create ? "create_lock" : "lock"));
    if (lock.info.isFile) return lock;
    lock.close();
    return null;
  }

  /** Opens this directory to lock it. */
  openSelf(): DiskFile {
    return openAny(this.#handle.open(".", "list"));
  }

  /** Makes a directory unless there is something of that name. */
  makeDirectory(name: string, mode = 0o777): void {
    try {
      this.#handle.makeDirectory(name, mode);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }

  removeFile(name: string): void {
    this.#handle.removeFile(name);
  }

  /** Removes an empty directory. */
  removeDirectory(name: string): void {
    this.#handle.removeDirectory(name);
  }

  /** Removes what is there with all below it; that nothing is there is no error. */
  removeTree(name: string): void {
    if (this.#handle.checks) return this.#handle.checks.removeTree(name);
    for (const _ of removeBelow(this.#handle, this.#root, name)) continue;
  }

  async removeTreeInTurns(name: string): Promise<void> {
    if (this.#handle.checks) return await this.#handle.checks.removeTreeInTurns(name);
    for (const _ of removeBelow(this.#handle, this.#root, name)) await nextTurn();
  }

  /** Renames the entry that was found. With `found` left out, whatever is there. */
  rename(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): void {
    this.#handle.rename(name, to.#handle, newName);
    if (found !== undefined) this.#requireSame(name, to, newName, found);
  }

  /** Renames unless there is something of the new name; says whether it did. */
  renameNew(name: string, to: DiskDirectory, newName: string, found?: DiskInfo): boolean {
    const { checks } = this.#handle;
    try {
      // a path is not even tried: what was checked of it lasts for as short as can be
      const isRenamed = !checks && isDone(() => this.#handle.renameNew(name, to.#handle, newName), unsupported);
      if (!isRenamed && !this.#renameBySteps(name, to, newName)) return false;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    }
    if (found !== undefined) this.#requireSame(name, to, newName, found);
    return true;
  }

  /** Gives a file a second name, unless there is something of that name; `false` where it can have none. */
  link(name: string, to: DiskDirectory, newName: string): boolean {
    return isDone(() => this.#handle.link(name, to.#handle, newName), unlinkable);
  }

  /** Adds a short text to a file of the server's own, which is made when it is missing. */
  appendText(name: string, text: string): void {
    withOpened(this.#handle.open(name, "append"), (file) => file.writeNow(encoder.encode(text)));
  }

  /** Whether what lies here, or at this name, still is inside and not denied: another process may have moved it. */
  isStillInside(name?: string): boolean {
    return this.#handle.checks?.isStillInside(name) ?? true;
  }

  /** The same for a directory whose entries are to change: it is not protected either. */
  isStillChangeable(): boolean {
    return this.#handle.checks?.isStillChangeable() ?? true;
  }

  /** Where the file system has no such rename: the second name first, which never replaces anything, where it can be. */
  #renameBySteps(name: string, to: DiskDirectory, newName: string): boolean {
    const mayBeLinked = this.#handle.checks || !this.statusOf(name)?.isDirectory;
    if (mayBeLinked && this.link(name, to, newName)) {
      this.removeFile(name);
      return true;
    }
    if (to.statusOf(newName) !== null) return false;
    this.rename(name, to, newName);
    return true;
  }

  /** Restores what another process had put there after the check. */
  #requireSame(name: string, to: DiskDirectory, newName: string, found: DiskInfo): void {
    const moved = to.statusOf(newName);
    if (moved !== null && identityOf(moved) === identityOf(found)) return;
    if (moved !== null) to.renameNew(newName, this, name);
    throw coded("ESTALE");
  }

  static handleOf(directory: DiskDirectory): Handle {
    return directory.#handle;
  }
}
const { handleOf } = DiskDirectory;

/** An open directory whose entries are read. */
export class DiskListing implements Disposable {
  /** As it was when it was opened. */
  readonly info: DiskInfo;
  readonly #handle: Handle;

  constructor(handle: Handle) {
    this.#handle = handle;
    this.info = openAny(handle).info;
  }

  /** The entries, all at once. */
  *entries(): Generator<ListedName> {
    for (let batch; (batch = this.#handle.readEntries()).length > 0;) yield* batch;
  }

  /** The entries of a long directory in batches, giving others their turn in between. */
  async *entriesInTurns(): AsyncGenerator<readonly ListedName[]> {
    if (this.#handle.checks) return yield* this.#handle.checks.entriesInTurns();
    for (let batch; (batch = this.#handle.readEntries()).length > 0;) {
      yield batch; // takes a millisecond or two
      await nextTurn();
    }
  }

  /** What an entry is, of which something may be mounted there. */
  entryOf(name: string): DiskInfo | null {
    if (this.#handle.checks && !name.isWellFormed()) return null;
    return this.#handle.statusOf(name);
  }

  /** How the directory is now; `null` when another was put in its place. */
  lookAgain(): DiskInfo | null {
    if (this.#handle.checks?.isStillInside() === false) return null;
    const again = this.#handle.status();
    return isSame(again, this.info) ? again : null;
  }

  [Symbol.dispose](): void {
    this.#handle.close();
  }
}

/** Takes over the handle, which is closed where the system does not tell what it is of. */
function openAny(handle: Handle): DiskFile {
  try {
    return Object.assign(handle, { info: handle.status() });
  } catch (error) {
    handle.close();
    throw error;
  }
}

function isDone(call: () => void, excused: ReadonlySet<string>): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (excused.has(errorCode(error) ?? "")) return false;
    throw error;
  }
}

/** Longest path of names that is opened in one call: PATH_MAX and its zero byte, were each character of three bytes. */
const maxRelativePath = 1_365;

/** Removes what is at the name in `directory`, the deepest first, and yields after each entry. What is mounted stays. */
function* removeBelow(directory: Handle, root: DiskInfo, name: string): Generator<void> {
  const entry = directory.statusOf(name);
  if (entry === null) return;
  if (!entry.isDirectory || isForeign(root, entry)) return directory.removeFile(name);
  const pending = [name];
  for (let path; (path = pending.at(-1)) !== undefined;) {
    const slash = path.lastIndexOf("/");
    if (path.length > maxRelativePath) {
      const parent = directory.open(path.slice(0, slash), "directory");
      try { // the bundler would drop a `using` here
        yield* removeBelow(parent, root, path.slice(slash + 1));
      } finally {
        parent.close();
      }
      pending.pop();
      continue;
    }
    const below: string[] = [];
    const opened = directory.open(path, "list");
    try {
      for (let batch; (batch = opened.readEntries()).length > 0;) {
        for (const { name: each, kind } of batch) {
          if (kind === "directory") below.push(`${path}/${each}`);
          else opened.removeFile(each);
          yield;
        }
      }
    } finally {
      opened.close();
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

/** What `use` makes of a descriptor, which is closed then: for one statement, where Deno's bundler drops a `using`. */
function withOpened<T>(handle: Handle, use: (handle: Handle) => T): T {
  try {
    return use(handle);
  } finally {
    handle.close();
  }
}

/** Whether two looks were at one entry. */
export function isSame(one: DiskInfo, other: DiskInfo): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Whether an entry lies on another file system than the root, or on another mount of the same one. */
export function isForeign(root: DiskInfo, entry: DiskInfo): boolean {
  return entry.dev !== root.dev || entry.mountId !== root.mountId;
}

/** Changes whenever the content does: every write here makes a new inode, and others change size or times. */
export function versionOf(info: DiskInfo): string {
  return [info.ino, info.size, info.mtime?.getTime(), info.ctime?.getTime()].join("-");
}

/** Tells one version of a file from another, and a directory from another; moving it changes nothing of it. */
export function identityOf({ isDirectory, ino, birthtime, size, mtime }: DiskInfo): string {
  const numbers = [birthtime?.getTime(), ...isDirectory ? [] : [size, mtime?.getTime()]];
  return [ino || 0, ...numbers.map((number) => Math.trunc(number || 0))].join("-"); // NaN where the system does not tell
}

const refusals: Readonly<Record<string, WorkspaceRefusal>> = {
  ENOENT: { reason: "not_found" },
  EILSEQ: { reason: "denied", because: "name_not_unicode" },
  ENOTDIR: { reason: "not_a_directory" },
  EEXIST: { reason: "already_exists" },
  ENOTEMPTY: { reason: "not_empty" },
  EISDIR: { reason: "is_directory" },
  ELOOP: { reason: "denied", because: "changed_while_opening" }, // a link, where there was none a moment before
  ESTALE: { reason: "denied", because: "changed_while_opening" },
  EACCES: { reason: "denied", because: "permission" },
  EPERM: { reason: "denied", because: "permission" },
  EROFS: { reason: "denied", because: "read_only" },
  EXDEV: { reason: "denied", because: "other_file_system" },
  ENXIO: { reason: "not_a_file" }, // a socket, or a device without a driver
  ENODEV: { reason: "not_a_file" },
  ENAMETOOLONG: { reason: "bad_name", rule: "name_too_long" },
  ENOSPC: { reason: "no_space" },
  EDQUOT: { reason: "no_space" },
  EFBIG: { reason: "no_space" },
};

/**
 * The refusal for an error that Deno or node:fs threw: its code decides, its text (which holds paths) is dropped.
 * Throws everything else on.
 */
export function toRefusal(error: unknown): WorkspaceRefusal {
  if (error instanceof Deno.errors.NotCapable) return { reason: "denied", because: "permission" };
  const code = errorCode(error);
  if (code === undefined) throw error;
  return refusals[code] ?? { reason: "io", code };
}

/** What `run` gives; what the system refuses is refused. */
export function attempt<T, R>(run: () => Result<T, R>): Result<T, R | WorkspaceRefusal> {
  try {
    return run();
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/** An error as the system would throw it; ESTALE: what was looked at is not what is there now. */
export function coded(code: "EBUSY" | "EILSEQ" | "ENOENT" | "ENOSYS" | "EPERM" | "ESTALE"): Error {
  return Object.assign(new Error(`not as it was expected: ${code}`), { code });
}

/** The refusal for ESTALE. */
export const changedMeanwhile = denied("changed_while_opening");

/** The POSIX code of a file system error, or `undefined` for any other error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
