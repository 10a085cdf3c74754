/**
 * Deletes entries of the disk workspace. What is deleted is first taken out of sight and looked at there, so that a
 * version that another process has put in its place meanwhile is found, and put back instead of being destroyed.
 */
import { rmdirSync } from "node:fs";
import { failure, success } from "../../lib/result.ts";
import { placeNew } from "./commit.ts";
import type { Disk } from "./context.ts";
import { toRefusal } from "./refusal.ts";
import { isSame, lstatOrNull } from "./entry.ts";
import { findInside, type Found, isStillChangeable, isStillInside } from "./resolve.ts";
import { identityOf, removeIfThere } from "./staging.ts";
import { walkTree } from "./tree.ts";
import { numberedName } from "../numbered_name.ts";
import type { WorkspacePath } from "../path.ts";
import type { Outcome } from "../port.ts";

const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);
/** How many names are tried for a version whose own name is taken again. */
const maxNamesTried = 100;

/** Deletes the entry at `path`, a link itself, and with `recursive` what is below it. */
export async function removeDiskEntry(
  disk: Disk,
  path: WorkspacePath,
  { recursive = false }: { readonly recursive?: boolean } = {},
): Promise<Outcome<{ readonly entries: number }>> {
  try {
    const found = findRemovable(disk, path);
    if (!found.ok) return found;
    const { info } = found.value;
    if (!info.isDirectory) return removeFile(disk, path);
    if (!recursive) {
      rmdirSync(found.value.path); // which removes nothing but an empty directory, whatever is there by now
      disk.quota.add(0, -1);
      return success({ entries: 1 });
    }
    const judged = await judgeTree(disk, found.value.segments);
    if (!judged.ok) return judged;
    const taken = disk.staging.alone(() => {
      const still = findRemovable(disk, path);
      if (!still.ok) return still;
      return isSame(still.value.info, info.dev, info.ino) ? takeOut(disk, still.value) : changedMeanwhile;
    });
    if (!taken.ok) return taken;
    disk.quota.forget();
    // again: until it was out of sight, another process could move a protected entry into it
    const name = taken.value.slice(taken.value.lastIndexOf("/") + 1);
    const again = await judgeTree(disk, found.value.segments, [...disk.staging.segments, name]);
    if (!again.ok) {
      putBack(disk, taken.value, found.value);
      return again;
    }
    await Deno.remove(taken.value, { recursive: true });
    return success(again.value);
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/** What is there and may be moved or deleted. */
export function findRemovable(disk: Disk, path: WorkspacePath): Outcome<Found> {
  const found = findInside(disk, path, "keep");
  if (!found.ok) return found;
  const { segments, path: absolute } = found.value;
  if (segments.length === 0) return failure({ reason: "is_root" });
  if (disk.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  return isStillChangeable(disk, parentOf(absolute)) ? found : changedMeanwhile;
}

function removeFile(disk: Disk, path: WorkspacePath): Outcome<{ readonly entries: number }> {
  const remove = (): Outcome<Found> => {
    const found = findRemovable(disk, path);
    if (!found.ok) return found;
    if (found.value.info.isDirectory) return changedMeanwhile;
    const taken = takeOut(disk, found.value);
    if (taken.ok) removeIfThere(taken.value);
    else if (taken.error.reason === "no_space") return removeInPlace(disk, path);
    else return taken;
    return found;
  };
  let removed: Outcome<Found>;
  try {
    removed = disk.staging.alone(remove);
  } catch (error) {
    if (toRefusal(error).reason !== "no_space") throw error;
    removed = removeInPlace(disk, path);
  }
  if (!removed.ok) return removed;
  const { info } = removed.value;
  disk.quota.add(info.isFile ? -info.size : 0, -1);
  return success({ entries: 1 });
}

/** On a disk without room even for the staging directory: makes some. */
function removeInPlace(disk: Disk, path: WorkspacePath): Outcome<Found> {
  const found = findRemovable(disk, path);
  if (!found.ok) return found;
  if (found.value.info.isDirectory) return changedMeanwhile;
  Deno.removeSync(found.value.path);
  return found;
}

/**
 * Takes what was found out of sight and gives its new path; puts back what had taken its place. Where the workspace is
 * a file system of its own, nothing outside can be taken, whatever leads there by now.
 */
function takeOut(disk: Disk, found: Found): Outcome<string> {
  const taken = disk.staging.takeIn(found.path, found.info);
  if (!taken.ok || identityOf(Deno.lstatSync(taken.value)) === identityOf(found.info)) return taken;
  putBack(disk, taken.value, found);
  return changedMeanwhile;
}

/** Puts an entry back under its name, or a free one like it; keeps it in staging where its directory was replaced. */
function putBack(disk: Disk, taken: string, { path, segments, parent }: Found): void {
  const directory = parentOf(path);
  const there = lstatOrNull(directory);
  const isSameDirectory = there !== null && isSame(there, parent.dev, parent.ino) && isStillInside(disk, directory);
  for (let number = 1; isSameDirectory && number <= maxNamesTried; number++) {
    const name = numberedName(segments.at(-1) ?? "", number);
    if (placeNew(taken, `${directory}/${name}`)) return;
  }
  disk.staging.keep(taken);
}

/** Refuses a tree that holds what may not be deleted; `at`: where it lies now, if it was taken out of its place. */
async function judgeTree(
  disk: Disk,
  segments: readonly string[],
  at: readonly string[] = segments,
): Promise<Outcome<{ readonly entries: number }>> {
  const { maxTreeEntries } = disk.limits;
  let entries = 1;
  for await (const below of walkTree(disk.root, segments, { at })) {
    if (++entries > maxTreeEntries) return failure({ reason: "too_many_entries", limit: maxTreeEntries });
    if (below.isForeign) return failure({ reason: "denied", because: "other_file_system" });
    if (disk.rules.isDenied(below.segments)) return failure({ reason: "denied", because: "denied_name" });
    if (disk.rules.isProtected(below.segments)) return failure({ reason: "denied", because: "protected_name" });
  }
  return success({ entries });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
