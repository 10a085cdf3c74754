/**
 * Puts a staged file in its place. From the last check to the rename nothing gives up control, so callers in this
 * process cannot come between; the rename itself shows other processes the old file or the new.
 *
 * What was there is kept. Each step is recorded first; then the old entry and the new one take each other's place, where
 * the system can do that. Elsewhere the old one gets a second name in the trash before the new one takes its first.
 */
import { failure, success } from "../../lib/result.ts";
import type { ChangeStep, Kept, Left, Passage, PutStep } from "../workspace/change.ts";
import type { Outcome } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import {
  changedMeanwhile,
  type DiskDirectory,
  type DiskFile,
  type DiskInfo,
  errorCode,
  identityOf,
  isSame,
  toRefusal,
  versionOf,
} from "./directory.ts";
import { type Found, resolveInside } from "./resolve.ts";
import type { StagedFile, Staging } from "./staging.ts";
import type { DiskChange } from "./disk_trash.ts";
import { itemName } from "./trash_directory.ts";
import { checkNewNames } from "../workspace/access_rules.ts";
import type { WorkspacePath } from "../workspace/path.ts";

/** The place of a file that is to be written. */
export interface Target {
  /** The resolved names of the file; some of its directories may be missing. */
  readonly segments: readonly string[];
  /** The deepest directory on the way that is there, good until the step ends. */
  readonly directory: DiskDirectory;
  /** The names below {@link directory}: of the file alone, or of missing directories and the file. */
  readonly names: readonly string[];
  /** The file that is there, or `null`. */
  readonly info: DiskInfo | null;
}

/** What a write expects of its target. */
export interface Expectation {
  /** The resolved names that the writer has reserved. */
  readonly segments: readonly string[];
  /** The file of this version is there; `null`: nothing is; `undefined`: either. */
  readonly version?: string | null | undefined;
}

const writeBits = 0o222;
const setGroupId = 0o2000;

/** Finds where a file would be written, and refuses what may not be written. Changes nothing. */
export function findTarget(disk: Disk, path: WorkspacePath): Outcome<Target> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  const { directory, segments } = resolved.value;
  if (!resolved.value.found) {
    const { missing: names } = resolved.value;
    const target = { segments: [...segments, ...names], directory, names, info: null };
    const checked = checkNewNames(disk.rules, target.segments, segments.length);
    return checked.ok ? success(target) : checked;
  }
  const { info, name } = resolved.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  const changeable = checkChangeable(disk, segments, info);
  return changeable.ok ? success({ segments, directory, names: [name], info }) : changeable;
}

/** Refuses to change, replace or delete what is protected, and files without a write bit. */
export function checkChangeable({ rules }: Disk, segments: readonly string[], info: DiskInfo): Outcome<null> {
  if (rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  // a rename needs no permission on the file itself; someone who took the write bits away meant it
  const isReadOnly = info.isFile && info.mode !== null && (info.mode & writeBits) === 0;
  return isReadOnly ? failure({ reason: "denied", because: "read_only" }) : success(null);
}

/** Puts the staged file at `path`, if that still is as expected; says whether this made a new file. */
export function commitFile(
  disk: Disk,
  path: WorkspacePath,
  staged: StagedFile,
  content: NewContent,
  expected: Expectation,
): Outcome<{ readonly created: boolean }> {
  const { sizeBytes } = content;
  const target = findTarget(disk, path); // again: it may have changed while the content was written
  if (!target.ok) return target;
  const { segments, directory, names, info } = target.value;
  if (segments.join("/") !== expected.segments.join("/")) return changedMeanwhile; // a link on the way leads elsewhere now
  if (expected.version === null && info !== null) return failure({ reason: "already_exists" });
  if (typeof expected.version === "string" && (info === null || versionOf(info) !== expected.version)) {
    return failure({ reason: "conflict" });
  }
  const growth = sizeBytes - (info?.size ?? 0);
  const newEntries = info === null ? names.length : 0;
  const room = disk.quota.check(growth, newEntries);
  if (!room.ok) return room;
  const parent = makeParents(directory, names.slice(0, -1));
  if (!parent.ok) return parent;
  const name = names.at(-1) ?? "";
  const place = { parent: parent.value, name, path: segments.join("/"), made: names.length - 1 };
  if (info === null) {
    takeGroup(staged.file, parent.value.status());
    const placed = placeRecorded(disk, staged, place, content);
    if (!placed.ok) return placed;
  } else {
    // right before the rename, which replaces whatever another process has put there
    const there = parent.value.statusOf(name);
    if (expected.version !== undefined && (there === null || versionOf(there) !== expected.version)) {
      return failure({ reason: "conflict" });
    }
    const placed = replaceKeeping(disk, staged, place, content, info);
    if (!placed.ok) return placed;
  }
  const after = parent.value.statusOf(name);
  if (after === null || !isSame(after, staged.file.info) || !parent.value.isStillInside(name)) return changedMeanwhile;
  disk.quota.add(growth, newEntries);
  disk.change?.leftAt.set(place.path, versionOf(after));
  return success({ created: info === null });
}

/** Gives a new file the group of a directory with the set-group-ID bit, as one gets that is made there. */
function takeGroup(file: DiskFile, { mode, gid }: DiskInfo): void {
  const { uid, gid: own } = file.info;
  if (((mode ?? 0) & setGroupId) === 0 || gid === null || uid === null || gid === own) return;
  try {
    file.setOwner(uid, gid);
  } catch (error) {
    toRefusal(error); // the group is another's: the file keeps the server's
  }
}

/** Makes directories with these names, each in the one before, and gives the last one. */
export function makeParents(directory: DiskDirectory, names: readonly string[]): Outcome<DiskDirectory> {
  let last = directory;
  for (const name of names) {
    if (!last.isStillChangeable()) return changedMeanwhile;
    last.makeDirectory(name);
    last = last.enter(name);
  }
  return last.isStillChangeable() ? success(last) : changedMeanwhile;
}

/** A new content: its size, and what the record of the change is to say of it. */
export interface NewContent {
  readonly sizeBytes: number;
  readonly sha256: string;
  /** The number of the step. */
  readonly step: number;
  /** Whether the old content is the beginning of the new one. */
  readonly isExtended: boolean;
  readonly passages?: readonly Passage[] | undefined;
}

/** Where a file is put. */
interface Place {
  readonly parent: DiskDirectory;
  readonly name: string;
  /** Its resolved path. */
  readonly path: string;
  /** How many directories were made on the way. */
  readonly made: number;
}

/** Records a step and has it made; withdraws it where that gives `false`, or the system refuses. */
export function makeStep(
  change: DiskChange | null,
  number: number,
  step: ChangeStep,
  make: () => boolean | void,
): boolean {
  change?.note(number, step);
  let isMade = false;
  try {
    return isMade = make() !== false;
  } finally {
    if (!isMade) change?.withdraw(number);
  }
}

/** Gives a staged file a name that nothing has. */
function placeRecorded(disk: Disk, staged: StagedFile, place: Place, content: NewContent): Outcome<null> {
  const put: PutStep = { ...putOf(place, staged, content), created: true };
  const putThere = (): boolean => disk.staging.directory().renameNew(staged.name, place.parent, place.name);
  return makeStep(disk.change, content.step, put, putThere) ? success(null) : failure({ reason: "already_exists" });
}

/** Puts a staged file in the place of the one that was found there, and keeps that one. */
function replaceKeeping(
  disk: Disk,
  staged: StagedFile,
  place: Place,
  content: NewContent,
  found: DiskInfo,
): Outcome<null> {
  const { change, staging, trash } = disk;
  const { parent, name, path } = place;
  const putThere = (): void => staging.directory().rename(staged.name, parent, name);
  if (change === null || trash === null) {
    putThere();
    return success(null);
  }
  const put = putOf(place, staged, content);
  const isOwn = change.leftAt.get(path) === versionOf(found);
  if (isOwn || content.isExtended || found.size > trash.maxBytes) {
    const sizeBefore = content.isExtended && !isOwn ? { sizeBefore: found.size } : {};
    makeStep(change, content.step, { ...put, ...sizeBefore, ...isOwn ? { again: true } : {} }, putThere);
    return success(null);
  }
  const item = itemName(change.id, content.step);
  let isGone = false;
  const isPut = makeStep(change, content.step, { ...put, kept: keptOf(found) }, () => {
    const isExchanged = exchangeOrNull(disk, staged, place);
    isGone = isExchanged === null; // another process has deleted it
    if (isExchanged) return keepExchanged(staging, staged, place, item);
    if (isGone) return false;
    keepSecondName(parent, name, staging.trash(), item);
    putThere();
    return true;
  });
  if (isPut) trash.add(found.size);
  if (isGone) return placeRecorded(disk, staged, place, { ...content, step: change.next() });
  return isPut ? success(null) : changedMeanwhile;
}

/** Moves the entry that was exchanged into the trash; exchanges it back where it is no file, or that is refused. */
function keepExchanged(staging: Staging, { name: own }: StagedFile, { parent, name }: Place, item: string): boolean {
  let isKept = false;
  try {
    if (staging.directory().statusOf(own)?.isFile !== true) return false; // another process has put a directory or a link there
    staging.directory().rename(own, staging.trash(), item);
    return isKept = true;
  } finally {
    if (!isKept) staging.exchange(staging.directory(), own, parent, name); // what is staged gets deleted
  }
}

/** Moves an entry, and keeps the file that is replaced; `false`: something has taken the free name meanwhile. */
export function moveKeeping(
  { change, staging, trash }: Disk,
  source: Found,
  { parent, name, path, made }: Place,
  replaced: DiskInfo | null,
): boolean {
  const { directory, info } = source;
  const isKept = replaced !== null && trash !== null && replaced.size <= trash.maxBytes;
  const kept = isKept ? keptOf(replaced) : null;
  const number = change?.next() ?? 0;
  const { kind } = keptOf(info);
  const left = { identity: identityOf(info) };
  const step: ChangeStep = { op: "move", path, from: source.segments.join("/"), kind, made, kept, left };
  const item = change !== null && kept !== null ? itemName(change.id, number) : null;
  const isDone = makeStep(change, number, step, () => {
    if (replaced === null) return directory.renameNew(source.name, parent, name, info);
    let isMoved = false;
    try {
      if (item !== null) keepSecondName(parent, name, staging.trash(), item);
      directory.rename(source.name, parent, name, info);
      return isMoved = true;
    } finally {
      if (!isMoved && item !== null) giveUpSecondName(parent, name, staging.trash(), item);
    }
  });
  if (kept !== null) trash?.add(kept.sizeBytes);
  return isDone;
}

/** Whether the system could exchange them; `null` when there is none to exchange with any more. */
function exchangeOrNull({ staging }: Disk, { name }: StagedFile, place: Place): boolean | null {
  try {
    return staging.exchange(staging.directory(), name, place.parent, place.name);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Keeps a file that is to be replaced by a rename, under a second name, or, where it can have none, moves it. */
export function keepSecondName(parent: DiskDirectory, name: string, trash: DiskDirectory, item: string): void {
  if (!parent.link(name, trash, item)) parent.rename(name, trash, item);
}

/** Takes {@link keepSecondName} back, where the rename failed. */
export function giveUpSecondName(parent: DiskDirectory, name: string, trash: DiskDirectory, item: string): void {
  const info = trash.statusOf(item);
  if (info === null) return;
  if ((info.nlink ?? 1) > 1 && parent.statusOf(name)?.ino === info.ino) trash.removeFile(item);
  else trash.renameNew(item, parent, name);
}

/** What is kept of a file or link. */
export function keptOf({ isFile, isDirectory, isSymlink, size }: DiskInfo): Kept {
  const kind = isFile ? "file" : isDirectory ? "directory" : isSymlink ? "link" : "other";
  return { kind, sizeBytes: isFile ? size : 0, entries: 1 };
}

function putOf({ path, made }: Place, { file }: StagedFile, { sha256, passages }: NewContent): PutStep {
  const left: Left = { sha256 };
  const noted = passages === undefined ? {} : { passages: [...passages] };
  return { op: "put", path, kind: "file", made, kept: null, created: false, left, node: `${file.info.ino}`, ...noted };
}
