/**
 * Where unfinished writes and deletions live: one directory in the workspace's root, so that a start cleans up after
 * dead processes without walking the tree. Each process holds a locked file there; the kernel drops the lock however
 * the process ends, so files of an owner whose lock is free are leftovers. Leftovers that were not what a deletion was
 * about are versions that exist nowhere else: they are kept. The trash lies in there, too.
 */
import * as z from "zod";
import { parseJson } from "../../lib/json.ts";
import {
  authorRecord,
  createChangeIds,
  keptBytes,
  maxChanges,
  roomShare,
  stepRecord,
  timeOfChange,
} from "../workspace/change.ts";
import type { Change, ChangeAuthor, ChangeStep, NumberedStep } from "../workspace/change.ts";
import { stagingDirectoryName } from "../workspace/path.ts";
import { coded, errorCode, identityOf, isForeign, isSame, toRefusal } from "./directory.ts";
import type { DiskAccess, DiskDirectory, DiskFile, DiskInfo } from "./directory.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { createKeyedMutex, nextTurn } from "../../lib/turns.ts";
import { type Clock, pause } from "../../lib/time.ts";
import { denied, type Outcome, type TrashLimits, type WorkspaceRefusal } from "../workspace/port.ts";

/** An open file that only its writer knows. */
export interface StagedFile {
  readonly name: string;
  readonly file: DiskFile;
}

/** The staging directory as one process uses it. Everything happens in a step of the access. */
export type Staging = ReturnType<typeof createStaging>;

/** The last of the pauses between looks at a lock that another holds: four seconds in all. */
const longestLockWaitMs = 2_048;
const maxLockAttempts = 1_000;

const reserved = denied("reserved");

/** Uses the staging directory below the root; the first write makes it, so a read-only workspace can be opened. */
export function createStaging(access: DiskAccess, randomId: () => string) {
  const owner = randomId();
  let lock: DiskFile | null = null;
  let turn: DiskFile | null = null;
  /** The staging directory during a turn, and the trash once it was needed there. */
  let reached: { readonly staging: DiskDirectory; trash: DiskDirectory | null } | null = null;
  /** The directory of staged files and of taken entries, in a step. */
  const directory = (): DiskDirectory => {
    const staging = reached?.staging ?? ensureDirectory(access);
    if (staging === null) throw coded("ESTALE");
    return staging;
  };
  /** The same, with the lock by which a sweep knows that this process lives. */
  const whileLocked = (): DiskDirectory => {
    const staging = directory();
    lock ??= takeLock(staging, `${owner}.lock`);
    return staging;
  };
  /** `null` where another holds the lock. */
  const stepAlone = <T>(step: () => Outcome<T>): Outcome<T> | null =>
    access.step(() => {
      if (Deno.build.os === "windows") return step(); // which opens no directories; one process writes there
      const staging = ensureDirectory(access);
      if (staging === null) return reserved;
      turn = openStill(turn, staging);
      if (!turn.tryLock()) return null;
      const before = reached;
      reached = { staging, trash: null };
      try {
        return step();
      } finally {
        reached = before;
        turn.unlock();
      }
    });
  return {
    directory,
    /** The directory of the trash, in a step. */
    trash(): DiskDirectory {
      const entered = reached?.trash ?? enterTrash(directory());
      if (reached !== null) reached.trash = entered;
      return entered;
    },
    /** Makes an empty file with a random name, or this one. The caller closes it, and places or discards it. */
    create: (own = randomId()): Outcome<StagedFile> =>
      access.attempt(() => {
        if (ensureDirectory(access) === null) return reserved;
        const name = `${owner}.${own}`;
        return success({ name, file: whileLocked().createFile(name) });
      }),
    /** Deletes a staged file or a taken entry, or leaves it for the sweep of a later start. */
    discard(name: string): void {
      try {
        access.step(() => directory().removeTree(name));
      } catch (error) {
        toRefusal(error);
      }
    },
    /** The same for a directory with many entries, giving others their turn. */
    async discardTree(name: string): Promise<void> {
      const held = access.hold(directory);
      try {
        await held.value.removeTreeInTurns(name);
      } finally {
        held[Symbol.dispose]();
      }
    },
    /**
     * A name here for an entry that is to be deleted, as it was found. What is moved may be another by then: the caller
     * looks, and deletes it or puts it back.
     */
    nameFor(found: DiskInfo): string {
      whileLocked();
      return `${owner}.${randomId()}.${identityOf(found)}`;
    },
    /** Moves a taken entry that cannot be put back to where no start removes it. */
    keep: (name: string): void => keep(directory(), name, randomId()),
    /**
     * Takes a step that looks and then acts, while no other worker or process takes one in this workspace. The step
     * gives up control nowhere, so waits are short: a lock that is held for longer is refused.
     */
    async alone<T>(step: () => Outcome<T>): Promise<Outcome<T>> {
      await nextTurn(); // a call may take a hundred of them
      try {
        for (let waitMs = 1;; waitMs *= 2) {
          const done = stepAlone(step);
          if (done !== null) return done;
          if (waitMs > longestLockWaitMs) throw coded("EBUSY");
          await pause(waitMs);
        }
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    /** Drops this process's locks. */
    close(): void {
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

/** The lock of the directory: the one that is open, as long as it still is that one. */
function openStill(open: DiskFile | null, directory: DiskDirectory): DiskFile {
  if (open === null) return directory.openSelf();
  if (isSame(directory.status(), open.info)) return open;
  const another = directory.openSelf(); // first: what throws here must not leave a closed file behind
  open.close();
  return another;
}

function takeLock(directory: DiskDirectory, name: string): DiskFile {
  for (let attempt = 0; attempt < maxLockAttempts; attempt++) {
    const file = lockOf(directory, name, true);
    if (file === null) throw coded("ESTALE");
    // a process that swept between the creation and the lock took this file for a dead one's
    if (file === "held") continue;
    const there = directory.statusOf(name);
    if (there !== null && isSame(there, file.info)) return file;
    file.close();
  }
  throw coded("EBUSY");
}

/** The file, locked; `null` when there is none, or no file. */
function lockOf(directory: DiskDirectory, name: string, create: boolean): DiskFile | "held" | null {
  const file = directory.openLock(name, create);
  if (file === null) return null;
  let isOurs = false;
  try {
    isOurs = file.tryLock();
    return isOurs ? file : "held";
  } finally {
    if (!isOurs) file.close();
  }
}

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
    using listing = directory.list(".");
    const names = Array.from(listing.entries(), ({ name }) => name);
    const byOwner = Map.groupBy(names, (name) => (stagedName.exec(name) ?? takenName.exec(name))?.[1]);
    for (const [owner, names] of byOwner) {
      // of a dead owner; it has none where it ended before it wrote or after it closed
      const lock = owner === undefined ? "held" : lockOf(directory, `${owner}.lock`, false);
      if (lock === "held") continue;
      try {
        for (const name of names) removeLeftover(access, directory, name);
      } finally {
        lock?.close();
      }
    }
  });
}

function removeLeftover(access: DiskAccess, directory: DiskDirectory, name: string): void {
  withdrawStaged(access, directory, name);
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

// * The directory of the trash, in the staging directory: for each change a record (`ID.json`, a line for each step) and
// what its steps kept (`ID.NUMBER`), for a bounded time and size. A step is recorded before it is made, so that whatever
// lies here has its record.

export type DiskTrash = ReturnType<typeof createDiskTrash>;
/** A change that is being made. All but `next` happens in a turn of the staging directory. */
export type DiskChange = ReturnType<DiskTrash["begin"]>;

export function createDiskTrash(
  { access, staging, clock, randomId, ...limits }: TrashLimits & {
    readonly access: DiskAccess;
    readonly staging: Staging;
    readonly clock: Clock;
    readonly randomId: () => string;
  },
) {
  const { keepMs, maxBytes } = limits;
  const nextId = createChangeIds(clock, randomId);
  /** What each change keeps, of those examined so far. */
  const sizes = new Map<string, number>();
  let used = 0;
  let tidying: Promise<void> | null = null;
  const turns = createKeyedMutex();

  const namesByChange = (): Map<string, string[]> =>
    access.step(() => {
      using listing = staging.trash().list(".");
      const names = Array.from(listing.entries(), ({ name }) => name);
      const byChange = Map.groupBy(names, (name) => name.split(".", 1)[0] ?? "");
      return new Map([...byChange].sort(([a], [b]) => a < b ? -1 : 1));
    });
  const sizeOf = async (id: string): Promise<number> => {
    const known = sizes.get(id);
    if (known !== undefined) return known;
    const found = await staging.alone(() => {
      const change = readRecord(staging.trash(), id);
      if (change !== null) settleChange(access, staging.trash(), change);
      return success(change);
    });
    if (!found.ok) return 0;
    const size = found.value === null ? 0 : keptBytes(found.value.steps);
    sizes.set(id, size);
    return size;
  };
  const find = (id: string): Change | null => access.step(() => readRecord(staging.trash(), id));
  /** `false` for what cannot be deleted, such as a read-only directory: it holds up no other change. */
  const drop = async (id: string, names: readonly string[]): Promise<boolean> => {
    using trash = access.hold(() => staging.trash());
    const items = names.filter((name) => name !== recordName(id));
    used -= sizes.get(id) ?? 0;
    sizes.delete(id);
    for (const name of [...items, recordName(id)]) { // in this order a kill leaves nothing without its record
      try {
        await trash.value.removeTreeInTurns(name);
      } catch (error) {
        if (errorCode(error) === "ENOENT") continue; // another process dropped it
        toRefusal(error);
        sizes.set(id, 0);
        return false;
      }
    }
    return true;
  };
  const tidyAt = async (now: number): Promise<void> => {
    const names = namesByChange();
    for (const id of sizes.keys()) if (!names.has(id)) sizes.delete(id);
    used = 0;
    for (const [id, those] of names) {
      await nextTurn();
      used += sizes.get(id) ?? 0;
      if (timeOfChange(id) + keepMs <= now) {
        await drop(id, those);
        names.delete(id);
      } else if (!sizes.has(id)) used += await sizeOf(id);
    }
    const isOver = used > maxBytes || names.size > maxChanges;
    let count = names.size;
    for (const [id, those] of names) {
      const fits = used <= maxBytes * (1 - roomShare) && count <= maxChanges * (1 - roomShare);
      if (!isOver || fits) break;
      await drop(id, those);
      count--;
    }
  };
  /** One at a time; a workspace that cannot be written, or is gone, keeps what it has. */
  const inTurn = <T>(task: () => Promise<T>, otherwise: T): Promise<T> =>
    turns.run("", task).catch((error: unknown) => {
      toRefusal(error);
      return otherwise;
    });
  return {
    ...limits,
    /** Begins a change, whose id `onChange` gets before its first step. */
    begin(by: ChangeAuthor | null, onChange?: (id: string) => void, newId = nextId) {
      let id: string | null = null;
      let last = 0;
      let isNoted = false;
      const ownId = (): string => id ??= newId();
      return {
        get id(): string {
          return ownId();
        },
        maxBytes,
        /** Counts what a step keeps. */
        keep: (bytes: number): void => void (used += bytes),
        /** The number of its next step. */
        next: (): number => ++last,
        /** Records a step, before it is made. */
        note(number: number, step: ChangeStep): void {
          const line = toRecordLine({ number, step });
          if (!isNoted) onChange?.(ownId());
          staging.trash().appendText(recordName(ownId()), isNoted ? line : toRecordLine({ at: clock(), by }) + line);
          isNoted = true;
        },
        /** A step that was recorded was not made. */
        withdraw: (number: number): void =>
          staging.trash().appendText(recordName(ownId()), toRecordLine({ withdrawn: number })),
        /** The version of the file that this change has left at a path. */
        leftAt: new Map<string, string>(),
      };
    },
    /** Drops what is too much: once for all changes that find it so at the same time. */
    async keepBound(): Promise<void> {
      if (used <= maxBytes) return;
      await (tidying ??= inTurn(() => tidyAt(-Infinity), undefined).finally(() => tidying = null));
    },
    /** Drops some of the oldest changes before `own`, for which room is short; `false`: there is nothing to drop. */
    makeRoom: (own: { readonly id: string } | null): Promise<boolean> =>
      inTurn(async () => {
        let isRoomMade = false;
        const wanted = used * (1 - roomShare);
        for (const [id, names] of namesByChange()) {
          if ((isRoomMade && used <= wanted) || (own !== null && id >= own.id)) break; // at least one change
          await sizeOf(id);
          await drop(id, names);
          isRoomMade = true; // a record takes some, too
        }
        return isRoomMade;
      }, false),
    /** Drops what at `now` is kept for too long, and what is too much. */
    tidy: (now: number): Promise<void> => inTurn(() => tidyAt(now), undefined),
    /** Ids, the oldest first. */
    ids: (): readonly string[] => [...namesByChange().keys()],
    find,
    async noteUndone(id: string, by: string): Promise<void> {
      await staging.alone(() => { // a refusal changes nothing: it is undone all the same
        if (find(id) !== null) staging.trash().appendText(recordName(id), toRecordLine({ undoneBy: by }));
        return success(null);
      });
    },
    close: (): Promise<void> => turns.run("", () => Promise.resolve()),
  };
}

/** Whether there was no room for it. */
export function isFull(outcome: Result<unknown, WorkspaceRefusal>): boolean {
  return !outcome.ok && outcome.error.reason === "no_space";
}

/** In a turn of the staging directory, so that no step is being made. */
function settleChange(access: DiskAccess, trash: DiskDirectory, { id, steps }: Change): void {
  for (const { number, step } of steps) {
    if (step.op !== "put" && step.op !== "move") continue;
    const name = itemName(id, number);
    const item = trash.statusOf(name);
    if (item === null) continue;
    const isSecond = item.isFile && (item.nlink ?? 1) > 1 && entryAt(access, step.path)?.ino === item.ino;
    const { source } = step.op === "put" ? step : {};
    const waiting = step.op === "move"
      ? entryAt(access, step.from)
      : source && trash.statusOf(itemName(source.change, source.number));
    const isWaiting = waiting && step.left.identity === identityOf(waiting);
    if (isSecond) trash.removeFile(name); // what it is of was not replaced yet
    else if (!isWaiting || !putBackMoved(access, trash, name, step.path)) continue;
    trash.appendText(recordName(id), toRecordLine({ withdrawn: number }));
  }
}

function entryAt(access: DiskAccess, path: string): DiskInfo | null {
  const place = placeOf(access, path);
  return place?.parent.statusOf(place.name) ?? null;
}

export const trashDirectoryName = "trash";
/** Longer records are read up to here: a step takes some 300 bytes. */
const maxRecordBytes = 16 * 1024 * 1024;
const pieceBytes = 65_536;
/** A staged file of a change: its owner, the change and the number of the step. */
const stagedForChange = /^[0-9A-Za-z-]+\.([0-9a-z]{9,40})-(\d+)$/;

const header = z.lazy(() => z.object({ at: z.number(), by: authorRecord.nullable() }));
const line = z.lazy(() =>
  z.union([header, stepRecord, z.object({ withdrawn: z.int() }), z.object({ undoneBy: z.string() })])
);

function recordName(id: string): string {
  return `${id}.json`;
}

export function itemName(id: string, number: number): string {
  return `${id}.${number}`;
}

/** The directory, made when it is missing. Only the server's own user reads it. */
function enterTrash(staging: DiskDirectory): DiskDirectory {
  const there = staging.statusOf(trashDirectoryName); // where paths are checked, nothing else looks at it
  if (there === null) staging.makeDirectory(trashDirectoryName, 0o700);
  else if (!there.isDirectory) throw coded("ESTALE");
  return staging.enter(trashDirectoryName);
}

/** The text of a line; it begins with a line end, since a full disk may have cut the line before. */
function toRecordLine(content: z.infer<typeof line>): string {
  return `\n${JSON.stringify(content)}\n`;
}

/** The change as its record tells it; `null` when there is none, or none that can be read. */
function readRecord(trash: DiskDirectory, id: string): Change | null {
  const text = readText(trash, recordName(id));
  let first: z.infer<typeof header> | null = null;
  const steps: NumberedStep[] = [];
  const withdrawn = new Set<number>();
  let undoneBy: string | null = null;
  for (const each of text.split("\n")) {
    const parsed = each === "" ? null : line.safeParse(parseJson(each));
    if (!parsed?.success) continue;
    if ("at" in parsed.data) first ??= parsed.data;
    else if ("step" in parsed.data) steps.push(parsed.data);
    else if ("withdrawn" in parsed.data) withdrawn.add(parsed.data.withdrawn);
    else undoneBy = parsed.data.undoneBy;
  }
  if (first === null) return null;
  return { id, at: first.at, by: first.by, steps: steps.filter(({ number }) => !withdrawn.has(number)), undoneBy };
}

/** Withdraws the step for which a dead process had staged a file. */
function withdrawStaged(access: DiskAccess, staging: DiskDirectory, name: string): void {
  const [, id, number] = stagedForChange.exec(name) ?? [];
  const isPlaced = (staging.statusOf(name)?.nlink ?? 1) > 1; // by a second name, and this one was not removed yet
  if (id === undefined || isPlaced) return;
  const trash = enterTrash(staging);
  const found = readRecord(trash, id)?.steps.find((each) => each.number === Number(number));
  if (found === undefined) return;
  if (found.step.op === "put") putBackMoved(access, trash, itemName(id, found.number), found.step.path);
  trash.appendText(recordName(id), toRecordLine({ withdrawn: found.number }));
}

/**
 * Puts a file back that was moved into the trash, since it can have no second name, for one that was not put in its
 * place. Of one that can, the name was not taken by us.
 */
function putBackMoved(access: DiskAccess, trash: DiskDirectory, item: string, path: string): boolean {
  const place = trash.statusOf(item)?.isFile ? placeOf(access, path) : null;
  if (!place?.parent.isStillInside()) return false;
  const trial = `${item}.trial`;
  if (!trash.link(item, trash, trial)) return trash.renameNew(item, place.parent, place.name);
  trash.removeFile(trial);
  return false;
}

/** Where a recorded path leads; `null` where a directory on the way is gone. */
function placeOf(access: DiskAccess, path: string) {
  const names = path.split("/");
  const name = names.pop() ?? "";
  try {
    let parent = access.root();
    for (const each of names) parent = parent?.enter(each) ?? null;
    return parent && { parent, name };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

function readText(directory: DiskDirectory, name: string): string {
  const file = directory.openOwn(name);
  if (file === null) return "";
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(pieceBytes);
  let text = "";
  try {
    for (let at = 0, count; at < maxRecordBytes && (count = file.read(buffer, at)) > 0; at += count) {
      text += decoder.decode(buffer.subarray(0, count), { stream: true });
    }
  } finally {
    file.close();
  }
  return text + decoder.decode();
}
