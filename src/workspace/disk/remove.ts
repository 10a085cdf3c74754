/**
 * Deletes entries of the disk workspace. What is deleted is first taken out of sight and looked at there, so that a
 * version that another process has put in its place meanwhile is found, and put back instead of being destroyed.
 */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { identityOf, isSame } from "./directory.ts";
import { toRefusal } from "./refusal.ts";
import { findInside, type Found } from "./resolve.ts";
import { walkTree } from "./tree.ts";
import { numberedName } from "../numbered_name.ts";
import { stagingDirectoryName, type WorkspacePath } from "../path.ts";
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
    const found = disk.access.step(() => {
      const there = findRemovable(disk, path);
      if (!there.ok || !there.value.info.isDirectory || recursive) return there;
      there.value.directory.removeDirectory(there.value.name);
      return there;
    });
    if (!found.ok) return found;
    const { info, segments } = found.value;
    if (!info.isDirectory) return removeFile(disk, path);
    if (!recursive) {
      disk.quota.add(0, -1);
      return success({ entries: 1 });
    }
    const judged = await judgeTree(disk, segments);
    if (!judged.ok) return judged;
    const taken = disk.staging.alone(() => {
      const still = findRemovable(disk, path);
      if (!still.ok) return still;
      return isSame(still.value.info, info) ? takeOut(disk, still.value) : changedMeanwhile;
    });
    if (!taken.ok) return taken;
    disk.quota.forget();
    // again: until it was out of sight, another process could move a protected entry into it
    const again = await judgeTree(disk, segments, [stagingDirectoryName, taken.value]);
    if (!again.ok) {
      disk.access.step(() => putBack(disk, taken.value, found.value));
      return again;
    }
    await disk.staging.discardTree(taken.value);
    return success(again.value);
  } catch (error) {
    return failure(toRefusal(error));
  }
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

function removeFile(disk: Disk, path: WorkspacePath): Outcome<{ readonly entries: number }> {
  const remove = (): Outcome<Found> => {
    const found = findRemovable(disk, path);
    if (!found.ok) return found;
    if (found.value.info.isDirectory) return changedMeanwhile;
    const taken = takeOut(disk, found.value);
    if (taken.ok) disk.staging.discard(taken.value);
    else if (taken.error.reason === "no_space") return removeInPlace(disk, path);
    else return taken;
    return found;
  };
  let removed: Outcome<Found>;
  try {
    removed = disk.staging.alone(remove);
  } catch (error) {
    if (toRefusal(error).reason !== "no_space") throw error;
    removed = disk.access.step(() => removeInPlace(disk, path));
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
  found.value.directory.removeFile(found.value.name);
  return found;
}

/** Takes what was found out of sight and gives its name there; puts back what had taken its place. */
function takeOut(disk: Disk, found: Found): Outcome<string> {
  const taken = disk.staging.takeIn(found.directory, found.name, found.info);
  if (!taken.ok) return taken;
  const info = disk.staging.statusOf(taken.value);
  if (info !== null && identityOf(info) === identityOf(found.info)) return taken;
  putBack(disk, taken.value, found);
  return changedMeanwhile;
}

/** Puts an entry back under its name, or a free one like it; keeps it in staging where its directory was replaced. */
function putBack(disk: Disk, taken: string, { segments, parent }: Pick<Found, "segments" | "parent">): void {
  const names = segments.slice(0, -1);
  const there = findInside(disk, { text: names.join("/"), segments: names });
  if (there.ok && isSame(there.value.info, parent) && there.value.info.isDirectory) {
    const { directory, name: ownName } = there.value;
    const place = ownName === "." ? directory : directory.enter(ownName);
    for (let number = 1; number <= maxNamesTried && place.isStillInside(); number++) {
      if (disk.staging.placeNew(taken, place, numberedName(segments.at(-1) ?? "", number))) return;
    }
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
  for await (const below of walkTree(disk.access, segments, { at })) {
    if (++entries > maxTreeEntries) return failure({ reason: "too_many_entries", limit: maxTreeEntries });
    if (below.isForeign) return failure({ reason: "denied", because: "other_file_system" });
    if (disk.rules.isDenied(below.segments)) return failure({ reason: "denied", because: "denied_name" });
    if (disk.rules.isProtected(below.segments)) return failure({ reason: "denied", because: "protected_name" });
  }
  return success({ entries });
}
