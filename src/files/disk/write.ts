/**
 * Writes files of the disk workspace: the content goes to a staged file and reaches the disk before it takes the
 * target's place. Readers and a power cut see the old content or the new, and other names of the old file (hard links)
 * keep the old content.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { commitFile, findTarget, type StagedContent, type Writing } from "./commit.ts";
import type { Disk, Resolved } from "./resolve.ts";
import { type DiskFile, type DiskInfo, toRefusal, versionOf } from "./directory.ts";
import { matchContent, readPieces, withFile } from "./read.ts";
import type { StagedFile } from "./staging.ts";
import { beginningOf, type Left, maxArriving } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import {
  type Outcome,
  type PairRefusal,
  refusedAt,
  type Workspace,
  type WriteOptions,
  type WrittenFile,
} from "../workspace/port.ts";

const permissionBits = 0o777;
/** Set-group-ID and sticky: kept with the owner, and not given to a copy. Set-user-ID would run what an agent wrote. */
const specialBits = 0o3000;
const maxAppendAttempts = 5;

/** The operations of the port that make a content a file's. */
export function writingOf(disk: Disk): Pick<Workspace, "write" | "receive" | "copy"> {
  const { limits } = disk;
  return {
    async write(path, bytes, { mode, ifMatch, passages } = {}) {
      const { maxWriteBytes: limitBytes } = limits;
      const sizeBytes = bytes.byteLength;
      if (sizeBytes > limitBytes) return failure({ reason: "too_large", sizeBytes, limitBytes });
      const put = () =>
        mode === "append"
          ? append(disk, path, bytes, ifMatch)
          : putContent(disk, path, [bytes], { mode, ifMatch, passages });
      return await inTurn(disk, path, put);
    },
    async receive(path, content, options) {
      const received = await putContent(disk, path, content, { ...options, limitBytes: maxArriving(limits) });
      const isFull = !received.ok && received.error.reason === "no_space";
      if (isFull) await disk.trash?.makeRoom(disk.change); // for the next one
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
          return await putContent(disk, to, readPieces(file), { version, permissions: file.info.mode });
        });
      });
      if (!copied.ok && copied.error.reason === "io") about = "both"; // it may be the reading or the writing
      return refusedAt(about, copied);
    },
  };
}

/** Runs `task` as the only writer of the file that `path` leads to. */
async function inTurn(
  disk: Disk,
  path: WorkspacePath,
  task: (target: Target) => Promise<Outcome<WrittenFile>>,
): Promise<Outcome<WrittenFile>> {
  const target = lookForTarget(disk, path); // before anything is written
  return target.ok ? await disk.writers.run(target.value.segments.join("/"), () => task(target.value)) : target;
}

/** A target without the directories that the step reached. */
type Target = Pick<Resolved, "segments" | "info">;

/** What is there now: nothing of it is used when the content is placed. */
function lookForTarget(disk: Disk, path: WorkspacePath): Outcome<Target> {
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
    (file) => putContent(disk, path, beginningOf(readPieces(file), sizeBytes), { version: matched.value }),
  );
}

/** How a content is put at a path. */
interface PutOptions extends Omit<Writing, "segments"> {
  readonly mode?: WriteOptions["mode"];
  readonly ifMatch?: string | undefined;
  /** Default: none. */
  readonly limitBytes?: number;
  /** Of a file that is new. */
  readonly permissions?: number | null;
}

/** Stages the pieces and puts them at `path`; nothing of them is left where that is refused. */
async function putContent(
  disk: Disk,
  path: WorkspacePath,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { mode, ifMatch, version, limitBytes = Infinity, permissions = null, ...writing }: PutOptions,
): Promise<Outcome<WrittenFile>> {
  const target = lookForTarget(disk, path); // before a byte is taken
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
    const now = lookForTarget(disk, path); // others may have written it meanwhile
    if (!now.ok) return now;
    const { segments, info: replaced } = now.value;
    const isOwned = replaced !== null && keepOwner(file, replaced);
    keepMode(file, isOwned ? replaced.mode : withoutSpecial(replaced?.mode ?? permissions));
    await file.flush();
    quota.hold(name, 0); // the commit counts it
    const staged = { name, file, step, ...filled.value };
    const own = { ...writing, segments, version: matched.value };
    const committed = await staging.alone(() => commitFile(disk, path, staged, own));
    if (!committed.ok) return committed;
    isPut = true;
    const otherNames = (replaced?.nlink ?? 1) - 1;
    if (otherNames > 0) disk.innerLinks.forget();
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
function withoutSpecial(mode: number | null): number | null {
  return mode === null ? null : mode & permissionBits;
}

/** Sets the mode of the new content. Some file systems refuse this even for the present mode. */
function keepMode(file: DiskFile, mode: number | null): void {
  if (mode === null) return;
  const wanted = mode & (permissionBits | specialBits);
  if (((file.info.mode ?? 0) & (permissionBits | specialBits)) !== wanted) file.setMode(wanted);
}
