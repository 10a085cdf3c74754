/**
 * Puts a staged file in its place. From the last check to the rename nothing gives up control, so callers in this
 * process cannot come between; the rename itself shows other processes the old file or the new.
 */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { type DiskDirectory, type DiskInfo, isSame, versionOf } from "./directory.ts";
import { toRefusal } from "./refusal.ts";
import { resolveInside } from "./resolve.ts";
import type { StagedFile } from "./staging.ts";
import { type NewContent, placeRecorded, replaceKeeping } from "./keep.ts";
import { checkNewNames } from "../workspace/new_names.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";

/** The place of a file that is to be written. */
export interface Target {
  /** The resolved names of the file; some of its directories may be missing. */
  readonly segments: readonly string[];
  /** The deepest directory on the way that is there, good until the step ends. */
  readonly directory: DiskDirectory;
  /** The names below {@link directory}: of the file alone, or of missing directories and the file. */
  readonly names: readonly string[];
  /** The file that is there, or `null`. */
  readonly info: DiskInfo | null;
}

/** What a write expects of its target. */
export interface Expectation {
  /** The resolved names that the writer has reserved. */
  readonly segments: readonly string[];
  /** The file of this version is there; `null`: nothing is; `undefined`: either. */
  readonly version?: string | null | undefined;
}

const writeBits = 0o222;
const setGroupId = 0o2000;
const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** Finds where a file would be written, and refuses what may not be written. Changes nothing. */
export function findTarget(disk: Disk, path: WorkspacePath): Outcome<Target> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  const { directory, segments } = resolved.value;
  if (!resolved.value.found) {
    const { missing: names } = resolved.value;
    const target = { segments: [...segments, ...names], directory, names, info: null };
    const checked = checkNewNames(disk.rules, target.segments, segments.length);
    return checked.ok ? success(target) : checked;
  }
  const { info, name } = resolved.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  const changeable = checkChangeable(disk, segments, info);
  return changeable.ok ? success({ segments, directory, names: [name], info }) : changeable;
}

/** Refuses to change, replace or delete what is protected, and files without a write bit. */
export function checkChangeable({ rules }: Disk, segments: readonly string[], info: DiskInfo): Outcome<null> {
  if (rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  // a rename needs no permission on the file itself; someone who took the write bits away meant it
  const isReadOnly = info.isFile && info.mode !== null && (info.mode & writeBits) === 0;
  return isReadOnly ? failure({ reason: "denied", because: "read_only" }) : success(null);
}

/** Puts the staged file at `path`, if that still is as expected; says whether this made a new file. */
export function commitFile(
  disk: Disk,
  path: WorkspacePath,
  staged: StagedFile,
  content: NewContent,
  expected: Expectation,
): Outcome<{ readonly created: boolean }> {
  const { sizeBytes } = content;
  const target = findTarget(disk, path); // again: it may have changed while the content was written
  if (!target.ok) return target;
  const { segments, directory, names, info } = target.value;
  if (segments.join("/") !== expected.segments.join("/")) return changedMeanwhile; // a link on the way leads elsewhere now
  if (expected.version === null && info !== null) return failure({ reason: "already_exists" });
  if (typeof expected.version === "string" && (info === null || versionOf(info) !== expected.version)) {
    return failure({ reason: "conflict" });
  }
  const growth = sizeBytes - (info?.size ?? 0);
  const newEntries = info === null ? names.length : 0;
  const room = disk.quota.check(growth, newEntries);
  if (!room.ok) return room;
  const parent = makeParents(directory, names.slice(0, -1));
  if (!parent.ok) return parent;
  const name = names.at(-1) ?? "";
  const place = { parent: parent.value, name, path: segments.join("/"), made: names.length - 1 };
  if (info === null) {
    takeGroup(disk, staged, parent.value.status());
    const placed = placeRecorded(disk, staged, place, content);
    if (!placed.ok) return placed;
  } else {
    // right before the rename, which replaces whatever another process has put there
    const there = parent.value.statusOf(name);
    if (expected.version !== undefined && (there === null || versionOf(there) !== expected.version)) {
      return failure({ reason: "conflict" });
    }
    const placed = replaceKeeping(disk, staged, place, content, info);
    if (!placed.ok) return placed;
  }
  const after = parent.value.statusOf(name);
  if (after === null || !isSame(after, staged.file.info) || !parent.value.isStillInside(name)) return changedMeanwhile;
  disk.quota.add(growth, newEntries);
  disk.change?.leftAt.set(place.path, versionOf(after));
  return success({ created: info === null });
}

/** Gives a new file the group of a directory with the set-group-ID bit, as one gets that is made there. */
function takeGroup({ staging }: Disk, { name, file: { info } }: StagedFile, { mode, gid }: DiskInfo): void {
  if (((mode ?? 0) & setGroupId) === 0 || gid === null || info.uid === null || gid === info.gid) return;
  const file = staging.openStaged(name);
  try {
    file.setOwner(info.uid, gid);
  } catch (error) {
    toRefusal(error); // the group is another's: the file keeps the server's
  } finally {
    file.close();
  }
}

/** Makes directories with these names, each in the one before, and gives the last one. */
export function makeParents(directory: DiskDirectory, names: readonly string[]): Outcome<DiskDirectory> {
  let last = directory;
  for (const name of names) {
    if (!last.isStillChangeable()) return changedMeanwhile;
    last.makeDirectory(name);
    last = last.enter(name);
  }
  return last.isStillChangeable() ? success(last) : changedMeanwhile;
}
