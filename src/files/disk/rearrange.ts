/**
 * Deletes, moves and makes entries of the disk workspace. What is deleted is moved out of sight, and into the trash if
 * there is one.
 */
import { failure, success } from "../../lib/result.ts";
import { numberedName, stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import { denied, type Moved, type Outcome, type PairOutcome, refusedAt, type Workspace } from "../workspace/port.ts";
import { checkBelow, checkMoved, checkNewNames, maxJudgeMilliseconds } from "../workspace/access_rules.ts";
import { type Disk, findInside, type Found, type Resolved, resolveInside } from "./resolve.ts";
import { changedMeanwhile, identityOf, isSame, toRefusal, versionOf } from "./directory.ts";
import type { DiskDirectory } from "./directory.ts";
import { matchContent } from "./read.ts";
import type { Kept, Left } from "../workspace/change.ts";
import { checkChangeable, isStill, keptOf, makeDirectories, makePlace, makeStep, moveKeeping } from "./write.ts";
import type { Expects } from "./write.ts";
import { isFull, withRoom } from "./disk_trash.ts";
import { itemName, trashDirectoryName } from "./staging.ts";
import { walkTree } from "./tree.ts";

type Removed = Outcome<{ readonly entries: number }>;
/** Looks for the entry again, in a step. */
type Find = () => Outcome<Found>;

/** The operations of the port that move, delete and make entries; a link is moved and deleted itself. */
export function rearrangingOf(disk: Disk): Pick<Workspace, "move" | "remove" | "makeDirectory"> {
  const { access, change, limits, rules, staging } = disk;
  return {
    async remove(path, { recursive = false, left } = {}) {
      try {
        const expects = await expectationOf(disk, path, left);
        if (!expects.ok) return expects;
        const find: Find = () => {
          const found = findRemovable(disk, path, expects.value);
          if (!found.ok || left !== undefined) return found;
          const changeable = checkChangeable(disk, found.value.segments, found.value.info);
          return changeable.ok ? found : changeable;
        };
        const found = access.attempt(find);
        if (!found.ok) return found;
        if (!found.value.info.isDirectory) return await removeFile(disk, find);
        if (!recursive) return await removeEmpty(disk, find);
        return await withRoom(disk, () => removeTree(disk, find, found.value, left === undefined));
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
    async move(from, to, { overwrite = false, left } = {}) {
      try {
        const expects = await expectationOf(disk, from, left);
        if (!expects.ok) return refusedAt("from", expects);
        const plan = (): PairOutcome<Planned> => {
          const source = findRemovable(disk, from, expects.value);
          if (!source.ok) return refusedAt("from", source);
          const target = findDestination(disk, source.value, to, { overwrite, isReturning: left !== undefined });
          return target.ok ? success({ source: source.value, target: target.value }) : target;
        };
        const planned = access.step(plan);
        if (!planned.ok) return planned;
        const { source, target: { segments } } = planned.value; // nothing more of it is used when it is moved
        if (source.info.isDirectory) {
          const ends = { from: source.segments, to: segments, maxEntries: limits.maxTreeEntries };
          const judged = await checkMoved(rules, walkTree(access, source.segments), ends);
          if (!judged.ok) return refusedAt(judged.error.reason === "too_many_entries" ? "from" : "both", judged);
        }
        const moved = await staging.alone(() => success(placeMoved(disk, plan(), segments)));
        if (moved.ok) return moved.value;
        // rename(2): a directory that the file system takes for one above the destination, whatever their names
        const isInside = moved.error.reason === "io" && moved.error.code === "EINVAL";
        return refusedAt("both", isInside ? failure({ reason: "into_itself" }) : moved);
      } catch (error) {
        return refusedAt("both", failure(toRefusal(error)));
      }
    },
    async makeDirectory(path, { isReturning = false } = {}) {
      const make = (): Outcome<{ readonly created: boolean }> => {
        const resolved = resolveInside(disk, path);
        if (!resolved.ok) return resolved;
        const { directory, segments, names, info } = resolved.value;
        if (info !== null) {
          return info.isDirectory ? success({ created: false }) : failure({ reason: "already_exists" });
        }
        const made = names.length;
        const checked = checkNewNames(rules, segments, segments.length - made, isReturning);
        if (!checked.ok) return checked;
        const step = { op: "make", path: segments.join("/"), made } as const;
        makeStep(change, change?.next() ?? 0, step, () => void makeDirectories(directory, names));
        return success({ created: true });
      };
      return change === null ? access.attempt(make) : await staging.alone(make);
    },
  };
}

/** What tells the entry that was left from every other; the content of a file is read once, here. */
export async function expectationOf(disk: Disk, path: WorkspacePath, left?: Left): Promise<Outcome<Expects>> {
  if (left === undefined) return success(() => true);
  const { identity, sha256 } = left;
  if (identity !== undefined) return success((info) => identityOf(info) === identity);
  const matched = await matchContent(disk, path, sha256 ?? "");
  return matched.ok ? success((info) => versionOf(info) === matched.value) : matched;
}

async function removeEmpty(disk: Disk, find: Find): Promise<Removed> {
  const remove = (): Removed => {
    const found = find();
    if (!found.ok) return found;
    const { directory, name, segments } = found.value;
    const number = disk.change?.next() ?? 0;
    const step = { op: "remove", path: segments.join("/"), kind: "directory", kept: null, empty: true } as const;
    makeStep(disk.change, number, step, () => directory.removeDirectory(name));
    return success({ entries: 1 });
  };
  return disk.change === null ? disk.access.attempt(remove) : await disk.staging.alone(remove);
}

async function removeTree(disk: Disk, find: Find, found: Found, keepsReadOnly: boolean): Promise<Removed> {
  const { info, segments } = found;
  const judged = await judgeTree(disk, segments, segments, keepsReadOnly);
  if (!judged.ok) return judged;
  const taken = await disk.staging.alone((): Outcome<Taken> => {
    const still = find();
    if (!still.ok) return still;
    return isSame(still.value.info, info) ? takeOut(disk, still.value, judged.value) : changedMeanwhile;
  });
  if (!taken.ok) return taken;
  disk.quota.forget();
  // again: until it was out of sight, another process could move a protected entry into it
  let again: Outcome<TreeSize>;
  try {
    const { isKept, name } = taken.value;
    again = await judgeTree(disk, segments, [stagingDirectoryName, ...isKept ? [trashDirectoryName] : [], name]);
    if (again.ok && !isKept) await disk.staging.discardTree(name);
  } catch (error) {
    again = failure(toRefusal(error));
  }
  if (!again.ok) disk.access.step(() => putBack(disk, taken.value, found)); // what is left of it
  return again.ok ? success({ entries: again.value.entries }) : again;
}

async function removeFile(disk: Disk, find: Find): Promise<Removed> {
  const removeBy = (take: (found: Found) => Outcome<unknown>) => (): Removed => {
    const found = find();
    if (!found.ok) return found;
    const { isDirectory, isFile, size } = found.value.info;
    if (isDirectory) return changedMeanwhile;
    const taken = take(found.value);
    if (!taken.ok) return taken;
    disk.quota.add(isFile ? -size : 0);
    return success({ entries: 1 });
  };
  const removed = await withRoom(disk, () => disk.staging.alone(removeBy((found) => takeFile(disk, found))));
  if (!isFull(removed)) return removed;
  // a disk without room even for the staging directory
  return disk.access.attempt(removeBy(({ directory, name }) => success(directory.removeFile(name))));
}

function takeFile(disk: Disk, found: Found): Outcome<unknown> {
  const taken = takeOut(disk, found, { sizeBytes: found.info.size, entries: 1 });
  if (taken.ok && !taken.value.isKept) disk.staging.discard(taken.value.name);
  return taken;
}

/** What is there and may be moved or deleted. */
function findRemovable(disk: Disk, path: WorkspacePath, expects: Expects = () => true): Outcome<Found> {
  const found = findInside(disk, path, "keep");
  if (!found.ok) return found;
  const { segments, directory, info } = found.value;
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (disk.rules.isProtected(segments)) return denied("protected_name");
  if (!directory.isStillChangeable()) return changedMeanwhile;
  return expects(info) ? found : failure({ reason: "conflict" });
}

/** What a tree holds. */
export type TreeSize = Pick<Kept, "entries" | "sizeBytes">;

/** Refuses a tree that holds what may not be deleted; `at`: where it lies now, if it was taken out of its place. */
export async function judgeTree(
  disk: Disk,
  segments: readonly string[],
  at: readonly string[] = segments,
  keepsReadOnly = false,
): Promise<Outcome<TreeSize>> {
  const { access, limits, rules, trash } = disk;
  const maxEntries = trash === null ? limits.maxTreeEntries : Infinity; // one rename takes any number into the trash
  const started = performance.now();
  let entries = 1;
  let sizeBytes = 0;
  for await (const below of walkTree(access, segments, { at })) {
    const isLong = performance.now() - started > maxJudgeMilliseconds;
    if (++entries > maxEntries || isLong) return failure({ reason: "too_many_entries", limit: entries - 1 });
    if (below.isForeign) return denied("other_file_system");
    const allowed = checkBelow(rules, below.segments);
    if (!allowed.ok) return allowed;
    if (keepsReadOnly) {
      const changeable = checkChangeable(disk, below.segments, below.info);
      if (!changeable.ok) return changeable;
    }
    if (below.info.isFile) sizeBytes += below.info.size;
  }
  return success({ entries, sizeBytes });
}

/** How many names are tried for a version whose own name is taken again. */
const maxNamesTried = 100;

/** What was taken out of sight. */
interface Taken {
  /** Whether it lies in the trash; else in the staging directory, to be deleted. */
  readonly isKept: boolean;
  readonly directory: () => DiskDirectory;
  readonly name: string;
  /** The number of the step that took it. */
  readonly number: number;
}

/**
 * Takes what was found out of sight, into the trash or the staging directory, and looks at it there: a version that
 * another process has put in its place meanwhile is put back.
 */
function takeOut(disk: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  const { change, staging } = disk;
  const number = change?.next() ?? 0;
  const { kind } = keptOf(found.info);
  const step = { op: "remove", path: found.segments.join("/"), kind } as const;
  const isKept = change !== null && size.sizeBytes <= change.maxBytes;
  const own = {
    isKept,
    directory: isKept ? staging.trash : staging.directory,
    name: isKept ? itemName(change.id, number) : staging.nameFor(found.info),
    number,
  };
  makeStep(change, number, { ...step, kept: isKept ? { kind, ...size } : null }, () => {
    found.directory.rename(found.name, own.directory(), own.name);
  });
  const info = own.directory().statusOf(own.name);
  if (info !== null && identityOf(info) === identityOf(found.info)) return success(own);
  putBack(disk, own, found);
  return changedMeanwhile;
}

/** Puts an entry back under its name, or a free one like it; keeps it where its directory was replaced. */
function putBack(disk: Disk, taken: Taken, { segments, parent }: Pick<Found, "segments" | "parent">): void {
  const names = segments.slice(0, -1);
  const there = findInside(disk, { text: names.join("/"), segments: names });
  if (there.ok && isSame(there.value.info, parent) && there.value.info.isDirectory) {
    const { directory, name: ownName } = there.value;
    const place = ownName === "." ? directory : directory.enter(ownName);
    for (let number = 1; number <= maxNamesTried && place.isStillInside(); number++) {
      if (!taken.directory().renameNew(taken.name, place, numberedName(segments.at(-1) ?? "", number))) continue;
      return disk.change?.withdraw(taken.number);
    }
  }
  if (!taken.isKept) disk.staging.keep(taken.name);
}

/** What would be moved, and to where. */
interface Planned {
  readonly source: Found;
  readonly target: Resolved;
}

/** Moves, if both ends still are as planned. From the first look to the rename no other worker writes or moves here. */
function placeMoved(disk: Disk, planned: PairOutcome<Planned>, plannedSegments: readonly string[]): PairOutcome<Moved> {
  if (!planned.ok) return planned;
  const { source, target } = planned.value;
  const { info } = target;
  if (target.segments.join("/") !== plannedSegments.join("/")) return changedDestination;
  const place = makePlace(target);
  if (source.info.ino === info?.ino) {
    if (!isStill(place, (there) => identityOf(there) === identityOf(info))) return changedDestination;
    source.directory.rename(source.name, place.parent, place.name, source.info);
    if (source.segments.join("/") === place.path || !isListed(source)) return success({});
    const taken = takeFile(disk, source); // rename(2): two names of one file both stay
    if (!taken.ok) return refusedAt("from", taken);
  } else if (!moveKeeping(disk, source, place, info)) return changedDestination;
  disk.quota.add(-(info?.size ?? 0));
  return success({ otherNames: source.info.ino === info?.ino ? 0 : (info?.nlink ?? 1) - 1 });
}

/** Whether the directory has this very name, which another spelling may have replaced. */
function isListed({ directory, name }: Found): boolean {
  using listing = directory.list(".");
  // not `listing.entries().some`: Deno's bundler drops a `using` whose only use begins the next statement
  return Array.from(listing.entries()).some((entry) => entry.name === name);
}

const changedDestination = refusedAt<Moved>("to", changedMeanwhile);

function findDestination(
  disk: Disk,
  source: Found,
  to: WorkspacePath,
  { overwrite, isReturning }: { readonly overwrite: boolean; readonly isReturning: boolean },
): PairOutcome<Resolved> {
  const resolved = resolveInside(disk, to, "keep");
  if (!resolved.ok) return refusedAt("to", resolved);
  const { segments, names, info } = resolved.value;
  const isBelow = source.segments.every((name, index) => segments[index] === name);
  if (isBelow && source.info.isDirectory && segments.length > source.segments.length) {
    return refusedAt("both", failure({ reason: "into_itself" }));
  }
  const judge = (): Outcome<null> => {
    if (info === null) return checkNewNames(disk.rules, segments, segments.length - names.length, isReturning);
    if (segments.length === 0) return failure({ reason: "is_root" });
    if (!overwrite) return failure({ reason: "already_exists" });
    if (info.isDirectory) return failure({ reason: "is_directory" });
    if (!info.isFile || !source.info.isFile) return failure({ reason: "already_exists" });
    return checkChangeable(disk, segments, info);
  };
  const judged = judge();
  return judged.ok ? resolved : refusedAt("to", judged);
}
