/**
 * Directories by their paths, where the kernel cannot confine names: each use is checked before and after. Another
 * process that swaps a directory for a link at the right moment can still get past the checks.
 */
import type { Stats } from "node:fs";
import { nodeFs } from "../../lib/program.ts";
import {
  type DiskAccess,
  type DiskDirectory,
  type DiskFile,
  type DiskInfo,
  type DiskListing,
  type DiskLock,
  errorCode,
  isSame,
  unlinkable,
} from "./directory.ts";
import { firstUnknown } from "../workspace/file_display.ts";
import type { EntryKind } from "../workspace/port.ts";
import type { AccessRules } from "../workspace/access_rules.ts";
import { isReserved } from "../workspace/path.ts";

/** The way to the workspace whose directory has this real path. */
export function createCheckedAccess(path: string, rules: AccessRules): DiskAccess {
  const root = Deno.lstatSync(path);
  const context = { path, device: root.dev, rules };
  return {
    root() {
      const info = Deno.lstatSync(path);
      return isSame(info, root) && info.isDirectory ? new CheckedDirectory(context, path) : null;
    },
    step: (run) => run(),
    hold: (reach) => ({ value: reach(), [Symbol.dispose]() {} }),
    close: () => {},
  };
}

interface Context {
  readonly path: string;
  readonly device: number;
  readonly rules: AccessRules;
}

class CheckedDirectory implements DiskDirectory {
  readonly #context: Context;
  readonly #path: string;

  constructor(context: Context, path: string) {
    this.#context = context;
    this.#path = path;
  }

  status(): DiskInfo {
    return Deno.lstatSync(this.#path);
  }

  statusOf(name: string): DiskInfo | null {
    return lstatOrNull(this.#at(name));
  }

  readLink(name: string): string | null {
    try {
      const target = withSlashes(Deno.readLinkSync(this.#at(name)));
      return target.includes("\ufffd") ? null : target; // may stand for bytes that are not UTF-8
    } catch (error) {
      if (error instanceof Deno.errors.InvalidData) return null;
      throw error;
    }
  }

  enter(name: string): CheckedDirectory {
    return new CheckedDirectory(this.#context, this.#at(name));
  }

  list(path: string): DiskListing {
    const directory = path === "." ? this : this.enter(path);
    const at = directory.#path;
    const info = Deno.lstatSync(at);
    const look = (name: string): DiskInfo | null => name.isWellFormed() ? directory.statusOf(name) : null;
    return {
      info,
      *entries() {
        const nameOf = createNameOf(at);
        for (const entry of Deno.readDirSync(at)) yield listedEntry(entry, nameOf);
      },
      async *entriesInTurns() {
        const nameOf = createNameOf(at);
        for await (const entry of Deno.readDir(at)) yield [listedEntry(entry, nameOf)];
      },
      entryOf: look,
      detailsOf: look,
      lookAgain() {
        if (!directory.isStillInside()) return null;
        const again = Deno.lstatSync(at);
        return isSame(again, info) ? again : null;
      },
      [Symbol.dispose]() {},
    };
  }

  openFile(name: string, found: DiskInfo): DiskFile | null {
    const path = this.#at(name);
    const descriptor = openToRead(path);
    try {
      const file = fileOf(descriptor);
      const { info } = file;
      // between any two steps another process may swap a directory or the file; what was opened must be what was found
      const isUnchanged = info.isFile && isSame(info, found) && this.isStillInside(name) &&
        isSame(Deno.lstatSync(path), info);
      if (isUnchanged) return file;
    } catch (error) {
      nodeFs().closeSync(descriptor);
      throw error;
    }
    nodeFs().closeSync(descriptor);
    return null;
  }

  openOwn(name: string): DiskFile | null {
    if (this.statusOf(name)?.isFile !== true) return null;
    return fileOf(openToRead(this.#at(name)));
  }

  createFile(name: string): DiskFile {
    const { openSync, constants: { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } } = nodeFs();
    return fileOf(openSync(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666));
  }

  openLock(name: string, create: boolean): DiskLock | null {
    const path = this.#at(name);
    if (!create && lstatOrNull(path)?.isFile !== true) return null;
    return toLock(Deno.openSync(path, { write: true, create, ...create ? { mode: 0o600 } : {} }));
  }

  openSelf(): DiskLock {
    return toLock(Deno.openSync(this.#path, { read: true }));
  }

  makeDirectory(name: string, mode = 0o777): void {
    try {
      Deno.mkdirSync(this.#at(name), { mode });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }

  removeFile(name: string): void {
    Deno.removeSync(this.#at(name));
  }

  removeDirectory(name: string): void {
    nodeFs().rmdirSync(this.#at(name)); // which removes nothing but an empty directory, whatever is there by now
  }

  removeTree(name: string): void {
    try {
      Deno.removeSync(this.#at(name), { recursive: true });
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }

  async removeTreeInTurns(name: string): Promise<void> {
    await Deno.remove(this.#at(name), { recursive: true });
  }

  rename(name: string, to: DiskDirectory, newName: string): void {
    Deno.renameSync(this.#at(name), pathIn(to, newName));
  }

  renameNew(name: string, to: DiskDirectory, newName: string): boolean {
    const [from, target] = [this.#at(name), pathIn(to, newName)];
    if (Deno.lstatSync(from).isFile) {
      try {
        nodeFs().linkSync(from, target);
        this.removeFile(name);
        return true;
      } catch (error) {
        if (errorCode(error) === "EEXIST") return false;
        // a file system without hard links
      }
    }
    if (lstatOrNull(target) !== null) return false;
    Deno.renameSync(from, target);
    return true;
  }

  readonly exchange = (): boolean => false; // node:fs has no such rename

  link(name: string, to: DiskDirectory, newName: string): boolean {
    try {
      nodeFs().linkSync(this.#at(name), pathIn(to, newName));
      return true;
    } catch (error) {
      if (unlinkable.has(errorCode(error) ?? "")) return false;
      throw error;
    }
  }

  appendText(name: string, text: string): void {
    const descriptor = openToAppend(this.#at(name));
    try {
      nodeFs().writeSync(descriptor, text);
    } finally {
      nodeFs().closeSync(descriptor);
    }
  }

  isStillInside(name?: string): boolean {
    return this.#allowedNames(name === undefined ? this.#path : this.#at(name)) !== null;
  }

  isStillChangeable(): boolean {
    const info = lstatOrNull(this.#path);
    if (info === null || !info.isDirectory || info.dev !== this.#context.device) return false;
    const segments = this.#allowedNames(this.#path);
    return segments !== null && !this.#context.rules.isProtected(segments);
  }

  /** The names below the root of what really is at the path; `null` outside, and where callers may not go. */
  #allowedNames(path: string): readonly string[] | null {
    const segments = this.#realNames(path);
    return segments === null || isReserved(segments) || this.#context.rules.isDenied(segments) ? null : segments;
  }

  /** The names below the root of what really is at the path; `null` outside. */
  #realNames(path: string): readonly string[] | null {
    const real = realPathOf(path);
    if (real === this.#context.path) return [];
    // with the separator: a sibling whose name starts like the root is not below it (CVE-2025-53110)
    const isBelow = real.startsWith(`${this.#context.path}/`);
    return isBelow ? real.slice(this.#context.path.length + 1).split("/") : null;
  }

  #at(name: string): string {
    // Deno would take halves of pairs for U+FFFD, which may be another entry
    if (!name.isWellFormed()) throw Object.assign(new Error("the name is not Unicode"), { code: "EILSEQ" });
    return name === "." ? this.#path : `${this.#path}/${name}`;
  }

  static pathIn(directory: DiskDirectory, name: string): string {
    if (!(#path in directory)) throw new TypeError("a directory of another access");
    return directory.#at(name);
  }
}
const { pathIn } = CheckedDirectory;

/** O_NONBLOCK: should a pipe have taken the file's place by now, opening it returns instead of waiting for a writer. */
function openToRead(path: string): number {
  const { openSync, constants: { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } } = nodeFs();
  return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

function openToAppend(path: string): number {
  const { openSync, constants: { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } } = nodeFs();
  return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
}

/** The file of a descriptor, which it closes. */
function fileOf(descriptor: number): DiskFile {
  const fs = nodeFs();
  return {
    info: toInfo(fs.fstatSync(descriptor)),
    read: (buffer, position) => fs.readSync(descriptor, buffer, 0, buffer.byteLength, position),
    readLater: (buffer, position) => later((done) => fs.read(descriptor, buffer, 0, buffer.byteLength, position, done)),
    async write(bytes) {
      let written = 0;
      while (written < bytes.byteLength) {
        const length = bytes.byteLength - written;
        written += await later<number>((done) => fs.write(descriptor, bytes, written, length, null, done));
      }
    },
    flush: () => later((done) => fs.fdatasync(descriptor, done)),
    setMode: (mode) => fs.fchmodSync(descriptor, mode),
    setOwner: (uid, gid) => fs.fchownSync(descriptor, uid, gid), // never by path: that could be led to any file
    close: () => fs.closeSync(descriptor),
  };
}

/** The lock of a file that Deno has opened. */
function toLock(file: Deno.FsFile): DiskLock {
  return {
    info: file.statSync(),
    tryLock: () => file.tryLockSync(true),
    unlock: () => file.unlockSync(),
    close: () => file.close(),
  };
}

/** The result of a function of node:fs that calls back. */
function later<T>(begin: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => begin((error, value) => error ? reject(error) : resolve(value as T)));
}

function toInfo(stats: Stats): DiskInfo {
  const { dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime } = stats;
  const kind = { isFile: stats.isFile(), isDirectory: stats.isDirectory(), isSymlink: stats.isSymbolicLink() };
  return { ...kind, dev, ino, mode, nlink, uid, gid, size, mtime, ctime, birthtime };
}

/** More of them in one directory look alike: the halves that come first in a pair. */
const maxUnknownNames = 999;

/**
 * Tells names that hold U+FFFD from those of which Deno says it in place of bytes that are not UTF-8: these get a half
 * of a surrogate pair, which reaches nothing, and another one for each.
 */
function createNameOf(directory: string): (name: string) => string {
  const real = new Set<string>();
  let unknown = 0;
  return (name) => {
    if (!name.includes("\ufffd")) return name;
    if (!real.has(name) && lstatOrNull(`${directory}/${name}`) !== null) {
      real.add(name);
      return name;
    }
    return name.replaceAll("\ufffd", String.fromCharCode(firstUnknown + Math.min(unknown++, maxUnknownNames)));
  };
}

function listedEntry(
  { name, isFile, isDirectory, isSymlink }: Deno.DirEntry,
  nameOf: (name: string) => string,
): { name: string; kind: EntryKind } {
  return { name: nameOf(name), kind: isSymlink ? "link" : isDirectory ? "directory" : isFile ? "file" : "other" };
}

/** What is at `path`, or `null` when there is nothing. Throws every other error. */
function lstatOrNull(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** The real path, with slashes on Windows too. */
export function realPathOf(path: string): string {
  return withSlashes(Deno.realPathSync(path));
}

/** On Windows a backslash separates names too: one left in a link's target could hide a `..`. */
function withSlashes(path: string): string {
  return Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
}
