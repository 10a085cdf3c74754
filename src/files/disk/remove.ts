/** Deletes entries of the disk workspace: they are taken out of sight, and where there is a trash, kept there. */
import { failure, success } from "../../lib/result.ts";
import { numberedName, stagingDirectoryName, type WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";
import type { Disk } from "./context.ts";
import { changedMeanwhile, type DiskDirectory, type DiskInfo, identityOf, isSame, toRefusal } from "./directory.ts";
import { findInside, type Found } from "./resolve.ts";
import { checkChangeable, keptOf, makeStep } from "./commit.ts";
import { itemName, trashDirectoryName } from "./trash_directory.ts";
import { walkTree } from "./scan.ts";

// * Takes entries of the disk workspace out of sight, into the trash or the staging directory. What was taken is looked at
// there, so that a version that another process has put in its place meanwhile is found, and put back.

/** How many names are tried for a version whose own name is taken again. */
const maxNamesTried = 100;
/** What was taken out of sight. */
interface Taken {
  /** Where it lies now. */
  readonly at: readonly string[];
  status(): DiskInfo | null;
  placeNew(to: DiskDirectory, newName: string): boolean;
  /** Where it cannot be put back: moves it to where no start removes it. */
  keep(): void;
  /** It is still there, or there again, under some name. */
  withdraw?(): void;
  /** Deletes it, where it is not kept: a file at once. */
  discard?(): void;
  finish?(): Promise<void>;
}

/** Takes what was found out of sight; puts back what had taken its place. */
function takeOut(disk: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  const isKept = disk.change !== null && disk.trash !== null && size.sizeBytes <= disk.trash.maxBytes;
  const taken = isKept ? takeIntoTrash(disk, found, size) : takeIntoStaging(disk, found);
  if (!taken.ok) return taken;
  const info = taken.value.status();
  if (info !== null && identityOf(info) === identityOf(found.info)) return taken;
  putBack(disk, taken.value, found);
  return changedMeanwhile;
}

function takeIntoStaging({ staging, change }: Disk, { directory, name, info, segments }: Found): Outcome<Taken> {
  const number = change?.next() ?? 0;
  change?.note(number, { op: "remove", path: segments.join("/"), kind: keptOf(info).kind, kept: null });
  const taken = staging.takeIn(directory, name, info);
  if (!taken.ok) {
    change?.withdraw(number);
    return taken;
  }
  return success({
    withdraw: () => change?.withdraw(number),
    at: [stagingDirectoryName, taken.value],
    status: () => staging.statusOf(taken.value),
    placeNew: (to, newName) => staging.placeNew(taken.value, to, newName),
    keep: () => staging.keep(taken.value),
    discard: () => staging.discard(taken.value),
    finish: () => staging.discardTree(taken.value),
  });
}

function takeIntoTrash({ staging, change, trash }: Disk, found: Found, size: TreeSize): Outcome<Taken> {
  if (change === null || trash === null) throw new TypeError("a change that keeps nothing");
  const number = change.next();
  const item = itemName(change.id, number);
  const kept = { ...keptOf(found.info), ...size };
  makeStep(change, number, { op: "remove", path: found.segments.join("/"), kind: kept.kind, kept }, () => {
    found.directory.rename(found.name, staging.trash(), item);
    return true;
  });
  trash.add(size.sizeBytes);
  return success({
    at: [stagingDirectoryName, trashDirectoryName, item],
    status: () => staging.trash().statusOf(item),
    placeNew: (to, newName) => staging.trash().renameNew(item, to, newName),
    keep: () => {},
    withdraw: () => change.withdraw(number),
  });
}

/** Puts an entry back under its name, or a free one like it; keeps it where its directory was replaced. */
function putBack(disk: Disk, taken: Taken, { segments, parent }: Pick<Found, "segments" | "parent">): void {
  const names = segments.slice(0, -1);
  const there = findInside(disk, { text: names.join("/"), segments: names });
  if (there.ok && isSame(there.value.info, parent) && there.value.info.isDirectory) {
    const { directory, name: ownName } = there.value;
    const place = ownName === "." ? directory : directory.enter(ownName);
    for (let number = 1; number <= maxNamesTried && place.isStillInside(); number++) {
      if (taken.placeNew(place, numberedName(segments.at(-1) ?? "", number))) return taken.withdraw?.();
    }
  }
  taken.keep();
}

interface TreeSize {
  readonly entries: number;
  readonly sizeBytes: number;
}

/** How long the entries of a directory are judged, before it is deleted and once more after. */
const maxJudgeMilliseconds = 20_000;

/** Says whether an entry is the one that is meant. */
export type Expects = (info: DiskInfo) => boolean;

interface RemoveOptions {
  readonly recursive?: boolean;
  /** For an undo: refuse as a conflict unless it is this one, which may be read-only. */
  readonly expects?: Expects;
}

/** Deletes the entry at `path`, a link itself, and with `recursive` what is below it. */
export async function removeDiskEntry(
  disk: Disk,
  path: WorkspacePath,
  { recursive = false, expects }: RemoveOptions = {},
): Promise<Outcome<{ readonly entries: number }>> {
  try {
    const found = disk.access.step(() => findExpected(disk, path, expects));
    if (!found.ok) return found;
    if (!found.value.info.isDirectory) return await removeFile(disk, path, expects);
    if (!recursive) return await removeEmpty(disk, path, expects);
    for (;;) {
      const removed = await removeTree(disk, path, found.value, expects === undefined);
      if (!isFull(removed) || !await disk.trash?.makeRoom(disk.change)) return removed;
    }
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function findExpected(disk: Disk, path: WorkspacePath, expects: Expects | undefined): Outcome<Found> {
  const found = findRemovable(disk, path);
  if (!found.ok) return found;
  if (expects !== undefined) return expects(found.value.info) ? found : failure({ reason: "conflict" });
  const changeable = checkChangeable(disk, found.value.segments, found.value.info);
  return changeable.ok ? found : changeable;
}

async function removeEmpty(
  disk: Disk,
  path: WorkspacePath,
  expects: Expects | undefined,
): Promise<Outcome<{ readonly entries: number }>> {
  const remove = (): Outcome<null> => {
    const found = findExpected(disk, path, expects);
    if (!found.ok) return found;
    const { directory, name, segments } = found.value;
    const number = disk.change?.next() ?? 0;
    const step = { op: "remove", path: segments.join("/"), kind: "directory", kept: null, empty: true } as const;
    makeStep(disk.change, number, step, () => {
      directory.removeDirectory(name);
      return true;
    });
    return success(null);
  };
  const removed = disk.change === null ? disk.access.step(remove) : await disk.staging.alone(remove);
  if (!removed.ok) return removed;
  disk.quota.add(0, -1);
  return success({ entries: 1 });
}

async function removeTree(
  disk: Disk,
  path: WorkspacePath,
  found: Found,
  keepsReadOnly: boolean,
): Promise<Outcome<{ readonly entries: number }>> {
  const { info, segments } = found;
  const judged = await judgeTree(disk, segments, segments, keepsReadOnly);
  if (!judged.ok) return judged;
  const taken = await attempt(disk, (): Outcome<Taken> => {
    const still = findRemovable(disk, path);
    if (!still.ok) return still;
    return isSame(still.value.info, info) ? takeOut(disk, still.value, judged.value) : changedMeanwhile;
  });
  if (!taken.ok) return taken;
  disk.quota.forget();
  // again: until it was out of sight, another process could move a protected entry into it
  let again: Outcome<TreeSize>;
  try {
    again = await judgeTree(disk, segments, taken.value.at);
    if (again.ok) await taken.value.finish?.();
  } catch (error) {
    again = failure(toRefusal(error));
  }
  if (!again.ok) disk.access.step(() => putBack(disk, taken.value, found)); // what is left of it
  return again.ok ? success({ entries: again.value.entries }) : again;
}

/** What is there and may be moved or deleted. */
export function findRemovable(disk: Disk, path: WorkspacePath): Outcome<Found> {
  const found = findInside(disk, path, "keep");
  if (!found.ok) return found;
  const { segments, directory } = found.value;
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (disk.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  return directory.isStillChangeable() ? found : changedMeanwhile;
}

async function removeFile(
  disk: Disk,
  path: WorkspacePath,
  expects: Expects | undefined,
): Promise<Outcome<{ readonly entries: number }>> {
  const remove = (): Outcome<Found> => {
    const found = findExpected(disk, path, expects);
    if (!found.ok) return found;
    if (found.value.info.isDirectory) return changedMeanwhile;
    const taken = takeOut(disk, found.value, { sizeBytes: found.value.info.size, entries: 1 });
    if (taken.ok) taken.value.discard?.();
    return taken.ok ? found : taken;
  };
  let removed = await attempt(disk, remove);
  while (isFull(removed) && await disk.trash?.makeRoom(disk.change)) removed = await attempt(disk, remove);
  if (isFull(removed)) removed = disk.access.step(() => removeInPlace(disk, path, expects));
  if (!removed.ok) return removed;
  const { info } = removed.value;
  disk.quota.add(info.isFile ? -info.size : 0, -1);
  return success({ entries: 1 });
}

function isFull(outcome: Outcome<unknown>): boolean {
  return !outcome.ok && outcome.error.reason === "no_space";
}

async function attempt<T>(disk: Disk, remove: () => Outcome<T>): Promise<Outcome<T>> {
  try {
    return await disk.staging.alone(remove);
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/** On a disk without room even for the staging directory: makes some. */
function removeInPlace(disk: Disk, path: WorkspacePath, expects: Expects | undefined): Outcome<Found> {
  const found = findExpected(disk, path, expects);
  if (!found.ok) return found;
  if (found.value.info.isDirectory) return changedMeanwhile;
  found.value.directory.removeFile(found.value.name);
  return found;
}

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
    if (below.isForeign) return failure({ reason: "denied", because: "other_file_system" });
    if (rules.isDenied(below.segments)) return failure({ reason: "denied", because: "denied_name" });
    if (rules.isProtected(below.segments)) return failure({ reason: "denied", because: "protected_name" });
    if (keepsReadOnly) {
      const changeable = checkChangeable(disk, below.segments, below.info);
      if (!changeable.ok) return changeable;
    }
    if (below.info.isFile) sizeBytes += below.info.size;
  }
  return success({ entries, sizeBytes });
}
