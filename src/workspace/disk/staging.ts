/**
 * Where unfinished writes and deletions live: one directory in the workspace's root, so that a start cleans up after dead
 * processes without walking the tree. Each process holds a locked file there; the kernel drops the lock however the
 * process ends, so files of an owner whose lock is free are leftovers. Leftovers that were not what a deletion was
 * about are versions that exist nowhere else: they are kept.
 */
import { constants, openSync } from "node:fs";
import { failure, success } from "../../lib/result.ts";
import { errorCode, toRefusal } from "./refusal.ts";
import { type DiskRoot, isSame, lstatOrNull, makeDirectory } from "./entry.ts";
import { stagingDirectoryName } from "../path.ts";
import type { Outcome } from "../port.ts";

/** An open file that only its writer knows. */
export interface StagedFile {
  readonly path: string;
  readonly descriptor: number;
}

/** The staging directory as one process uses it. */
export interface Staging {
  /** Makes an empty file with a random name. The caller closes it, and renames or unlinks it. */
  create(): Outcome<StagedFile>;
  /** The names of the directory below the root. */
  readonly segments: readonly string[];
  /**
   * Moves an entry here that is to be deleted, as it was found, and gives its new path. What is moved may be another by
   * then: the caller looks, and deletes it or puts it back.
   */
  takeIn(path: string, found: Deno.FileInfo): Outcome<string>;
  /** Moves a taken entry that cannot be put back to where no start removes it. */
  keep(path: string): void;
  /**
   * Takes a step that looks and then acts, while no other worker or process takes one in this workspace. The step does
   * not yield, so the wait is short.
   */
  alone<T>(step: () => Outcome<T>): Outcome<T>;
  /** Drops this process's locks. */
  close(): void;
}

/** An unfinished write, or a lock: its owner, and an id. */
const stagedName = /^([0-9A-Za-z-]+)\.([0-9A-Za-z-]+)$/;
/** An entry to be deleted: its owner, an id, and the identity of what the deletion is about. */
const takenName = /^([0-9A-Za-z-]+)\.[0-9A-Za-z-]+\.([0-9-]+)$/;
const keptDirectoryName = "kept";

/** Uses the staging directory below `root`; the first write makes it, so a read-only workspace can be opened. */
export function createStaging(root: DiskRoot, randomId: () => string): Staging {
  const directory = stagingDirectory(root);
  const owner = randomId();
  let lock: Deno.FsFile | null = null;
  let turn: Deno.FsFile | null = null;
  const randomPath = (): string | null => {
    if (!ensureDirectory(root, directory)) return null;
    lock ??= takeLock(`${directory}/${owner}.lock`);
    return `${directory}/${owner}.${randomId()}`;
  };
  return {
    segments: [stagingDirectoryName],
    create() {
      try {
        const path = randomPath();
        if (path === null) return failure({ reason: "denied", because: "reserved" });
        const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
        return success({ path, descriptor: openSync(path, flags, 0o666) });
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    takeIn(from, found) {
      try {
        const random = randomPath();
        if (random === null) return failure({ reason: "denied", because: "reserved" });
        const path = `${random}.${identityOf(found)}`;
        Deno.renameSync(from, path);
        return success(path);
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    keep: (path) => keep(directory, path, randomId()),
    alone(step) {
      if (Deno.build.os === "windows") return step(); // which opens no directories; one process writes there
      if (!ensureDirectory(root, directory)) return failure({ reason: "denied", because: "reserved" });
      turn = openStill(turn, directory);
      turn.lockSync(true);
      try {
        return step();
      } finally {
        turn.unlockSync();
      }
    },
    close() {
      turn?.close();
      turn = null;
      if (lock === null) return;
      removeIfThere(`${directory}/${owner}.lock`);
      lock.close();
      lock = null;
    },
  };
}

/** Removes what processes that are gone have left in the staging directory; files of living processes stay. */
export function sweepStaging(root: DiskRoot): void {
  const directory = stagingDirectory(root);
  const info = lstatOrNull(directory);
  if (info === null || !info.isDirectory || info.dev !== root.device) return;
  const filesOf = new Map<string, string[]>();
  for (const { name } of Deno.readDirSync(directory)) {
    const owner = (stagedName.exec(name) ?? takenName.exec(name))?.[1];
    if (owner !== undefined) filesOf.set(owner, [...filesOf.get(owner) ?? [], name]);
  }
  for (const [owner, names] of filesOf) {
    const lock = tryTakeLock(`${directory}/${owner}.lock`);
    if (lock === "held") continue;
    for (const name of names) removeLeftover(directory, name);
    lock?.close();
  }
}

/** Tells one version of a file from another, and a directory from another; moving it changes nothing of it. */
export function identityOf({ isDirectory, ino, birthtime, size, mtime }: Deno.FileInfo): string {
  const numbers = [ino, birthtime?.getTime(), ...isDirectory ? [] : [size, mtime?.getTime()]];
  return numbers.map((number) => `${Math.trunc(number || 0)}`).join("-"); // NaN where the system does not tell
}

/** Deletes a staged file or directory; that it is gone already is no error. */
export function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function removeLeftover(directory: string, name: string): void {
  const path = `${directory}/${name}`;
  const identity = takenName.exec(name)?.[2];
  const info = identity === undefined ? null : lstatOrNull(path);
  if (info !== null && identityOf(info) !== identity) keep(directory, path, name);
  else removeIfThere(path);
}

function keep(directory: string, path: string, name: string): void {
  const kept = `${directory}/${keptDirectoryName}`;
  if (lstatOrNull(kept) === null) Deno.mkdirSync(kept, { mode: 0o700 });
  Deno.renameSync(path, `${kept}/${name}`);
}

function stagingDirectory(root: DiskRoot): string {
  return `${root.path}/${stagingDirectoryName}`;
}

function ensureDirectory(root: DiskRoot, directory: string): boolean {
  let info = lstatOrNull(directory);
  if (info === null) {
    makeDirectory(directory, 0o700);
    info = Deno.lstatSync(directory);
  }
  return info.isDirectory && info.dev === root.device; // a link planted here would take the writes outside
}

/** The directory at `path`: the one that is open, as long as it still is that one. */
function openStill(open: Deno.FsFile | null, path: string): Deno.FsFile {
  if (open === null) return Deno.openSync(path, { read: true });
  const there = lstatOrNull(path);
  const { dev, ino } = open.statSync();
  if (there !== null && isSame(there, dev, ino)) return open;
  const another = Deno.openSync(path, { read: true }); // first: what throws here must not leave a closed file behind
  open.close();
  return another;
}

function takeLock(path: string): Deno.FsFile {
  for (;;) {
    const file = Deno.openSync(path, { write: true, create: true, mode: 0o600 });
    file.lockSync(true);
    const { dev, ino } = file.statSync();
    const there = lstatOrNull(path);
    // a process that swept between the creation and the lock took this file for a dead one's
    if (there !== null && isSame(there, dev, ino)) return file;
    file.close();
  }
}

/** The lock of a dead owner; `null` when it has none, which means that it ended before it wrote or after it closed. */
function tryTakeLock(path: string): Deno.FsFile | "held" | null {
  if (lstatOrNull(path)?.isFile !== true) return null;
  const file = Deno.openSync(path, { write: true });
  if (file.tryLockSync(true)) return file;
  file.close();
  return "held";
}
