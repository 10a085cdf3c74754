/** Moves and renames entries of the disk workspace. */
import { failure, success } from "../../lib/result.ts";
import { checkChangeable, makeDirectories, makePlace, makeStep, moveKeeping } from "./commit.ts";
import type { Disk } from "./context.ts";
import { changedMeanwhile, type DiskInfo, identityOf, toRefusal } from "./directory.ts";
import { type Expects, findRemovable } from "./remove.ts";
import { type Found, type Resolved, resolveInside } from "./resolve.ts";
import { walkTree } from "./tree.ts";
import { checkMoved, checkNewNames } from "../workspace/access_rules.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { type Outcome, type PairOutcome, refusedAt } from "../workspace/port.ts";

interface MoveOptions {
  readonly overwrite?: boolean;
  readonly expects?: Expects;
  /** It goes back to where it was, whatever new names may not hold. */
  readonly isReturning?: boolean;
}

/** Moves the entry at `from`, a link itself, to `to`. */
export async function moveDiskEntry(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  options: MoveOptions = {},
): Promise<PairOutcome<null>> {
  try {
    const planned = disk.access.step(() => planMove(disk, from, to, options));
    if (!planned.ok) return planned;
    const { source, target: { segments } } = planned.value; // nothing more of it is used when it is moved
    if (source.info.isDirectory) {
      const { access, limits: { maxTreeEntries: maxEntries }, rules } = disk;
      const below = walkTree(access, source.segments);
      const judged = await checkMoved(rules, below, { from: source.segments, to: segments, maxEntries });
      if (!judged.ok) return refusedAt(judged.error.reason === "too_many_entries" ? "from" : "both", judged);
    }
    await disk.quota.measure();
    const moved = await disk.staging.alone(() => success(placeMoved(disk, from, to, options, segments)));
    if (moved.ok) return moved.value;
    // rename(2): a directory that the file system takes for one above the destination, whatever their names
    const isInside = moved.error.reason === "io" && moved.error.code === "EINVAL";
    return refusedAt("both", isInside ? failure({ reason: "into_itself" }) : moved);
  } catch (error) {
    return refusedAt("both", failure(toRefusal(error)));
  }
}

/** What would be moved, and to where. */
function planMove(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  options: MoveOptions,
): PairOutcome<{ readonly source: Found; readonly target: Resolved }> {
  const source = findRemovable(disk, from, options.expects);
  if (!source.ok) return refusedAt("from", source);
  const target = findDestination(disk, source.value, to, options);
  return target.ok ? success({ source: source.value, target: target.value }) : target;
}

/** Moves, if both ends still are as planned. From the first look to the rename no other worker writes or moves here. */
function placeMoved(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  options: MoveOptions,
  plannedSegments: readonly string[],
): PairOutcome<null> {
  const planned = planMove(disk, from, to, options);
  if (!planned.ok) return planned;
  const { source, target } = planned.value;
  const { info } = target;
  if (target.segments.join("/") !== plannedSegments.join("/")) return changedDestination;
  const newParents = target.names.length - 1;
  const room = disk.quota.check(0, newParents);
  if (!room.ok) return refusedAt("to", room);
  const place = makePlace(target);
  // right before the rename, which replaces whatever file another process has put there
  const there = info === null ? null : place.parent.statusOf(place.name);
  if (info !== null && (there === null || identityOf(there) !== identityOf(info))) return changedDestination;
  if (source.info.ino === info?.ino) source.directory.rename(source.name, place.parent, place.name, source.info);
  else if (!moveKeeping(disk, source, place, info)) return changedDestination;
  disk.quota.add(-(info?.size ?? 0), newParents - (info === null ? 0 : 1));
  return success(null);
}

const changedDestination = refusedAt<null>("to", changedMeanwhile);

function findDestination(
  disk: Disk,
  source: Found,
  to: WorkspacePath,
  { overwrite = false, isReturning }: MoveOptions,
): PairOutcome<Resolved> {
  const resolved = resolveInside(disk, to, "keep");
  if (!resolved.ok) return refusedAt("to", resolved);
  const { segments, names, info } = resolved.value;
  const isBelow = source.segments.every((name, index) => segments[index] === name);
  if (isBelow && source.info.isDirectory && segments.length > source.segments.length) {
    return refusedAt("both", failure({ reason: "into_itself" }));
  }
  const allowed = info === null
    ? checkNewNames(disk.rules, segments, segments.length - names.length, isReturning)
    : checkReplaceable(disk, source.info, segments, info, overwrite);
  return allowed.ok ? resolved : refusedAt("to", allowed);
}

function checkReplaceable(
  disk: Disk,
  source: DiskInfo,
  segments: readonly string[],
  info: DiskInfo,
  overwrite: boolean,
): Outcome<null> {
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (!overwrite) return failure({ reason: "already_exists" });
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile || !source.isFile) return failure({ reason: "already_exists" });
  return checkChangeable(disk, segments, info);
}

/** Makes the directory at `path` and its missing parents; `isReturning`: again, whatever new names may not hold. */
export async function makeDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  isReturning = false,
): Promise<Outcome<{ readonly created: boolean }>> {
  await disk.quota.measure();
  const make = (): Outcome<{ readonly created: boolean }> => makeNow(disk, path, isReturning);
  return disk.change === null ? disk.access.attempt(make) : await disk.staging.alone(make);
}

function makeNow(disk: Disk, path: WorkspacePath, isReturning: boolean): Outcome<{ readonly created: boolean }> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  const { directory, segments, names, info } = resolved.value;
  if (info !== null) return info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
  const made = names.length;
  const checked = checkNewNames(disk.rules, segments, segments.length - made, isReturning);
  if (!checked.ok) return checked;
  const room = disk.quota.check(0, made);
  if (!room.ok) return room;
  const step = { op: "make", path: segments.join("/"), made } as const;
  makeStep(disk.change, disk.change?.next() ?? 0, step, () => void makeDirectories(directory, names));
  disk.quota.add(0, made);
  return success({ created: true });
}
