/**
 * Puts entries in their places and keeps what was there. Each step is recorded first; then the old entry and the new one
 * take each other's place, where the system can do that. Elsewhere the old one gets a second name in the trash before the
 * new one takes its first, so that readers see one or the other at any time.
 */
import { failure, success } from "../../lib/result.ts";
import type { ChangeStep, Kept, Left, Passage, PutStep } from "../workspace/change.ts";
import type { Outcome } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { type DiskDirectory, type DiskInfo, identityOf, versionOf } from "./directory.ts";
import { errorCode } from "./refusal.ts";
import type { Found } from "./resolve.ts";
import type { StagedFile, Staging } from "./staging.ts";
import type { DiskChange } from "./disk_trash.ts";
import { itemName } from "./trash_directory.ts";

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

const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** Records a step and has it made; withdraws it where that gives `false`, or the system refuses. */
export function makeStep(change: DiskChange | null, number: number, step: ChangeStep, make: () => boolean): boolean {
  change?.note(number, step);
  let isMade = false;
  try {
    return isMade = make();
  } finally {
    if (!isMade) change?.withdraw(number);
  }
}

/** Gives a staged file a name that nothing has. */
export function placeRecorded(disk: Disk, staged: StagedFile, place: Place, content: NewContent): Outcome<null> {
  const put: PutStep = { ...putOf(place, staged, content), created: true };
  const putThere = (): boolean => disk.staging.placeNew(staged.name, place.parent, place.name);
  return makeStep(disk.change, content.step, put, putThere) ? success(null) : failure({ reason: "already_exists" });
}

/** Puts a staged file in the place of the one that was found there, and keeps that one. */
export function replaceKeeping(
  disk: Disk,
  staged: StagedFile,
  place: Place,
  content: NewContent,
  found: DiskInfo,
): Outcome<null> {
  const { change, staging, trash } = disk;
  const { parent, name, path } = place;
  if (change === null || trash === null) {
    staging.place(staged.name, parent, name);
    return success(null);
  }
  const put = putOf(place, staged, content);
  const isOwn = change.leftAt.get(path) === versionOf(found);
  if (isOwn || content.isExtended || found.size > trash.maxBytes) {
    const sizeBefore = content.isExtended && !isOwn ? { sizeBefore: found.size } : {};
    makeStep(change, content.step, { ...put, ...sizeBefore, ...isOwn ? { again: true } : {} }, () => {
      staging.place(staged.name, parent, name);
      return true;
    });
    return success(null);
  }
  const item = itemName(change.id, content.step);
  let isGone = false;
  const isPut = makeStep(change, content.step, { ...put, kept: keptOf(found) }, () => {
    const directory = staging.trash();
    const isExchanged = exchangeOrNull(disk, staged, place);
    isGone = isExchanged === null; // another process has deleted it
    if (isExchanged) return keepExchanged(staging, staged, place, item);
    if (isGone) return false;
    keepSecondName(parent, name, directory, item);
    staging.place(staged.name, parent, name);
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
    if (staging.statusOf(own)?.isFile !== true) return false; // another process has put a directory or a link there
    staging.moveToTrash(own, staging.trash(), item);
    return isKept = true;
  } finally {
    if (!isKept) staging.exchange(own, parent, name); // what is staged gets deleted
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
    return staging.exchange(name, place.parent, place.name);
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
