/**
 * Directories by their paths, where the kernel cannot confine names: each use is checked before and after. Another
 * process that swaps a directory for a link at the right moment can still get past the checks.
 */
import { nodeFs } from "../../lib/node_modules.ts";
import type { AccessRules } from "../workspace/access_rules.ts";
import { isReserved } from "../workspace/path.ts";
import { type DiskAccess, type DiskDirectory, type DiskFile, type DiskInfo, type DiskListing, type DiskLock, isSame } from "./directory.ts";
import { errorCode, unlinkable } from "./refusal.ts";
import { fileOf, openToAppend, openToRead, toLock } from "./checked_file.ts";
import { createNameOf, listedEntry, lstatOrNull, realPathOf, withSlashes } from "./checked_true_names.ts";

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

  openToAppend(name: string): DiskFile {
    return fileOf(openToAppend(this.#at(name)));
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
    const segments = this.#realNames(name === undefined ? this.#path : this.#at(name));
    return segments !== null && !isReserved(segments) && !this.#context.rules.isDenied(segments);
  }

  isStillChangeable(): boolean {
    const info = lstatOrNull(this.#path);
    if (info === null || !info.isDirectory || info.dev !== this.#context.device || !this.isStillInside()) return false;
    const segments = this.#realNames(this.#path);
    return segments !== null && !this.#context.rules.isProtected(segments);
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
