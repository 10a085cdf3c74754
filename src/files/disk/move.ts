/** Moves and renames entries of the disk workspace. */
import { failure, success } from "../../lib/result.ts";
import { checkChangeable, makeParents, makeStep, moveKeeping, type Target } from "./commit.ts";
import type { Disk } from "./context.ts";
import { changedMeanwhile, errorCode, identityOf, toRefusal } from "./directory.ts";
import { type Expects, findRemovable } from "./remove.ts";
import { type Found, resolveInside } from "./resolve.ts";
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
    return moved.ok ? moved.value : refusedAt("both", moved);
  } catch (error) {
    // rename(2): a directory that the file system takes for one above the destination, whatever their names
    const isInside = errorCode(error) === "EINVAL";
    return refusedAt("both", failure(isInside ? { reason: "into_itself" } : toRefusal(error)));
  }
}

/** What would be moved, and to where. */
function planMove(
  disk: Disk,
  from: WorkspacePath,
  to: WorkspacePath,
  options: MoveOptions,
): PairOutcome<{ readonly source: Found; readonly target: Target }> {
  const source = findRemovable(disk, from);
  if (!source.ok) return refusedAt("from", source);
  if (options.expects?.(source.value.info) === false) return refusedAt("from", failure({ reason: "conflict" }));
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
  const { source, target: { segments, directory, names, info } } = planned.value;
  if (segments.join("/") !== plannedSegments.join("/")) return changedDestination;
  const newParents = names.length - 1;
  const room = disk.quota.check(0, newParents);
  if (!room.ok) return refusedAt("to", room);
  const made = makeParents(directory, names.slice(0, -1));
  if (!made.ok) return refusedAt("to", made);
  const name = names.at(-1) ?? "";
  // right before the rename, which replaces whatever file another process has put there
  const there = info === null ? null : made.value.statusOf(name);
  if (info !== null && (there === null || identityOf(there) !== identityOf(info))) return changedDestination;
  const place = { parent: made.value, name, path: segments.join("/"), made: newParents };
  if (source.info.ino === info?.ino) source.directory.rename(source.name, made.value, name, source.info);
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
): PairOutcome<Target> {
  const resolved = resolveInside(disk, to, "keep");
  if (!resolved.ok) return refusedAt("to", resolved);
  const { found, directory } = resolved.value;
  const existing = resolved.value.segments.length;
  const names = found ? [resolved.value.name] : resolved.value.missing;
  const segments = found ? resolved.value.segments : [...resolved.value.segments, ...names];
  const isBelow = source.segments.every((name, index) => segments[index] === name);
  if (isBelow && source.info.isDirectory && segments.length > source.segments.length) {
    return refusedAt("both", failure({ reason: "into_itself" }));
  }
  if (!found) {
    const checked = checkNewNames(disk.rules, segments, existing, isReturning);
    return checked.ok ? success({ segments, directory, names, info: null }) : refusedAt("to", checked);
  }
  const replaceable = checkReplaceable(disk, source, resolved.value, overwrite);
  return replaceable.ok
    ? success({ segments, directory, names, info: resolved.value.info })
    : refusedAt("to", replaceable);
}

function checkReplaceable(disk: Disk, source: Found, { segments, info }: Found, overwrite: boolean): Outcome<null> {
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (!overwrite) return failure({ reason: "already_exists" });
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile || !source.info.isFile) return failure({ reason: "already_exists" });
  return checkChangeable(disk, segments, info);
}

/** Makes the directory at `path` and its missing parents; `isReturning`: again, whatever new names may not hold. */
export async function makeDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  isReturning = false,
): Promise<Outcome<{ readonly created: boolean }>> {
  await disk.quota.measure();
  try {
    return disk.change === null
      ? disk.access.step(() => makeNow(disk, path, isReturning))
      : await disk.staging.alone(() => makeNow(disk, path, isReturning));
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function makeNow(disk: Disk, path: WorkspacePath, isReturning: boolean): Outcome<{ readonly created: boolean }> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  if (resolved.value.found) {
    return resolved.value.info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
  }
  const { directory, segments, missing } = resolved.value;
  const checked = checkNewNames(disk.rules, [...segments, ...missing], segments.length, isReturning);
  if (!checked.ok) return checked;
  const room = disk.quota.check(0, missing.length);
  if (!room.ok) return room;
  const number = disk.change?.next() ?? 0;
  const step = { op: "make", path: [...segments, ...missing].join("/"), made: missing.length } as const;
  let made: Outcome<unknown> = success(null);
  makeStep(disk.change, number, step, () => (made = makeParents(directory, missing)).ok);
  if (!made.ok) return made;
  disk.quota.add(0, missing.length);
  return success({ created: true });
}
