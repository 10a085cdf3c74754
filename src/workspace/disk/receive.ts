/**
 * Receives a file of the disk workspace that arrives in pieces: they are staged as they come, while others read and
 * write the file, and take its place in one step at the end.
 */
import { createHash } from "node:crypto";
import { failure, success } from "../../lib/result.ts";
import { commitFile } from "./commit.ts";
import type { Disk } from "./context.ts";
import type { DiskFile, DiskInfo } from "./directory.ts";
import { toRefusal } from "./refusal.ts";
import type { StagedFile } from "./staging/staging.ts";
import type { WorkspacePath } from "../path.ts";
import { type ArrivingContent, maxArriving, type ReceiveOptions } from "../arriving_content.ts";
import type { Outcome, WrittenFile } from "../port.ts";
import { matchContent } from "./match_content.ts";
import { keepOwner, lookForTarget, permissionBits, withTarget } from "./write.ts";

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveDiskFile(
  disk: Disk,
  path: WorkspacePath,
  content: ArrivingContent,
  { mode, ifMatch }: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const first = lookForTarget(disk, path); // before a byte is taken
  if (!first.ok) return first;
  if (mode === "create" && first.value.info !== null) return failure({ reason: "already_exists" });
  const matched = ifMatch === undefined ? null : await matchContent(disk, path, ifMatch);
  if (matched !== null && !matched.ok) return matched;
  await disk.quota.measure();
  const { change } = disk;
  const step = change?.next() ?? 0;
  const staged = disk.staging.create(change === null ? undefined : `${change.id}-${step}`);
  if (!staged.ok) return staged;
  const room = createRoom(disk, first.value.info?.size ?? 0);
  let isOpen = true;
  let isPlaced = false;
  try {
    const arrived = await stage(staged.value.file, content, room);
    if (!arrived.ok) return arrived;
    const { sizeBytes, sha256 } = arrived.value;
    return await withTarget(disk, path, async ({ segments, info }) => {
      const version = matched?.value ?? (mode === "create" ? null : undefined);
      await finish(staged.value, info);
      isOpen = false;
      room.release();
      const committed = disk.staging.alone(() =>
        commitFile(disk, path, staged.value, { sizeBytes, sha256, step, isExtended: false }, { segments, version })
      );
      isPlaced = committed.ok;
      return committed.ok ? success({ sizeBytes, sha256, created: committed.value.created }) : committed;
    });
  } catch (error) {
    const refusal = toRefusal(error);
    if (refusal.reason === "no_space") await disk.trash?.makeRoom(disk.change); // for the next attempt: the content is used up
    return failure(refusal);
  } finally {
    if (isOpen) staged.value.file.close();
    room.release();
    if (!isPlaced) disk.staging.discard(staged.value.name);
  }
}

/** What the quota keeps free for a content on its way. */
interface Room {
  /** Makes room for so many bytes in all. */
  grow(bytes: number): Outcome<null>;
  release(): void;
}

function createRoom({ quota, limits }: Disk, replacedBytes: number): Room {
  const limitBytes = maxArriving(limits);
  let reserved = 0;
  return {
    grow(bytes) {
      if (bytes > limitBytes) return failure({ reason: "too_large", sizeBytes: bytes, limitBytes });
      const more = bytes - replacedBytes - reserved;
      if (more <= 0) return success(null);
      const taken = quota.reserve(more);
      if (taken.ok) reserved += more;
      return taken;
    },
    release() {
      quota.release(reserved);
      reserved = 0;
    },
  };
}

async function stage(
  file: DiskFile,
  content: ArrivingContent,
  room: Room,
): Promise<Outcome<{ readonly sizeBytes: number; readonly sha256: string }>> {
  const digest = createHash("sha256");
  let sizeBytes = 0;
  for await (const piece of content) {
    sizeBytes += piece.byteLength;
    const grown = room.grow(sizeBytes);
    if (!grown.ok) return grown;
    digest.update(piece);
    await file.write(piece);
  }
  return success({ sizeBytes, sha256: digest.digest("hex") });
}

async function finish({ file }: StagedFile, info: DiskInfo | null): Promise<void> {
  if (info !== null) keepOwner(file, info);
  if (typeof info?.mode === "number") file.setMode(info.mode & permissionBits);
  await file.flush();
  file.close();
}
