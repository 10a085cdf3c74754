/**
 * Contents of the disk workspace that arrive in pieces: they are staged as they come, while others read and write the
 * file, and take its place in one step at the end.
 */
import { createDigest } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { type ArrivingContent, maxArriving, type ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, WrittenFile } from "../workspace/port.ts";
import { commitFile } from "./commit.ts";
import type { Disk } from "./context.ts";
import { type DiskFile, type DiskInfo, toRefusal } from "./directory.ts";
import { matchContent } from "./read.ts";
import { keepMode, keepOwner, lookForTarget, withoutSpecial, withTarget } from "./write.ts";

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveDiskFile(
  disk: Disk,
  path: WorkspacePath,
  content: ArrivingContent,
  { mode, ifMatch }: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const { quota, staging, change } = disk;
  const first = lookForTarget(disk, path); // before a byte is taken
  if (!first.ok) return first;
  if (mode === "create" && first.value.info !== null) return failure({ reason: "already_exists" });
  const matched = ifMatch === undefined ? null : await matchContent(disk, path, ifMatch);
  if (matched !== null && !matched.ok) return matched;
  await quota.measure();
  const step = change?.next() ?? 0;
  // a sweep after a crash finds by the name what the staged file has replaced
  const opened = staging.create(change === null ? undefined : `${change.id}-${step}`);
  if (!opened.ok) return opened;
  const staged = opened.value;
  const version = matched?.value ?? (mode === "create" ? null : undefined);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) staged.file.close();
    isOpen = false;
    quota.hold(staged.name, 0);
  };
  try {
    const filled = await fill(disk, staged, content, first.value.info?.size ?? 0);
    if (!filled.ok) return filled;
    const place = (): Promise<Outcome<WrittenFile>> =>
      withTarget(disk, path, async ({ segments, info }) => {
        await finish(staged.file, info);
        close();
        const put = { ...filled.value, step, isExtended: false };
        const committed = await staging.alone(() => commitFile(disk, path, staged, put, { segments, version }));
        return committed.ok ? success({ ...filled.value, created: committed.value.created }) : committed;
      });
    return await attempt(disk, place);
  } finally {
    close();
    staging.discard(staged.name);
  }
}

/** Writes what arrives to the staged file, for which the quota holds room beyond what it replaces. */
async function fill(
  disk: Disk,
  staged: { readonly name: string; readonly file: DiskFile },
  content: ArrivingContent,
  replacedBytes: number,
): Promise<Outcome<{ readonly sizeBytes: number; readonly sha256: string }>> {
  const limitBytes = maxArriving(disk.limits);
  const digest = createDigest();
  let sizeBytes = 0;
  for await (const piece of content) {
    sizeBytes += piece.byteLength;
    if (sizeBytes > limitBytes) return failure({ reason: "too_large", sizeBytes, limitBytes });
    const room = disk.quota.hold(staged.name, Math.max(0, sizeBytes - replacedBytes));
    if (!room.ok) return room;
    const written = await attempt(disk, async () => success(await staged.file.write(piece)));
    if (!written.ok) return written;
    digest.update(piece);
  }
  return success({ sizeBytes, sha256: digest.digest("hex") });
}

/** Takes a step that the system may refuse: where the disk is full, room is made for the next upload. */
async function attempt<T>(disk: Disk, step: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
  try {
    return await step();
  } catch (error) {
    const refusal = toRefusal(error);
    if (refusal.reason === "no_space") await disk.trash?.makeRoom(disk.change);
    return failure(refusal);
  }
}

async function finish(file: DiskFile, info: DiskInfo | null): Promise<void> {
  const isOwned = info !== null && keepOwner(file, info);
  keepMode(file, isOwned ? info.mode : withoutSpecial(info?.mode ?? null));
  await file.flush();
}
