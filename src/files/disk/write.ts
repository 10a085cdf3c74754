/**
 * Writes files of the disk workspace: the content goes to a staged file and reaches the disk before it takes the
 * target's place. Readers and a power cut see the old content or the new, and other names of the old file (hard links)
 * keep the old content.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { type Disk, type Found, type Resolved, resolveInside } from "./resolve.ts";
import { changedMeanwhile, coded, identityOf, isSame, toRefusal, versionOf } from "./directory.ts";
import type { DiskDirectory, DiskFile, DiskInfo } from "./directory.ts";
import { matchContent, readPieces, withFile } from "./read.ts";
import { type DiskChange, isFull, itemName, type StagedFile, type Staging } from "./staging.ts";
import { beginningOf, maxArriving } from "../workspace/change.ts";
import type { ChangeStep, Kept, Left, Passage, PutStep } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { denied, refusedAt } from "../workspace/port.ts";
import type { Outcome, PairRefusal, Workspace, WriteOptions, WrittenFile } from "../workspace/port.ts";
import { checkNewNames } from "../workspace/access_rules.ts";

const permissionBits = 0o777;
/** Set-group-ID and sticky: kept with the owner, and not given to a copy. Set-user-ID would run what an agent wrote. */
const specialBits = 0o3000;
const maxAppendAttempts = 5;

/** The operations of the port that make a content a file's. */
export function writingOf(disk: Disk): Pick<Workspace, "write" | "receive" | "copy"> {
  const { limits } = disk;
  return {
    async write(path, bytes, { mode, ifMatch, passages, isReturning } = {}) {
      const { maxWriteBytes: limitBytes } = limits;
      const sizeBytes = bytes.byteLength;
      if (sizeBytes > limitBytes) return failure({ reason: "too_large", sizeBytes, limitBytes });
      const put = () =>
        mode === "append"
          ? append(disk, path, bytes, ifMatch)
          : putContent(disk, path, [bytes], { mode, ifMatch, passages, isReturning });
      return await inTurn(disk, path, put, isReturning);
    },
    async receive(path, content, options) {
      const received = await putContent(disk, path, content, { ...options, limitBytes: maxArriving(limits) });
      if (isFull(received)) await disk.trash?.makeRoom(disk.change); // for the next one
      return received;
    },
    async copy(from, to, { overwrite = false } = {}) {
      let about: PairRefusal["about"] = "to";
      const copied = await inTurn(disk, to, async (target) => {
        if (!overwrite && target.info !== null) return failure({ reason: "already_exists" });
        about = "from";
        return await withFile(disk, from, limits.maxFileBytes, async (file) => {
          about = "to";
          const version = overwrite ? undefined : null;
          const permissions = target.info === null ? file.info.mode : null;
          return await putContent(disk, to, readPieces(file), { version, permissions });
        });
      });
      if (!copied.ok && copied.error.reason === "io") about = "both"; // it may be the reading or the writing
      return refusedAt(about, copied);
    },
  };
}

type Task = (target: Target) => Promise<Outcome<WrittenFile>>;

/** Runs `task` as the only writer of the file that `path` leads to. */
async function inTurn(disk: Disk, path: WorkspacePath, task: Task, isReturning?: boolean) {
  const target = lookForTarget(disk, path, isReturning); // before anything is written
  return target.ok ? await disk.writers.run(target.value.segments.join("/"), () => task(target.value)) : target;
}

/** A target without the directories that the step reached. */
type Target = Pick<Resolved, "segments" | "info">;

/** What is there now: nothing of it is used when the content is placed. */
function lookForTarget(disk: Disk, path: WorkspacePath, isReturning?: boolean): Outcome<Target> {
  return disk.access.attempt(() => findTarget(disk, path, isReturning));
}

async function append(disk: Disk, path: WorkspacePath, bytes: Uint8Array, ifMatch: string | undefined) {
  for (let attempt = 1;; attempt++) {
    const target = lookForTarget(disk, path);
    if (!target.ok) return target;
    const { info } = target.value;
    const written = info === null
      ? await putContent(disk, path, [bytes], { mode: "create", ifMatch })
      : await appendTo(disk, path, bytes, info, ifMatch);
    const lostRace = !written.ok && (written.error.reason === "conflict" || written.error.reason === "already_exists");
    if (!lostRace || ifMatch !== undefined || attempt === maxAppendAttempts) return written;
  }
}

async function appendTo(
  disk: Disk,
  path: WorkspacePath,
  bytes: Uint8Array,
  info: DiskInfo,
  ifMatch: string | undefined,
): Promise<Outcome<WrittenFile>> {
  const matched = ifMatch === undefined ? success(versionOf(info)) : await matchContent(disk, path, ifMatch);
  if (!matched.ok) return matched;
  const limitBytes = disk.limits.maxFileBytes;
  const appended = await withFile(disk, path, Math.max(0, limitBytes - bytes.byteLength), async (file) => {
    const both = async function* (): AsyncGenerator<Uint8Array> {
      yield* readPieces(file);
      yield bytes;
    };
    return await putContent(disk, path, both(), { version: matched.value, isExtended: true });
  });
  if (appended.ok || appended.error.reason !== "too_large") return appended;
  return failure({ ...appended.error, sizeBytes: appended.error.sizeBytes + bytes.byteLength, limitBytes });
}

/** Leaves only the beginning of the file at `path`, if that is as it was left. */
export async function cutDiskFile(
  disk: Disk,
  path: WorkspacePath,
  sizeBytes: number,
  { sha256 = "" }: Left,
): Promise<Outcome<WrittenFile>> {
  const matched = await matchContent(disk, path, sha256);
  if (!matched.ok) return matched;
  return await withFile(
    disk,
    path,
    disk.limits.maxFileBytes,
    (file) =>
      putContent(disk, path, beginningOf(readPieces(file), sizeBytes), { version: matched.value, isReturning: true }),
  );
}

/** How a content is put at a path. */
interface PutOptions extends Omit<Writing, "segments"> {
  readonly mode?: WriteOptions["mode"];
  readonly ifMatch?: string | undefined;
  /** Default: none. */
  readonly limitBytes?: number;
  /** See `ReceiveOptions`. */
  readonly permissions?: number | null | undefined;
}

/** Stages the pieces and puts them at `path`; nothing of them is left where that is refused. */
async function putContent(
  disk: Disk,
  path: WorkspacePath,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { mode, ifMatch, version, limitBytes = Infinity, permissions = null, ...writing }: PutOptions,
): Promise<Outcome<WrittenFile>> {
  const target = lookForTarget(disk, path, writing.isReturning); // before a byte is taken
  if (!target.ok) return target;
  const { info } = target.value;
  if (mode === "create" && info !== null) return failure({ reason: "already_exists" });
  const matched = ifMatch === undefined
    ? success(mode === "create" ? null : version)
    : await matchContent(disk, path, ifMatch);
  if (!matched.ok) return matched;
  await disk.quota.measure();
  const { change, quota, staging } = disk;
  const step = change?.next() ?? 0;
  // a sweep after a crash finds by the name the step that was not made
  const opened = staging.create(change === null ? undefined : `${change.id}-${step}`);
  if (!opened.ok) return opened;
  const { name, file } = opened.value;
  let isPut = false;
  try {
    const filled = await fill(disk, opened.value, pieces, { replacedBytes: info?.size ?? 0, limitBytes });
    if (!filled.ok) return filled;
    const now = lookForTarget(disk, path, writing.isReturning); // others may have written it meanwhile
    if (!now.ok) return now;
    const { segments, info: replaced } = now.value;
    const isOwned = replaced !== null && keepOwner(file, replaced);
    keepMode(file, isOwned && permissions === null ? replaced.mode : withoutSpecial(permissions ?? replaced?.mode));
    await file.flush();
    quota.hold(name, 0); // the commit counts it
    const staged = { name, file, step, ...filled.value };
    const own = { ...writing, segments, version: matched.value };
    const committed = await staging.alone(() => commitFile(disk, path, staged, own));
    if (!committed.ok) return committed;
    isPut = true;
    const otherNames = (replaced?.nlink ?? 1) - 1;
    return success({ ...filled.value, created: committed.value.created, ...otherNames > 0 ? { otherNames } : {} });
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
    quota.hold(name, 0);
    if (!isPut) staging.discard(name);
  }
}

/** Writes the pieces, for which the quota holds room beyond what they replace. */
async function fill(
  { quota }: Disk,
  { name, file }: StagedFile,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { replacedBytes, limitBytes }: { readonly replacedBytes: number; readonly limitBytes: number },
): Promise<Outcome<Pick<StagedContent, "sizeBytes" | "sha256">>> {
  const digest = createDigest();
  let sizeBytes = 0;
  for await (const piece of pieces) {
    sizeBytes += piece.byteLength;
    if (sizeBytes > limitBytes) return failure({ reason: "too_large", sizeBytes, limitBytes });
    const room = quota.hold(name, Math.max(0, sizeBytes - replacedBytes));
    if (!room.ok) return room;
    await file.write(piece);
    digest.update(piece);
  }
  return success({ sizeBytes, sha256: digest.digest("hex") });
}

/** Gives the new content the owner of the old one, and says whether the system let this process do so. */
function keepOwner(file: DiskFile, { uid, gid }: DiskInfo): boolean {
  if (uid === null || gid === null || (file.info.uid === uid && file.info.gid === gid)) return true;
  for (const owner of [uid, file.info.uid ?? uid]) { // the group alone, where the user cannot be kept
    try {
      file.setOwner(owner, gid);
      return owner === uid;
    } catch (error) {
      toRefusal(error); // the system's refusal is expected; anything else is a bug
    }
  }
  return false;
}

/** A mode without the bits that vouch for the old content and its owner. */
function withoutSpecial(mode: number | null = null): number | null {
  return mode === null ? null : mode & permissionBits;
}

/** Sets the mode of the new content. Some file systems refuse this even for the present mode. */
function keepMode(file: DiskFile, mode: number | null): void {
  if (mode === null) return;
  const wanted = mode & (permissionBits | specialBits);
  if (((file.info.mode ?? 0) & (permissionBits | specialBits)) !== wanted) file.setMode(wanted);
}

// * Puts a staged file in its place. From the last check to the rename nothing gives up control, so callers in this
// process cannot come between; the rename itself shows other processes the old file or the new. What was there is kept:
// each step is recorded, then the old entry gets a second name in the trash, before the new one takes its first.

/** What a content is to replace, and how. */
interface Writing {
  /** The resolved names of the place. */
  readonly segments: readonly string[];
  /** The file of this version is there; `null`: nothing is; `undefined`: either. */
  readonly version?: string | null | undefined;
  /** Whether the old content is the beginning of the new one. */
  readonly isExtended?: boolean;
  readonly passages?: readonly Passage[] | undefined;
  /** See `WriteOptions`. */
  readonly isReturning?: boolean | undefined;
}

/** A staged file that holds all of a content. */
interface StagedContent extends StagedFile {
  readonly sizeBytes: number;
  readonly sha256: string;
  /** The number of the step. */
  readonly step: number;
}

const writeBits = 0o222;
const setGroupId = 0o2000;

/** Finds where a file would be written, and refuses what may not be written. Changes nothing. */
function findTarget(disk: Disk, path: WorkspacePath, isReturning?: boolean): Outcome<Resolved> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  const { segments, names, info } = resolved.value;
  if (info?.isDirectory) return failure({ reason: "is_directory" });
  if (info?.isFile === false) return failure({ reason: "not_a_file" });
  const allowed = info === null
    ? checkNewNames(disk.rules, segments, segments.length - names.length)
    : checkChangeable(disk, segments, isReturning ? { ...info, mode: null } : info); // whatever its write bits
  return allowed.ok ? resolved : allowed;
}

/** Refuses to change, replace or delete what is protected, and files without a write bit. */
export function checkChangeable({ rules }: Disk, segments: readonly string[], info: DiskInfo): Outcome<null> {
  if (rules.isProtected(segments)) return denied("protected_name");
  // a rename needs no permission on the file itself; someone who took the write bits away meant it
  const isReadOnly = info.isFile && info.mode !== null && (info.mode & writeBits) === 0;
  return isReadOnly ? denied("read_only") : success(null);
}

/** Puts the staged file at `path`, if that still is as expected; says whether this made a new file. */
function commitFile(
  disk: Disk,
  path: WorkspacePath,
  staged: StagedContent,
  { segments: expected, version, isExtended = false, passages, isReturning }: Writing,
): Outcome<{ readonly created: boolean }> {
  const target = findTarget(disk, path, isReturning); // again: it may have changed while the content was written
  if (!target.ok) return target;
  const { segments, info } = target.value;
  if (segments.join("/") !== expected.join("/")) return changedMeanwhile; // a link on the way leads elsewhere now
  if (version === null && info !== null) return failure({ reason: "already_exists" });
  if (typeof version === "string" && (info === null || versionOf(info) !== version)) {
    return failure({ reason: "conflict" });
  }
  const growth = staged.sizeBytes - (info?.size ?? 0);
  const room = disk.quota.check(growth);
  if (!room.ok) return room;
  const place = makePlace(target.value);
  const { parent, name } = place;
  const noted = passages === undefined ? {} : { passages: [...passages] };
  const put = { ...putOf(place, staged.file.info, { sha256: staged.sha256 }), ...noted };
  const waiting = { directory: disk.staging.directory(), name: staged.name };
  if (info === null) takeGroup(staged.file, parent.status());
  const isPut = info === null
    ? putNew(disk.change, staged.step, put, waiting, place)
    : replace(disk, staged.step, put, waiting, place, { found: info, isExtended, version });
  if (!isPut) return failure({ reason: info === null ? "already_exists" : "conflict" });
  const after = parent.statusOf(name);
  if (after === null || !isSame(after, staged.file.info) || !parent.isStillInside(name)) return changedMeanwhile;
  disk.quota.add(growth);
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
export function makeDirectories(directory: DiskDirectory, names: readonly string[]): DiskDirectory {
  let last = directory;
  for (const name of names) {
    if (!last.isStillChangeable()) throw coded("ESTALE");
    last.makeDirectory(name);
    last = last.enter(name);
  }
  if (!last.isStillChangeable()) throw coded("ESTALE");
  return last;
}

/** Where an entry is put. */
type Place = ReturnType<typeof makePlace>;

/** Makes the directories that are missing on the way to an entry; `path` is its resolved one, `made` counts them. */
export function makePlace({ directory, names, name, segments }: Resolved) {
  const parent = makeDirectories(directory, names.slice(0, -1));
  return { parent, name, path: segments.join("/"), made: names.length - 1 };
}

/** Records a step, has it made and counts what it keeps; withdraws it where that gives `false`, or the system refuses. */
export function makeStep(
  change: DiskChange | null,
  number: number,
  step: ChangeStep,
  make: () => boolean | void,
): boolean {
  change?.note(number, step);
  let isMade = false;
  try {
    isMade = make() !== false;
    if (isMade && "kept" in step) change?.keep(step.kept?.sizeBytes ?? 0);
    return isMade;
  } finally {
    if (!isMade) change?.withdraw(number);
  }
}

/** An entry of the staging directory or the trash that is to get a place. */
type Waiting = Pick<Found, "directory" | "name">;

/** Records a step and gives what waits a name that nothing has; `false`: something has it. */
export function putNew(
  change: DiskChange | null,
  number: number,
  put: PutStep,
  { directory, name }: Waiting,
  { parent, name: newName }: Place,
): boolean {
  return makeStep(change, number, { ...put, created: true }, () => directory.renameNew(name, parent, newName));
}

/** Says whether an entry is the one that is meant. */
export type Expects = (info: DiskInfo) => boolean;

/** Asked right before a rename, which replaces whatever another process has put there. */
export function isStill({ parent, name }: Place, expects: Expects): boolean {
  const there = parent.statusOf(name);
  return there !== null && expects(there);
}

/** Puts a staged file in the place of the one that was found there, and keeps that one; `false`: that was changed. */
function replace(
  { change, staging }: Disk,
  number: number,
  put: PutStep,
  waiting: Waiting,
  place: Place,
  { found, isExtended, version }: Pick<Writing, "version"> & { readonly found: DiskInfo; readonly isExtended: boolean },
): boolean {
  const expects: Expects = (info) => version === undefined || versionOf(info) === version;
  const isOwn = change?.leftAt.get(place.path) === versionOf(found);
  if (change === null || isOwn || isExtended || found.size > change.maxBytes) {
    const before = { ...isOwn ? { again: true } : {}, ...isExtended ? { sizeBefore: found.size } : {} };
    const rename = () => waiting.directory.rename(waiting.name, place.parent, place.name);
    return makeStep(change, number, { ...put, ...before }, () => isStill(place, expects) && rename());
  }
  return putKeeping(staging, change, number, { ...put, kept: keptOf(found) }, waiting, place, expects);
}

/** Records a step and puts what waits in the place of a file, which becomes what the step keeps; `false`: it is another. */
export function putKeeping(
  staging: Staging,
  change: DiskChange,
  number: number,
  put: PutStep,
  waiting: Waiting,
  place: Place,
  expects: Expects,
): boolean {
  const rename = () => renameOver(waiting, place, staging.trash(), itemName(change.id, number));
  return makeStep(change, number, put, () => isStill(place, expects) && rename());
}

/** Renames an entry onto a file, which gets a second name in the trash, or, where it can have none, is moved there. */
function renameOver({ directory, name }: Waiting, place: Place, trash: DiskDirectory, item: string, found?: DiskInfo) {
  if (!place.parent.link(place.name, trash, item)) place.parent.rename(place.name, trash, item);
  try {
    directory.rename(name, place.parent, place.name, found);
  } catch (error) {
    const kept = trash.statusOf(item);
    if ((kept?.nlink ?? 1) > 1 && place.parent.statusOf(place.name)?.ino === kept?.ino) trash.removeFile(item);
    else if (kept !== null) trash.renameNew(item, place.parent, place.name);
    throw error;
  }
}

/** Moves an entry, and keeps the file that is replaced; `false`: something has taken the free name meanwhile. */
export function moveKeeping(
  { change, staging }: Disk,
  source: Found,
  place: Place,
  replaced: DiskInfo | null,
): boolean {
  const { directory, name, info } = source;
  const kept = replaced !== null && change !== null && replaced.size <= change.maxBytes ? keptOf(replaced) : null;
  const number = change?.next() ?? 0;
  const { path, made } = place;
  const { kind } = keptOf(info);
  const end = { left: { identity: identityOf(info) }, replaced: replaced !== null };
  const step: ChangeStep = { op: "move", path, from: source.segments.join("/"), kind, made, kept, ...end };
  return makeStep(change, number, step, () => {
    if (replaced === null) return directory.renameNew(name, place.parent, place.name, info);
    if (!isStill(place, (there) => identityOf(there) === identityOf(replaced))) return false;
    if (change === null || kept === null) return directory.rename(name, place.parent, place.name, info);
    renameOver(source, place, staging.trash(), itemName(change.id, number), info);
  });
}

/** What is kept of a file or link. */
export function keptOf({ isFile, isDirectory, isSymlink, size }: DiskInfo): Kept {
  const kind = isFile ? "file" : isDirectory ? "directory" : isSymlink ? "link" : "other";
  return { kind, sizeBytes: isFile ? size : 0, entries: 1 };
}

/** What the record of a change says of an entry that is put somewhere. */
export function putOf({ path, made }: Place, info: DiskInfo, left: Left): PutStep {
  return { op: "put", path, kind: keptOf(info).kind, made, kept: null, created: false, left };
}
