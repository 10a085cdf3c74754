/** The trash of a disk workspace as its port has it. */
import { isChangeId, type Kept, type KeptItem, type Left } from "../workspace/change.ts";
import { stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import type { ByteRange, Outcome, Trash } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { fill, hasHiddenName, matchContent, useAndClose } from "./read.ts";
import { cutDiskFile } from "./write.ts";
import { failure, success } from "../../lib/result.ts";
import { checkNewNames } from "../workspace/access_rules.ts";
import { keptOf, makePlace, putKeeping, putNew, putOf } from "./commit.ts";
import { changedMeanwhile, identityOf, toRefusal, versionOf } from "./directory.ts";
import { type Expects, judgeTree, removeDiskEntry } from "./remove.ts";
import { resolveInside } from "./resolve.ts";
import { itemName, recordName, toRecordLine, trashDirectoryName } from "./trash_directory.ts";
import { makeDiskDirectory, moveDiskEntry } from "./move.ts";
import type { DiskTrash } from "./disk_trash.ts";

// Puts what a change kept back into the tree. Rules, names and quotas are judged as for any new entry.

/** What tells the entry that was left from every other; the content of a file is read once, here. */
async function expectationOf(disk: Disk, path: WorkspacePath, left: Left): Promise<Outcome<Expects>> {
  const { identity, sha256 } = left;
  if (identity !== undefined) return success((info) => identityOf(info) === identity);
  const matched = await matchContent(disk, path, sha256 ?? "");
  return matched.ok ? success((info) => versionOf(info) === matched.value) : matched;
}

/** Whether what is at the path is as it was left. */
async function isAsLeft(disk: Disk, path: WorkspacePath, left: Left): Promise<Outcome<boolean>> {
  const there = disk.access.attempt(() => resolveInside(disk, path, "keep"));
  if (!there.ok) return there;
  const { info } = there.value;
  if (info === null) return success(false);
  const expects = await expectationOf(disk, path, left);
  if (!expects.ok) return expects.error.reason === "conflict" ? success(false) : expects;
  return success(expects.value(info));
}

/** Puts the item at `path`, which must be free, or with `left` must still hold the file as it was left. */
async function restoreItem(
  disk: Disk,
  item: KeptItem,
  path: WorkspacePath,
  left?: Left,
): Promise<Outcome<null>> {
  if (!isChangeId(item.change)) return failure({ reason: "not_found" });
  try {
    const expects = left === undefined ? success(null) : await expectationOf(disk, path, left);
    if (!expects.ok) return expects;
    const size = await judgeKept(disk, itemName(item.change, item.number), path);
    if (!size.ok) return size;
    await disk.quota.measure();
    return await disk.staging.alone(() => restoreNow(disk, item, size.value, path, expects.value));
  } catch (error) {
    return failure(toRefusal(error));
  }
}

type TreeSize = Pick<Kept, "entries" | "sizeBytes">;

/** What is denied or protected today must not come back with a tree. */
async function judgeKept(disk: Disk, kept: string, path: WorkspacePath): Promise<Outcome<TreeSize>> {
  const info = disk.access.step(() => disk.staging.trash().statusOf(kept));
  if (info === null) return failure({ reason: "not_found" });
  if (!info.isDirectory) return success(keptOf(info));
  return await judgeTree(disk, path.segments, [stagingDirectoryName, trashDirectoryName, kept]);
}

function restoreNow(
  disk: Disk,
  item: KeptItem,
  size: TreeSize,
  path: WorkspacePath,
  expects: Expects | null,
): Outcome<null> {
  const { change, quota, rules, staging } = disk;
  const name = itemName(item.change, item.number);
  const trash = staging.trash();
  const info = trash.statusOf(name);
  if (info === null) return failure({ reason: "not_found" });
  const target = resolveInside(disk, path, "keep");
  if (!target.ok) return target;
  const { directory, names, segments, info: there } = target.value;
  if (expects === null && there !== null) return failure({ reason: "already_exists" });
  if (expects !== null && (there === null || !expects(there))) return failure({ reason: "conflict" });
  if (there !== null && (change === null || !there.isFile || !info.isFile)) return failure({ reason: "not_a_file" });
  const step = disk.trash?.find(item.change)?.steps.find(({ number }) => number === item.number)?.step;
  const existing = segments.length - (there === null ? names.length : 0);
  const named = checkNewNames(rules, segments, existing, step?.path === path.text);
  if (!named.ok) return named;
  if (!directory.isStillChangeable()) return changedMeanwhile;
  const growth = size.sizeBytes - (there?.size ?? 0);
  const entries = there === null ? size.entries + names.length - 1 : 0;
  const room = quota.check(growth, entries);
  if (!room.ok) return room;
  const place = makePlace(target.value);
  const put = { ...putOf(place, info, { identity: identityOf(info) }), source: item };
  const waiting = { directory: trash, name };
  const number = change?.next() ?? 0;
  if (there === null || change === null) {
    if (!putNew(change, number, put, waiting, place)) return failure({ reason: "already_exists" });
  } else {
    putKeeping(staging, change, number, { ...put, kept: keptOf(there) }, waiting, place);
    change.keep(-info.size);
  }
  quota.add(growth, entries);
  return success(null);
}

/** The operations; those that change something become steps of the change that `changing` returns. */
export function createWorkspaceTrash(disk: Disk, trash: DiskTrash, changing: () => Disk): Trash {
  const itemStatus = ({ change, number }: KeptItem) =>
    isChangeId(change) ? disk.access.step(() => disk.staging.trash().statusOf(itemName(change, number))) : null;
  const find: Trash["find"] = (id) => Promise.resolve(isChangeId(id) ? trash.find(id) : null);
  return {
    keepMs: trash.keepMs,
    async *changes() {
      for (const id of trash.ids().toReversed()) {
        const change = await find(id);
        if (change !== null) yield change;
      }
    },
    find,
    holds: (item) => Promise.resolve(itemStatus(item) !== null),
    read: (item, range) => readItem(disk, item, range),
    isAsLeft: (path, left) => isAsLeft(disk, path, left),
    restore: (item, path, left) => restoreItem(changing(), item, path, left),
    async takeAway(path, left) {
      const expects = await expectationOf(disk, path, left);
      if (!expects.ok) return expects;
      return await removeDiskEntry(changing(), path, { recursive: true, expects: expects.value });
    },
    async moveBack(from, to, left) {
      const expects = await expectationOf(disk, from, left);
      if (!expects.ok) return expects;
      return await moveDiskEntry(changing(), from, to, { expects: expects.value, isReturning: true });
    },
    makeAgain: (path) => makeDiskDirectory(changing(), path, true),
    cutBack: (path, sizeBytes, left) => cutDiskFile(changing(), path, sizeBytes, left),
    async noteUndone(id, by) {
      await disk.staging.alone(() => { // a refusal changes nothing: it is undone all the same
        if (trash.find(id) !== null) disk.staging.trash().appendText(recordName(id), toRecordLine({ undoneBy: by }));
        return success(null);
      });
    },
    tidy: (now) => trash.tidy(now),
  };
}

async function readItem(disk: Disk, { change, number }: KeptItem, range: ByteRange): Promise<Outcome<Uint8Array>> {
  if (!isChangeId(change)) return failure({ reason: "not_found" });
  const name = itemName(change, number);
  const file = disk.access.attempt(() => success(disk.staging.trash().openOwn(name)));
  if (!file.ok) return file;
  if (file.value === null) return failure({ reason: "not_found" });
  return await useAndClose(file.value, async (opened) => {
    if (hasHiddenName(disk, opened)) return failure({ reason: "denied", because: "hard_link" });
    const bytes = new Uint8Array(Math.min(range.lengthBytes, disk.limits.maxReadBytes));
    return success(bytes.subarray(0, await fill(opened, bytes, range.offsetBytes)));
  });
}
