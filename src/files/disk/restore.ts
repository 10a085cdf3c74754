/** Puts what a change kept back into the tree. Rules, names and quotas are judged as for any new entry. */
import { failure, success } from "../../lib/result.ts";
import { isChangeId, type KeptItem, type Left, type PutStep } from "../workspace/change.ts";
import { checkNewNames } from "../workspace/new_names.ts";
import { stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import { makeParents } from "./commit.ts";
import type { Disk } from "./context.ts";
import { type DiskDirectory, type DiskInfo, identityOf, versionOf } from "./directory.ts";
import { matchContent } from "./match_content.ts";
import { toRefusal } from "./refusal.ts";
import { type Expects, judgeTree } from "./remove.ts";
import { resolveInside } from "./resolve.ts";
import type { Staging } from "./staging.ts";
import { giveUpSecondName, keepSecondName, keptOf, makeStep } from "./keep.ts";
import { itemName, trashDirectoryName } from "./trash_directory.ts";

const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** What tells the entry that was left from every other; the content of a file is read once, here. */
export async function expectationOf(disk: Disk, path: WorkspacePath, left: Left): Promise<Outcome<Expects>> {
  const { identity, sha256 } = left;
  if (identity !== undefined) return success((info) => identityOf(info) === identity);
  const matched = await matchContent(disk, path, sha256 ?? "");
  return matched.ok ? success((info) => versionOf(info) === matched.value) : matched;
}

/** Whether what is at the path is as it was left. */
export async function isAsLeft(disk: Disk, path: WorkspacePath, left: Left): Promise<Outcome<boolean>> {
  const there = disk.access.step(() => resolveInside(disk, path, "keep"));
  if (!there.ok) return there;
  if (!there.value.found) return success(false);
  const expects = await expectationOf(disk, path, left);
  if (!expects.ok) return expects.error.reason === "conflict" ? success(false) : expects;
  return success(expects.value(there.value.info));
}

/** Puts the item at `path`: where nothing is, or with `left` in the place of the file that is there as it was left. */
export async function restoreItem(
  disk: Disk,
  item: KeptItem,
  path: WorkspacePath,
  left: Left | null,
): Promise<Outcome<null>> {
  if (!isChangeId(item.change)) return failure({ reason: "not_found" });
  const kept = itemName(item.change, item.number);
  try {
    const expects = left === null ? null : await expectationOf(disk, path, left);
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
  makeStep(change, number, { ...putOf(segments, item, info, 0), kept: keptOf(there) }, () => {
    exchangeKept(disk.staging, { from: kept, to: itemName(change.id, number) }, directory, name);
    return true;
  });
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
    isExchanged = staging.exchangeKept(to, directory, name);
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
