/**
 * Where unfinished writes and deletions live: one directory in the workspace's root, so that a start cleans up after dead
 * processes without walking the tree. Each process holds a locked file there; the kernel drops the lock however the
 * process ends, so files of an owner whose lock is free are leftovers. Leftovers that were not what a deletion was
 * about are versions that exist nowhere else: they are kept.
 */
import {
  type DiskAccess,
  type DiskDirectory,
  type DiskFile,
  type DiskInfo,
  type DiskLock,
  identityOf,
  isForeign,
  isSame,
  toRefusal,
} from "./directory.ts";
import { enterTrash, saveOldVersion } from "./trash_directory.ts";
import { failure, success } from "../../lib/result.ts";
import { pause } from "../../lib/time.ts";
import { stagingDirectoryName } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";

/** The staging directory; `null` where something else has its name, such as a link that would take writes outside. */
function existingDirectory(access: DiskAccess): DiskDirectory | null {
  const root = access.root();
  const info = root?.statusOf(stagingDirectoryName);
  if (!root || !info?.isDirectory || isForeign(root.status(), info)) return null;
  return root.enter(stagingDirectoryName);
}

/** The same, made when there is none. */
function ensureDirectory(access: DiskAccess): DiskDirectory | null {
  const existing = existingDirectory(access);
  if (existing !== null) return existing;
  access.root()?.makeDirectory(stagingDirectoryName, 0o700);
  return existingDirectory(access);
}

// Cleans up in the staging directory after processes that are gone.

/** An unfinished write, or a lock: its owner, and an id. */
const stagedName = /^([0-9A-Za-z-]+)\.([0-9A-Za-z-]+)$/;
/** An entry to be deleted: its owner, an id, and the identity of what the deletion is about. */
const takenName = /^([0-9A-Za-z-]+)\.[0-9A-Za-z-]+\.([0-9-]+)$/;
const keptDirectoryName = "kept";

/** Removes what processes that are gone have left in the staging directory; files of living processes stay. */
export function sweepStaging(access: DiskAccess): void {
  access.step(() => {
    const directory = existingDirectory(access);
    if (directory === null) return;
    const filesOf = new Map<string, string[]>();
    using listing = directory.list(".");
    for (const { name } of listing.entries()) {
      const owner = (stagedName.exec(name) ?? takenName.exec(name))?.[1];
      if (owner !== undefined) filesOf.set(owner, [...filesOf.get(owner) ?? [], name]);
    }
    for (const [owner, names] of filesOf) {
      const lock = tryTakeLock(directory, `${owner}.lock`);
      if (lock === "held") continue;
      try {
        for (const name of names) removeLeftover(directory, name);
      } finally {
        lock?.close();
      }
    }
  });
}

function removeLeftover(directory: DiskDirectory, name: string): void {
  if (saveOldVersion(directory, name)) return;
  const identity = takenName.exec(name)?.[2];
  const info = identity === undefined ? null : directory.statusOf(name);
  if (info !== null && identityOf(info) !== identity) keep(directory, name, name);
  else directory.removeTree(name);
}

/** Moves an entry to where no start removes it. */
function keep(directory: DiskDirectory, name: string, newName: string): void {
  directory.makeDirectory(keptDirectoryName, 0o700);
  directory.rename(name, directory.enter(keptDirectoryName), newName);
}

/** The lock of a dead owner; `null` when it has none, which means that it ended before it wrote or after it closed. */
function tryTakeLock(directory: DiskDirectory, name: string): DiskLock | "held" | null {
  const file = directory.openLock(name, false);
  if (file === null) return null;
  let isOurs = false;
  try {
    isOurs = file.tryLock();
    return isOurs ? file : "held";
  } finally {
    if (!isOurs) file.close();
  }
}

/** An open file that only its writer knows. */
export interface StagedFile {
  readonly name: string;
  readonly file: DiskFile;
}

/** The staging directory as one process uses it. Everything happens in a step of the access. */
export interface Staging {
  /** Makes an empty file with a random name, or this one. The caller closes it, and places or discards it. */
  create(name?: string): Outcome<StagedFile>;
  /** Opens a staged file to read it again. */
  openStaged(name: string): DiskFile;
  /** Gives a staged or taken entry a name outside, unless there is something of that name; says whether it did. */
  placeNew(name: string, to: DiskDirectory, newName: string): boolean;
  /** Gives a staged file a name outside, in place of what is there. */
  place(name: string, to: DiskDirectory, newName: string): void;
  /** Lets a staged file and the one there take each other's place; `false` where that is no single step. */
  exchange(name: string, to: DiskDirectory, otherName: string): boolean;
  /** The same for an entry of the trash. */
  exchangeKept(item: string, to: DiskDirectory, otherName: string): boolean;
  /** Moves a staged or taken entry into the trash. */
  moveToTrash(name: string, trash: DiskDirectory, item: string): void;
  /** The directory of the trash, in a step. */
  trash(): DiskDirectory;
  /** Deletes a staged file or a taken entry, or leaves it for the sweep of a later start. */
  discard(name: string): void;
  /** The same for a directory with many entries, giving others their turn. */
  discardTree(name: string): Promise<void>;
  /**
   * Moves an entry here that is to be deleted, as it was found, and gives its new name. What is moved may be another by
   * then: the caller looks, and deletes it or puts it back.
   */
  takeIn(directory: DiskDirectory, name: string, found: DiskInfo): Outcome<string>;
  /** What a taken entry is. */
  statusOf(name: string): DiskInfo | null;
  /** Moves a taken entry that cannot be put back to where no start removes it. */
  keep(name: string): void;
  /**
   * Takes a step that looks and then acts, while no other worker or process takes one in this workspace. The step gives
   * up control nowhere, so waits are short: a lock that is held for longer is refused, and never waited for on the thread.
   */
  alone<T>(step: () => Outcome<T>): Promise<Outcome<T>>;
  /** Drops this process's locks. */
  close(): void;
}

/** The last of the pauses between looks at a lock that another holds: four seconds in all. */
const longestLockWaitMs = 2_048;
const maxLockAttempts = 1_000;

const reserved = failure({ reason: "denied", because: "reserved" } as const);

/** Uses the staging directory below the root; the first write makes it, so a read-only workspace can be opened. */
export function createStaging(access: DiskAccess, randomId: () => string): Staging {
  const owner = randomId();
  let lock: DiskLock | null = null;
  let turn: DiskLock | null = null;
  let canExchange: boolean | null = null;
  /** The staging directory during a turn, and the trash once it was needed there. */
  let reached: { readonly staging: DiskDirectory; trash: DiskDirectory | null } | null = null;
  const attempt = <T>(use: (directory: DiskDirectory) => T): Outcome<T> => {
    try {
      const directory = ensureDirectory(access);
      if (directory === null) return reserved;
      lock ??= takeLock(directory, `${owner}.lock`);
      return success(use(directory));
    } catch (error) {
      return failure(toRefusal(error));
    }
  };
  const opened = (): DiskDirectory => {
    if (reached !== null) return reached.staging;
    const directory = ensureDirectory(access);
    if (directory === null) throw Object.assign(new Error("the staging directory was replaced"), { code: "ESTALE" });
    return directory;
  };
  const hasExchange = (): boolean => (canExchange ??= tryExchange(opened(), owner)) === true;
  const trash = (): DiskDirectory => {
    const entered = reached?.trash ?? enterTrash(opened());
    if (reached !== null) reached.trash = entered;
    return entered;
  };
  /** `null` where another holds the lock. */
  const stepAlone = <T>(step: () => Outcome<T>): Outcome<T> | null =>
    access.step(() => {
      if (Deno.build.os === "windows") return step(); // which opens no directories; one process writes there
      const directory = ensureDirectory(access);
      if (directory === null) return reserved;
      turn = openStill(turn, directory);
      if (!turn.tryLock()) return null;
      const before = reached;
      reached = { staging: directory, trash: null };
      try {
        return step();
      } finally {
        reached = before;
        turn.unlock();
      }
    });
  return {
    create: (own = randomId()) =>
      access.step(() =>
        attempt((directory) => {
          const name = `${owner}.${own}`;
          return { name, file: directory.createFile(name) };
        })
      ),
    openStaged: (name) => access.step(() => reopen(opened(), name)),
    placeNew: (name, to, newName) => opened().renameNew(name, to, newName),
    place: (name, to, newName) => opened().rename(name, to, newName),
    exchange: (name, to, otherName) => hasExchange() && opened().exchange(name, to, otherName),
    exchangeKept: (item, to, otherName) => hasExchange() && trash().exchange(item, to, otherName),
    moveToTrash: (name, trash, item) => opened().rename(name, trash, item),
    trash,
    discard(name) {
      try {
        access.step(() => opened().removeTree(name));
      } catch (error) {
        toRefusal(error);
      }
    },
    async discardTree(name) {
      const directory = access.hold(opened);
      try {
        await directory.value.removeTreeInTurns(name);
      } finally {
        directory[Symbol.dispose]();
      }
    },
    takeIn: (from, name, found) =>
      attempt((directory) => {
        const taken = `${owner}.${randomId()}.${identityOf(found)}`;
        from.rename(name, directory, taken);
        return taken;
      }),
    statusOf: (name) => opened().statusOf(name),
    keep: (name) => keep(opened(), name, randomId()),
    async alone(step) {
      for (let waitMs = 1; waitMs <= longestLockWaitMs; waitMs *= 2) {
        const done = stepAlone(step);
        if (done !== null) return done;
        await pause(waitMs);
      }
      return stepAlone(step) ?? failure({ reason: "io", code: "EBUSY" });
    },
    close() {
      turn?.close();
      turn = null;
      if (lock === null) return;
      try {
        access.step(() => existingDirectory(access)?.removeTree(`${owner}.lock`));
      } catch (error) {
        toRefusal(error); // the workspace is gone, or cannot be written any more
      }
      lock.close();
      lock = null;
    },
  };
}

function reopen(directory: DiskDirectory, name: string): DiskFile {
  const file = directory.openOwn(name);
  if (file === null) throw Object.assign(new Error("the staged file is gone"), { code: "ESTALE" });
  return file;
}

/**
 * Whether two files can take each other's place here: some file systems do a plain rename instead, without a word.
 * `null` where that cannot be tried now.
 */
function tryExchange(directory: DiskDirectory, owner: string): boolean | null {
  const [one, other] = [`${owner}.one`, `${owner}.other`];
  try {
    directory.appendText(one, "");
    directory.appendText(other, "");
    const node = directory.statusOf(one)?.ino;
    return directory.exchange(one, directory, other) && directory.statusOf(other)?.ino === node &&
      directory.statusOf(one) !== null;
  } catch (error) {
    toRefusal(error); // no room for two names
    return null;
  } finally {
    for (const name of [one, other]) directory.removeTree(name);
  }
}

/** The lock of the directory: the one that is open, as long as it still is that one. */
function openStill(open: DiskLock | null, directory: DiskDirectory): DiskLock {
  if (open === null) return directory.openSelf();
  if (isSame(directory.status(), open.info)) return open;
  const another = directory.openSelf(); // first: what throws here must not leave a closed file behind
  open.close();
  return another;
}

function takeLock(directory: DiskDirectory, name: string): DiskLock {
  for (let attempt = 0; attempt < maxLockAttempts; attempt++) {
    const file = directory.openLock(name, true);
    if (file === null) throw Object.assign(new Error("the lock is no file"), { code: "ESTALE" });
    let isOurs = false;
    try {
      // a process that swept between the creation and the lock took this file for a dead one's
      if (!file.tryLock()) continue;
      const there = directory.statusOf(name);
      isOurs = there !== null && isSame(there, file.info);
      if (isOurs) return file;
    } finally {
      if (!isOurs) file.close();
    }
  }
  throw Object.assign(new Error("the lock is held by another"), { code: "EBUSY" });
}
