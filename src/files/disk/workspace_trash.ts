/** The trash of a disk workspace as its port has it. */
import { beginningOf, isChangeId, type KeptItem, type Left, type PutStep } from "../workspace/change.ts";
import { stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import type { ByteRange, Outcome, Trash, WrittenFile } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { fill, hasHiddenName, matchContent, readPieces, useAndClose, withFile } from "./read.ts";
import { replaceWith, withTarget } from "./write.ts";
import { failure, success } from "../../lib/result.ts";
import { checkNewNames } from "../workspace/access_rules.ts";
import { giveUpSecondName, keepSecondName, keptOf, makeParents, makeStep } from "./commit.ts";
import { changedMeanwhile, type DiskDirectory, type DiskInfo, identityOf, toRefusal, versionOf } from "./directory.ts";
import { type Expects, judgeTree, removeDiskEntry } from "./remove.ts";
import { resolveInside } from "./resolve.ts";
import type { Staging } from "./staging.ts";
import { itemName, recordName, toRecordLine, trashDirectoryName } from "./trash_directory.ts";
import { makeDiskDirectory, moveDiskEntry } from "./move.ts";
import type { DiskTrash } from "./disk_trash.ts";

/** Leaves only the beginning of the file at `path`, if that is as it was left. */
async function cutDiskFile(
  disk: Disk,
  path: WorkspacePath,
  sizeBytes: number,
  { sha256 = "" }: Left,
): Promise<Outcome<WrittenFile>> {
  return await withTarget(disk, path, async (target) => {
    const matched = await matchContent(disk, path, sha256);
    if (!matched.ok) return matched;
    return await withFile(
      disk,
      path,
      disk.limits.maxFileBytes,
      async (file) => await replaceWith(disk, path, beginningOf(readPieces(file), sizeBytes), target, matched.value),
    );
  });
}

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
  const there = disk.access.step(() => resolveInside(disk, path, "keep"));
  if (!there.ok) return there;
  if (!there.value.found) return success(false);
  const expects = await expectationOf(disk, path, left);
  if (!expects.ok) return expects.error.reason === "conflict" ? success(false) : expects;
  return success(expects.value(there.value.info));
}

/** Puts the item at `path`, which must be free, or with `left` must still hold the file as it was left. */
async function restoreItem(
  disk: Disk,
  item: KeptItem,
  path: WorkspacePath,
  left?: Left,
): Promise<Outcome<null>> {
  if (!isChangeId(item.change)) return failure({ reason: "not_found" });
  const kept = itemName(item.change, item.number);
  try {
    const expects = left === undefined ? null : await expectationOf(disk, path, left);
    if (expects !== null && !expects.ok) return expects;
    const judged = await judgeKept(disk, kept, path);
    if (!judged.ok) return judged;
    await disk.quota.measure();
    return await disk.staging.alone(() => {
      const info = disk.staging.trash().statusOf(kept);
      if (info === null) return failure({ reason: "not_found" });
      const restoring = { kept, item, info, size: judged.value };
      return expects === null
        ? putWhereNothingIs(disk, restoring, path)
        : putInPlaceOf(disk, restoring, path, expects.value);
    });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

interface Restoring {
  readonly kept: string;
  readonly item: KeptItem;
  readonly info: DiskInfo;
  readonly size: { readonly entries: number; readonly sizeBytes: number };
}

/** What is denied or protected today must not come back with a tree. */
async function judgeKept(disk: Disk, kept: string, path: WorkspacePath): Promise<Outcome<Restoring["size"]>> {
  const info = disk.access.step(() => disk.staging.trash().statusOf(kept));
  if (info === null) return failure({ reason: "not_found" });
  if (!info.isDirectory) return success({ entries: 1, sizeBytes: info.isFile ? info.size : 0 });
  return await judgeTree(disk, path.segments, [stagingDirectoryName, trashDirectoryName, kept]);
}

function putWhereNothingIs(disk: Disk, { kept, item, info, size }: Restoring, path: WorkspacePath): Outcome<null> {
  const resolved = resolveInside(disk, path, "keep");
  if (!resolved.ok) return resolved;
  if (resolved.value.found) return failure({ reason: "already_exists" });
  const { directory, missing } = resolved.value;
  const segments = [...resolved.value.segments, ...missing];
  const step = disk.trash?.find(item.change)?.steps.find(({ number }) => number === item.number)?.step;
  const named = checkNewNames(disk.rules, segments, segments.length - missing.length, step?.path === path.text);
  if (!named.ok) return named;
  const made = missing.length - 1;
  const room = disk.quota.check(size.sizeBytes, size.entries + made);
  if (!room.ok) return room;
  const parent = makeParents(directory, missing.slice(0, -1));
  if (!parent.ok) return parent;
  const number = disk.change?.next() ?? 0;
  const put: PutStep = { ...putOf(segments, item, info, made), created: true };
  const isPut = makeStep(
    disk.change,
    number,
    put,
    () => disk.staging.trash().renameNew(kept, parent.value, missing.at(-1) ?? ""),
  );
  if (!isPut) return failure({ reason: "already_exists" });
  disk.quota.add(size.sizeBytes, size.entries + made);
  return success(null);
}

function putInPlaceOf(
  disk: Disk,
  { kept, item, info }: Restoring,
  path: WorkspacePath,
  expects: Expects,
): Outcome<null> {
  const { change, rules, trash } = disk;
  const resolved = resolveInside(disk, path, "keep");
  if (!resolved.ok) return resolved;
  if (!resolved.value.found || !expects(resolved.value.info)) return failure({ reason: "conflict" });
  const { directory, name, segments, info: there } = resolved.value;
  if (change === null || trash === null || !there.isFile || !info.isFile) return failure({ reason: "not_a_file" });
  if (rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  if (!directory.isStillChangeable()) return changedMeanwhile;
  const room = disk.quota.check(info.size - there.size, 0);
  if (!room.ok) return room;
  const number = change.next();
  makeStep(
    change,
    number,
    { ...putOf(segments, item, info, 0), kept: keptOf(there) },
    () => exchangeKept(disk.staging, { from: kept, to: itemName(change.id, number) }, directory, name),
  );
  trash.add(there.size - info.size);
  disk.quota.add(info.size - there.size, 0);
  return success(null);
}

/** The item takes the name in the tree, and the entry that was there becomes the item of the new change. */
function exchangeKept(
  staging: Staging,
  { from, to }: { readonly from: string; readonly to: string },
  directory: DiskDirectory,
  name: string,
): void {
  const trash = staging.trash();
  trash.rename(from, trash, to);
  let isExchanged = false;
  try {
    isExchanged = staging.exchange(trash, to, directory, name);
  } finally {
    if (!isExchanged) trash.rename(to, trash, from);
  }
  if (isExchanged) return;
  keepSecondName(directory, name, trash, to);
  try {
    trash.rename(from, directory, name);
  } catch (error) {
    giveUpSecondName(directory, name, trash, to);
    throw error;
  }
}

function putOf(segments: readonly string[], source: KeptItem, info: DiskInfo, made: number): PutStep {
  const { kind } = keptOf(info);
  const left = { identity: identityOf(info) };
  return {
    op: "put",
    path: segments.join("/"),
    kind,
    made,
    kept: null,
    created: false,
    left,
    source,
    node: `${info.ino}`,
  };
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
      const removed = await removeDiskEntry(changing(), path, { recursive: true, expects: expects.value });
      return removed.ok ? success(null) : removed;
    },
    async moveBack(from, to, left) {
      const expects = await expectationOf(disk, from, left);
      if (!expects.ok) return expects;
      return await moveDiskEntry(changing(), from, to, { expects: expects.value, isReturning: true });
    },
    makeAgain: (path) => makeDiskDirectory(changing(), path, true),
    async cutBack(path, sizeBytes, left) {
      const cut = await cutDiskFile(changing(), path, sizeBytes, left);
      return cut.ok ? success(null) : cut;
    },
    async noteUndone(id, by) {
      try {
        await disk.staging.alone(() => {
          if (trash.find(id) !== null) disk.staging.trash().appendText(recordName(id), toRecordLine({ undoneBy: by }));
          return success(null);
        });
      } catch (error) {
        toRefusal(error); // it is undone all the same
      }
    },
    tidy: (now) => trash.tidy(now),
  };
}

async function readItem(disk: Disk, { change, number }: KeptItem, range: ByteRange): Promise<Outcome<Uint8Array>> {
  if (!isChangeId(change)) return failure({ reason: "not_found" });
  const name = itemName(change, number);
  try {
    const file = disk.access.step(() => disk.staging.trash().openOwn(name));
    if (file === null) return failure({ reason: "not_found" });
    return await useAndClose(file, async () => {
      if (hasHiddenName(disk, file)) return failure({ reason: "denied", because: "hard_link" });
      const bytes = new Uint8Array(Math.min(range.lengthBytes, disk.limits.maxReadBytes));
      return success(bytes.subarray(0, await fill(file, bytes, range.offsetBytes)));
    });
  } catch (error) {
    return failure(toRefusal(error));
  }
}
