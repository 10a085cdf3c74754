/**
 * Writes files of the disk workspace: the content goes to a staged file and reaches the disk before it takes the
 * target's place. Readers and a power cut see the old content or the new, and other names of the old file (hard links)
 * keep the old content.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { commitFile, findTarget, type StagedContent, type Writing } from "./commit.ts";
import type { Disk } from "./context.ts";
import { type DiskFile, type DiskInfo, toRefusal, versionOf } from "./directory.ts";
import { matchContent, readPieces, withFile } from "./read.ts";
import type { StagedFile } from "./staging.ts";
import { type ArrivingContent, maxArriving, type ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import {
  type Outcome,
  type PairOutcome,
  type PairRefusal,
  refusedAt,
  type WriteOptions,
  type WrittenFile,
} from "../workspace/port.ts";

const permissionBits = 0o777;
/** Set-group-ID and sticky: kept with the owner, and not given to a copy. Set-user-ID would run what an agent wrote. */
const specialBits = 0o3000;
const maxAppendAttempts = 5;

/** Changes or creates the file at `path`, with the directories that lead to it. */
export async function writeDiskFile(
  disk: Disk,
  path: WorkspacePath,
  bytes: Uint8Array,
  options: WriteOptions = {},
): Promise<Outcome<WrittenFile>> {
  const { maxWriteBytes } = disk.limits;
  if (bytes.byteLength > maxWriteBytes) {
    return failure({ reason: "too_large", sizeBytes: bytes.byteLength, limitBytes: maxWriteBytes });
  }
  return await withTarget(disk, path, async (target) => {
    if (options.mode === "append") return await append(disk, path, bytes, options.ifMatch);
    const version = await expectedVersion(disk, path, target.info, options);
    if (!version.ok) return version;
    return await replaceWith(disk, path, [bytes], { target, version: version.value, passages: options.passages });
  });
}

/** Copies the file at `from` to `to`. */
export async function copyDiskFile(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  { overwrite = false }: { readonly overwrite?: boolean } = {},
): Promise<PairOutcome<WrittenFile>> {
  let about: PairRefusal["about"] = "to";
  const copied = await withTarget(disk, to, async (target) => {
    if (!overwrite && target.info !== null) return failure({ reason: "already_exists" });
    about = "from";
    return await withFile(disk, from, disk.limits.maxFileBytes, async (file) => {
      about = "to";
      const version = overwrite ? undefined : null;
      return await replaceWith(disk, to, readPieces(file), { target, version, mode: file.info.mode });
    });
  });
  if (!copied.ok && copied.error.reason === "io") about = "both"; // it may be the reading or the writing
  return refusedAt(about, copied);
}

/** Changes or creates the file at `path` once all of `content` is there; until then others read and write the file. */
export async function receiveDiskFile(
  disk: Disk,
  path: WorkspacePath,
  content: ArrivingContent,
  options: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const first = lookForTarget(disk, path); // before a byte is taken
  if (!first.ok) return first;
  const { info } = first.value;
  const version = await expectedVersion(disk, path, info, options);
  if (!version.ok) return version;
  const room = { replacedBytes: info?.size ?? 0, limitBytes: maxArriving(disk.limits) };
  const received = await withStaged(
    disk,
    content,
    room,
    (staged) => withTarget(disk, path, (target) => putStaged(disk, path, staged, { target, version: version.value })),
  );
  if (!received.ok && received.error.reason === "no_space") await disk.trash?.makeRoom(disk.change); // for the next one
  return received;
}

/** The version that the target has to keep: of what is there, `null` where nothing may be, `undefined` where all is well. */
async function expectedVersion(
  disk: Disk,
  path: WorkspacePath,
  info: DiskInfo | null,
  { mode, ifMatch }: Pick<WriteOptions, "mode" | "ifMatch">,
): Promise<Outcome<Writing["version"]>> {
  if (mode === "create" && info !== null) return failure({ reason: "already_exists" });
  if (ifMatch !== undefined) return await matchContent(disk, path, ifMatch);
  return success(mode === "create" ? null : undefined);
}

/** Runs `task` as the only writer of the file that `path` leads to. */
export async function withTarget(
  disk: Disk,
  path: WorkspacePath,
  task: (target: Writing["target"]) => Promise<Outcome<WrittenFile>>,
): Promise<Outcome<WrittenFile>> {
  const first = lookForTarget(disk, path); // before anything is written
  if (!first.ok) return first;
  const key = first.value.segments.join("/");
  const isAlone = !disk.writers.isBusy(key);
  return await disk.writers.run(key, async () => {
    const target = isAlone ? first : lookForTarget(disk, path); // another writer has changed it meanwhile
    return target.ok ? await task(target.value) : target;
  });
}

/** What is there now: nothing of it is used when the content is placed. */
function lookForTarget(disk: Disk, path: WorkspacePath): Outcome<Writing["target"]> {
  return disk.access.attempt(() => findTarget(disk, path));
}

async function append(
  disk: Disk,
  path: WorkspacePath,
  bytes: Uint8Array,
  ifMatch: string | undefined,
): Promise<Outcome<WrittenFile>> {
  for (let attempt = 1;; attempt++) {
    const target = lookForTarget(disk, path);
    if (!target.ok) return target;
    const { info } = target.value;
    const matched = ifMatch === undefined ? null : await matchContent(disk, path, ifMatch);
    if (matched !== null && !matched.ok) return matched;
    const written = info === null
      ? await replaceWith(disk, path, [bytes], { target: target.value, version: null })
      : await appendTo(disk, path, bytes, target.value, matched?.value ?? versionOf(info));
    const lostRace = !written.ok && (written.error.reason === "conflict" || written.error.reason === "already_exists");
    if (!lostRace || ifMatch !== undefined || attempt === maxAppendAttempts) return written;
  }
}

async function appendTo(
  disk: Disk,
  path: WorkspacePath,
  bytes: Uint8Array,
  target: Writing["target"],
  version: string,
): Promise<Outcome<WrittenFile>> {
  const limitBytes = disk.limits.maxFileBytes;
  const appended = await withFile(disk, path, Math.max(0, limitBytes - bytes.byteLength), async (file) => {
    const both = async function* (): AsyncGenerator<Uint8Array> {
      yield* readPieces(file);
      yield bytes;
    };
    return await replaceWith(disk, path, both(), { target, version, isExtended: true });
  });
  if (appended.ok || appended.error.reason !== "too_large") return appended;
  return failure({ ...appended.error, sizeBytes: appended.error.sizeBytes + bytes.byteLength, limitBytes });
}

/** Stages the pieces and puts them at `path`, with the owner and mode of the file that is there. */
export async function replaceWith(
  disk: Disk,
  path: WorkspacePath,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  writing: Writing,
): Promise<Outcome<WrittenFile>> {
  const room = { replacedBytes: writing.target.info?.size ?? 0, limitBytes: Infinity };
  return await withStaged(disk, pieces, room, (staged) => putStaged(disk, path, staged, writing));
}

/** Stages the pieces for `put`; nothing of them is left where that refuses. */
async function withStaged(
  disk: Disk,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  room: Room,
  put: (staged: StagedContent) => Promise<Outcome<WrittenFile>>,
): Promise<Outcome<WrittenFile>> {
  await disk.quota.measure();
  const { change, quota, staging } = disk;
  const step = change?.next() ?? 0;
  // a sweep after a crash finds by the name what the staged file has replaced
  const opened = staging.create(change === null ? undefined : `${change.id}-${step}`);
  if (!opened.ok) return opened;
  const { name, file } = opened.value;
  let isPut = false;
  try {
    const filled = await fill(disk, opened.value, pieces, room);
    const done = filled.ok ? await put({ name, file, step, ...filled.value }) : filled;
    isPut = done.ok;
    return done;
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
    quota.hold(name, 0);
    if (!isPut) staging.discard(name);
  }
}

/** How large a content may become, and what it replaces. */
interface Room {
  readonly replacedBytes: number;
  readonly limitBytes: number;
}

/** Writes the pieces, for which the quota holds room beyond what they replace. */
async function fill(
  { quota }: Disk,
  { name, file }: StagedFile,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { replacedBytes, limitBytes }: Room,
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

/** Puts a staged file in the target's place, with the owner and mode of what is there. */
async function putStaged(
  disk: Disk,
  path: WorkspacePath,
  staged: StagedContent,
  writing: Writing,
): Promise<Outcome<WrittenFile>> {
  const { file, name, sizeBytes, sha256 } = staged;
  const { target: { info }, mode = null } = writing;
  const isOwned = info !== null && keepOwner(file, info);
  keepMode(file, isOwned ? info.mode : withoutSpecial(info?.mode ?? mode));
  await file.flush();
  disk.quota.hold(name, 0); // the commit counts it
  const committed = await disk.staging.alone(() => commitFile(disk, path, staged, writing));
  if (!committed.ok) return committed;
  const otherNames = (info?.nlink ?? 1) - 1;
  return success({ sizeBytes, sha256, created: committed.value.created, ...otherNames > 0 ? { otherNames } : {} });
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
function withoutSpecial(mode: number | null): number | null {
  return mode === null ? null : mode & permissionBits;
}

/** Sets the mode of the new content. Some file systems refuse this even for the present mode. */
function keepMode(file: DiskFile, mode: number | null): void {
  if (mode === null) return;
  const wanted = mode & (permissionBits | specialBits);
  if (((file.info.mode ?? 0) & (permissionBits | specialBits)) !== wanted) file.setMode(wanted);
}
