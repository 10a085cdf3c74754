/**
 * Handles by paths, where the kernel cannot confine names: each use is checked before and after. Another process that
 * swaps a directory for a link at the right moment can still get past the checks.
 */
import type { Stats } from "node:fs";
import { nodeFs } from "../../lib/program.ts";
import type { Descriptor, KernelRoots, ListedName } from "../../lib/kernel/descriptor.ts";
import { coded, type DiskInfo, errorCode, type Handle, isSame } from "./directory.ts";
import { firstUnknown, isReserved } from "../workspace/path.ts";
import type { AccessRules } from "../workspace/access_rules.ts";

/** The way to the directories of this system by their paths. */
export function createPathRoots(rules: AccessRules): KernelRoots<DiskInfo> {
  return {
    open: (path) => new CheckedPath({ path, device: Deno.lstatSync(path).dev, rules }, path),
    statusOf: lstatOrNull,
  };
}

interface Context {
  readonly path: string;
  readonly device: number;
  readonly rules: AccessRules;
}

type Purpose = Parameters<Descriptor["open"]>[1];

class CheckedPath implements Handle {
  readonly checks = this;
  readonly #context: Context;
  readonly #path: string;
  /** Of a file that is open. */
  readonly #number: number;
  /** Of what is locked: node:fs has no locks. */
  #lock: Deno.FsFile | null;
  #isListed = false;

  constructor(context: Context, path: string, number = -1, lock: Deno.FsFile | null = null) {
    this.#context = context;
    this.#path = path;
    this.#number = number;
    this.#lock = lock;
  }

  open(name: string, purpose: Purpose): CheckedPath {
    const path = this.#at(name);
    const lock = purpose === "lock"
      ? Deno.openSync(path, { write: true })
      : purpose === "create_lock"
      ? Deno.openSync(path, { write: true, create: true, mode: 0o600 })
      : null;
    return new CheckedPath(this.#context, path, openFile(path, purpose), lock);
  }

  /** Nothing is opened by more than one name: each is looked at. */
  readonly tryOpen = (): string => "ENOSYS";

  status(): DiskInfo {
    if (this.#number >= 0) return toInfo(nodeFs().fstatSync(this.#number));
    return this.#lock?.statSync() ?? Deno.lstatSync(this.#path);
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

  readEntries(): readonly ListedName[] {
    if (this.#isListed) return [];
    this.#isListed = true;
    return Array.from(Deno.readDirSync(this.#path), createNaming(this.#path));
  }

  async *entriesInTurns(): AsyncGenerator<readonly ListedName[]> {
    const toListed = createNaming(this.#path);
    for await (const entry of Deno.readDir(this.#path)) yield [toListed(entry)];
  }

  makeDirectory(name: string, mode: number): void {
    Deno.mkdirSync(this.#at(name), { mode });
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

  link(name: string, to: Handle, newName: string): void {
    const path = this.#at(name);
    if (!Deno.lstatSync(path).isFile) throw coded("EPERM"); // some systems would link what a link leads to
    nodeFs().linkSync(path, pathIn(to, newName));
  }

  rename(name: string, to: Handle, newName: string): void {
    Deno.renameSync(this.#at(name), pathIn(to, newName));
  }

  /** Node:fs has no such rename. */
  renameNew(): never {
    throw coded("ENOSYS");
  }

  read(buffer: Uint8Array, position: number): number {
    return nodeFs().readSync(this.#number, buffer, 0, buffer.byteLength, position);
  }

  readLater(buffer: Uint8Array, position: number): Promise<number> {
    return later((done) => nodeFs().read(this.#number, buffer, 0, buffer.byteLength, position, done));
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.byteLength;) {
      const length = bytes.byteLength - written;
      written += await later<number>((done) => nodeFs().write(this.#number, bytes, written, length, null, done));
    }
  }

  writeNow(bytes: Uint8Array): void {
    nodeFs().writeSync(this.#number, bytes);
  }

  flush(): Promise<void> {
    return later((done) => nodeFs().fdatasync(this.#number, done));
  }

  setMode(mode: number): void {
    nodeFs().fchmodSync(this.#number, mode);
  }

  setOwner(uid: number, gid: number): void {
    nodeFs().fchownSync(this.#number, uid, gid); // never by path: that could be led to any file
  }

  tryLock(): boolean {
    return (this.#lock ??= Deno.openSync(this.#path)).tryLockSync(true);
  }

  unlock(): void {
    this.#lock?.unlockSync();
  }

  close(): void {
    if (this.#number >= 0) nodeFs().closeSync(this.#number);
    this.#lock?.close();
  }

  isStillInside(name = "."): boolean {
    return this.#allowedNames(this.#at(name)) !== null;
  }

  isStillChangeable(): boolean {
    const info = lstatOrNull(this.#path);
    if (info === null || !info.isDirectory || info.dev !== this.#context.device) return false;
    const segments = this.#allowedNames(this.#path);
    return segments !== null && !this.#context.rules.isProtected(segments);
  }

  /** Between any two steps another process may swap a directory or the file. */
  isUnchanged(name: string, opened: DiskInfo, found: DiskInfo): boolean {
    return isSame(opened, found) && this.isStillInside(name) && isSame(Deno.lstatSync(this.#at(name)), opened);
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
    if (!name.isWellFormed()) throw coded("EILSEQ");
    return name === "." ? this.#path : `${this.#path}/${name}`;
  }

  static pathIn(directory: Handle, name: string): string {
    if (!(#path in directory)) throw new TypeError("a directory of another access");
    return directory.#at(name);
  }
}
const { pathIn } = CheckedPath;

function openFile(path: string, purpose: Purpose): number {
  const { openSync, constants: { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_NONBLOCK } } = nodeFs();
  switch (purpose) {
    case "read": // O_NONBLOCK: should a pipe have taken the file's place, it returns instead of waiting for a writer
      return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    case "create":
      return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    case "append":
      return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    default:
      return -1;
  }
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
function createNaming(directory: string): (entry: Deno.DirEntry) => ListedName {
  const real = new Set<string>();
  let unknown = 0;
  const nameOf = (name: string): string => {
    if (!name.includes("\ufffd")) return name;
    if (!real.has(name) && lstatOrNull(`${directory}/${name}`) !== null) {
      real.add(name);
      return name;
    }
    return name.replaceAll("\ufffd", String.fromCharCode(firstUnknown + Math.min(unknown++, maxUnknownNames)));
  };
  return ({ name, isFile, isDirectory, isSymlink }) => ({
    name: nameOf(name),
    kind: isSymlink ? "link" : isDirectory ? "directory" : isFile ? "file" : "other",
  });
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
