/**
 * Writes files of the disk workspace: the content goes to a staged file and reaches the disk before it takes the
 * target's place. Readers and a power cut see the old content or the new, and other names of the old file (hard links)
 * keep the old content.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { commitFile, type Expectation, findTarget, type Target } from "./commit.ts";
import type { Disk } from "./context.ts";
import { type DiskFile, type DiskInfo, toRefusal, versionOf } from "./directory.ts";
import { matchContent, openInside, readPieces } from "./read.ts";
import type { Passage } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import {
  type Outcome,
  type PairOutcome,
  type PairRefusal,
  refusedAt,
  type WriteOptions,
  type WrittenFile,
} from "../workspace/port.ts";

/** A target without the directories that the step reached. */
type Seen = Pick<Target, "segments" | "info">;

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
    const { passages } = options;
    const { segments, info } = target;
    if (options.ifMatch !== undefined) {
      const matched = await matchContent(disk, path, options.ifMatch);
      if (!matched.ok) return matched;
      return await replaceWith(disk, path, [bytes], info, { segments, version: matched.value }, { passages });
    }
    const version = options.mode === "create" ? null : undefined;
    if (version === null && info !== null) return failure({ reason: "already_exists" });
    return await replaceWith(disk, path, [bytes], info, { segments, version }, { passages });
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
  const copied = await withTarget(disk, to, async ({ segments, info }) => {
    if (!overwrite && info !== null) return failure({ reason: "already_exists" });
    const opened = openInside(disk, from, disk.limits.maxFileBytes);
    if (!opened.ok) {
      about = "from";
      return opened;
    }
    const file = opened.value;
    try {
      const expected = { segments, version: overwrite ? undefined : null };
      return await replaceWith(disk, to, readPieces(file), info, expected, { mode: file.info.mode });
    } finally {
      file.close();
    }
  });
  if (!copied.ok && copied.error.reason === "io") about = "both"; // it may be the reading or the writing
  return refusedAt(about, copied);
}

/** Runs `task` as the only writer of the file that `path` leads to. */
export async function withTarget(
  disk: Disk,
  path: WorkspacePath,
  task: (target: Seen) => Promise<Outcome<WrittenFile>>,
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
export function lookForTarget(disk: Disk, path: WorkspacePath): Outcome<Seen> {
  return disk.access.step(() => findTarget(disk, path));
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
    const { segments, info } = target.value;
    const matched = ifMatch === undefined ? null : await matchContent(disk, path, ifMatch);
    if (matched !== null && !matched.ok) return matched;
    const written = info === null
      ? await replaceWith(disk, path, [bytes], null, { segments, version: null })
      : await appendTo(disk, path, bytes, info, { segments, version: matched?.value ?? versionOf(info) });
    const lostRace = !written.ok && (written.error.reason === "conflict" || written.error.reason === "already_exists");
    if (!lostRace || ifMatch !== undefined || attempt === maxAppendAttempts) return written;
  }
}

async function appendTo(
  disk: Disk,
  path: WorkspacePath,
  bytes: Uint8Array,
  info: DiskInfo,
  expected: Expectation,
): Promise<Outcome<WrittenFile>> {
  const { maxFileBytes } = disk.limits;
  const opened = openInside(disk, path, Math.max(0, maxFileBytes - bytes.byteLength));
  if (!opened.ok) {
    const { error } = opened;
    return error.reason === "too_large"
      ? failure({ ...error, sizeBytes: error.sizeBytes + bytes.byteLength, limitBytes: maxFileBytes })
      : opened;
  }
  const file = opened.value;
  try {
    const both = async function* (): AsyncGenerator<Uint8Array> {
      yield* readPieces(file);
      yield bytes;
    };
    return await replaceWith(disk, path, both(), info, expected, { isExtended: true });
  } finally {
    file.close();
  }
}

interface ReplaceOptions {
  /** Of a file that is new. */
  readonly mode?: number | null;
  /** Whether the pieces begin with the old content. */
  readonly isExtended?: boolean;
  readonly passages?: readonly Passage[] | undefined;
}

/** Stages the pieces and puts them at `path`, with the owner and mode of `info`. */
export async function replaceWith(
  disk: Disk,
  path: WorkspacePath,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  info: DiskInfo | null,
  expected: Expectation,
  { mode = null, isExtended = false, passages }: ReplaceOptions = {},
): Promise<Outcome<WrittenFile>> {
  await disk.quota.measure();
  const { change } = disk;
  const step = change?.next() ?? 0;
  const staged = disk.staging.create(change === null ? undefined : `${change.id}-${step}`);
  if (!staged.ok) return staged;
  let isPlaced = false;
  try {
    const digest = createDigest();
    const isOwned = info !== null && keepOwner(staged.value.file, info);
    const kept = isOwned ? info.mode : withoutSpecial(info?.mode ?? mode);
    const sizeBytes = await fill(staged.value.file, pieces, kept, (piece) => digest.update(piece));
    const sha256 = digest.digest("hex");
    const content = { sizeBytes, sha256, step, isExtended, passages };
    const committed = await disk.staging.alone(() => commitFile(disk, path, staged.value, content, expected));
    isPlaced = committed.ok;
    if (!committed.ok) return committed;
    const otherNames = (info?.nlink ?? 1) - 1;
    const { created } = committed.value;
    return success({ sizeBytes, sha256, created, ...otherNames > 0 ? { otherNames } : {} });
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    if (!isPlaced) disk.staging.discard(staged.value.name);
  }
}

/** Gives the new content the owner of the old one, and says whether the system let this process do so. */
export function keepOwner(file: DiskFile, { uid, gid }: DiskInfo): boolean {
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
export function withoutSpecial(mode: number | null): number | null {
  return mode === null ? null : mode & permissionBits;
}

/** Gives the new content this mode. Not every file system lets a mode be set, even to what it is. */
export function keepMode(file: DiskFile, mode: number | null): void {
  if (mode === null) return;
  const wanted = mode & (permissionBits | specialBits);
  if (((file.info.mode ?? 0) & (permissionBits | specialBits)) !== wanted) file.setMode(wanted);
}

async function fill(
  file: DiskFile,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  mode: number | null,
  onPiece: (piece: Uint8Array) => void,
): Promise<number> {
  try {
    let sizeBytes = 0;
    for await (const piece of pieces) {
      onPiece(piece);
      await file.write(piece);
      sizeBytes += piece.byteLength;
    }
    keepMode(file, mode);
    await file.flush();
    return sizeBytes;
  } finally {
    file.close();
  }
}
