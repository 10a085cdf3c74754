/** Moves, removes and makes entries of the disk workspace. */
import { failure, success } from "../lib/result.ts";
import { makeParents, type Target } from "./disk_commit.ts";
import type { Disk } from "./disk_context.ts";
import { toRefusal } from "./disk_refusal.ts";
import { absolutePath, findInside, type Found, isSame, resolveInside } from "./disk_resolve.ts";
import { removeIfThere } from "./disk_staging.ts";
import { walkTree } from "./disk_tree.ts";
import { checkNewNames } from "./new_names.ts";
import type { WorkspacePath } from "./path.ts";
import type { Outcome } from "./port.ts";

/** Moves the entry at `from`, a link itself, to `to`. */
export async function moveDiskEntry(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  { overwrite = false }: { readonly overwrite?: boolean } = {},
): Promise<Outcome<null>> {
  try {
    const source = findRemovable(disk, from);
    if (!source.ok) return source;
    const planned = findDestination(disk, source.value, to, overwrite);
    if (!planned.ok) return planned;
    const judged = await judgeAlike(disk, source.value, planned.value.segments);
    if (!judged.ok) return judged;
    await disk.quota.measure();
    return disk.staging.alone(() => placeMoved(disk, from, to, { overwrite, segments: planned.value.segments }));
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/** Moves, if both ends still are as planned. From the first look to the rename no other worker writes or moves here. */
function placeMoved(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  planned: { readonly overwrite: boolean; readonly segments: readonly string[] },
): Outcome<null> {
  const still = findRemovable(disk, from);
  if (!still.ok) return still;
  const target = findDestination(disk, still.value, to, planned.overwrite);
  if (!target.ok) return target;
  if (target.value.segments.join("/") !== planned.segments.join("/")) {
    return failure({ reason: "denied", because: "changed_while_opening" });
  }
  const { segments, existing, info } = target.value;
  const parents = segments.slice(0, -1);
  const newParents = Math.max(0, parents.length - existing);
  const room = disk.quota.check(0, newParents);
  if (!room.ok) return room;
  const made = makeParents(disk, parents, Math.min(existing, parents.length));
  if (!made.ok) return made;
  Deno.renameSync(still.value.path, absolutePath(disk.root, segments));
  disk.quota.add(-(info?.size ?? 0), newParents - (info === null ? 0 : 1));
  return success(null);
}

/** Deletes the entry at `path`, a link itself, and with `recursive` what is below it. */
export async function removeDiskEntry(
  disk: Disk,
  path: WorkspacePath,
  { recursive = false }: { readonly recursive?: boolean } = {},
): Promise<Outcome<{ readonly entries: number }>> {
  try {
    const found = findRemovable(disk, path);
    if (!found.ok) return found;
    const { path: absolute, segments, info } = found.value;
    if (!info.isDirectory) {
      const removed = removeFile(disk, found.value);
      if (!removed.ok) return removed;
      disk.quota.add(info.isFile ? -info.size : 0, -1);
      return success({ entries: 1 });
    }
    if (!recursive) {
      Deno.removeSync(absolute); // which removes no directory that holds anything
      disk.quota.add(0, -1);
      return success({ entries: 1 });
    }
    let entries = 1;
    for await (const below of walkTree(disk.root, segments)) {
      if (++entries > disk.limits.maxTreeEntries) {
        return failure({ reason: "too_many_entries", limit: disk.limits.maxTreeEntries });
      }
      if (below.isForeign) return failure({ reason: "denied", because: "other_file_system" });
      if (disk.rules.isDenied(below.segments)) return failure({ reason: "denied", because: "denied_name" });
      if (disk.rules.isProtected(below.segments)) return failure({ reason: "denied", because: "protected_name" });
    }
    const still = findRemovable(disk, path);
    if (!still.ok) return still;
    if (!isSame(still.value.info, info.dev, info.ino)) {
      return failure({ reason: "denied", because: "changed_while_opening" });
    }
    // first out of sight in one step, so that no one meets half of it; a crash leaves the rest to the next start
    const staged = takeIn(disk, still.value);
    if (!staged.ok) return staged;
    disk.quota.forget();
    await Deno.remove(staged.value, { recursive: true });
    return success({ entries });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/**
 * Removes anything but a directory, by way of the staging directory: where the workspace is a file system of its own,
 * nothing outside can be moved there, whatever another process has put in the path's place by now.
 */
function removeFile(disk: Disk, found: Found): Outcome<null> {
  const staged = takeIn(disk, found);
  if (staged.ok) removeIfThere(staged.value);
  else if (staged.error.reason === "no_space") Deno.removeSync(found.path); // not even room for the lock: make some
  else return staged;
  return success(null);
}

/** Moves what was found out of sight, and refuses what has taken its place. */
function takeIn(disk: Disk, { path, info }: Found): Outcome<string> {
  const staged = disk.staging.takeIn(path);
  if (!staged.ok || isSame(Deno.lstatSync(staged.value), info.dev, info.ino)) return staged;
  // left there for the next start's sweep: to put it back could put it anywhere
  return failure({ reason: "denied", because: "changed_while_opening" });
}

/** Makes the directory at `path` and its missing parents. */
export async function makeDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
): Promise<Outcome<{ readonly created: boolean }>> {
  await disk.quota.measure();
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  if (resolved.value.found) {
    return resolved.value.info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
  }
  const { segments: directory, missing } = resolved.value;
  const segments = [...directory, ...missing];
  const checked = checkNewNames(disk.rules, segments, directory.length);
  if (!checked.ok) return checked;
  const room = disk.quota.check(0, missing.length);
  if (!room.ok) return room;
  try {
    const made = makeParents(disk, segments, directory.length);
    if (!made.ok) return made;
    disk.quota.add(0, missing.length);
    return success({ created: true });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function findRemovable(disk: Disk, path: WorkspacePath): Outcome<Found> {
  const found = findInside(disk, path, "keep");
  if (!found.ok) return found;
  if (found.value.segments.length === 0) return failure({ reason: "is_root" });
  return disk.rules.isProtected(found.value.segments)
    ? failure({ reason: "denied", because: "protected_name" })
    : found;
}

function findDestination(disk: Disk, source: Found, to: WorkspacePath, overwrite: boolean): Outcome<Target> {
  const resolved = resolveInside(disk, to, "keep");
  if (!resolved.ok) return resolved;
  const { found } = resolved.value;
  const existing = resolved.value.segments.length;
  const segments = found ? resolved.value.segments : [...resolved.value.segments, ...resolved.value.missing];
  const isBelow = source.segments.every((name, index) => segments[index] === name);
  if (isBelow && source.info.isDirectory && segments.length > source.segments.length) {
    return failure({ reason: "into_itself" });
  }
  if (!found) {
    const checked = checkNewNames(disk.rules, segments, existing);
    return checked.ok ? success({ segments, existing, info: null }) : checked;
  }
  if (segments.length === 0) return failure({ reason: "is_root" });
  const { info } = resolved.value;
  if (!overwrite) return failure({ reason: "already_exists" });
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile || !source.info.isFile) return failure({ reason: "already_exists" });
  if (disk.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  return success({ segments, existing, info });
}

/** Refuses a move that would put entries below a directory under other rules: it could undo or forge protection. */
async function judgeAlike(disk: Disk, source: Found, to: readonly string[]): Promise<Outcome<null>> {
  if (!source.info.isDirectory || !disk.rules.isPlaceDependent) return success(null);
  let entries = 0;
  for await (const { segments } of walkTree(disk.root, source.segments)) {
    if (++entries > disk.limits.maxTreeEntries) {
      return failure({ reason: "too_many_entries", limit: disk.limits.maxTreeEntries });
    }
    const moved = [...to, ...segments.slice(source.segments.length)];
    if (disk.rules.isDenied(segments) !== disk.rules.isDenied(moved)) {
      return failure({ reason: "denied", because: "denied_name" });
    }
    if (disk.rules.isProtected(segments) !== disk.rules.isProtected(moved)) {
      return failure({ reason: "denied", because: "protected_name" });
    }
  }
  return success(null);
}
