/**
 * Puts a staged file in its place. From the last check to the rename nothing gives up control, so callers in this
 * process cannot come between; the rename itself shows other processes the old file or the new.
 */
import { linkSync } from "node:fs";
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { versionOf } from "./open.ts";
import { errorCode } from "./refusal.ts";
import { absolutePath, isSame, lstatOrNull, makeDirectory } from "./entry.ts";
import { isStillChangeable, isStillInside, resolveInside } from "./resolve.ts";
import { removeIfThere, type StagedFile } from "./staging.ts";
import { checkNewNames } from "../new_names.ts";
import type { WorkspacePath } from "../path.ts";
import type { Outcome } from "../port.ts";

/** The place of a file that is to be written. */
export interface Target {
  /** The resolved names of the file; some of its directories may be missing. */
  readonly segments: readonly string[];
  /** How many of the names are there. */
  readonly existing: number;
  /** The file that is there, or `null`. */
  readonly info: Deno.FileInfo | null;
}

/** What a write expects of its target. */
export interface Expectation {
  /** The resolved names that the writer has reserved. */
  readonly segments: readonly string[];
  /** The file of this version is there; `null`: nothing is; `undefined`: either. */
  readonly version?: string | null | undefined;
}

const writeBits = 0o222;
const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

/** Finds where a file would be written, and refuses what may not be written. Changes nothing. */
export function findTarget(disk: Disk, path: WorkspacePath): Outcome<Target> {
  const resolved = resolveInside(disk, path);
  if (!resolved.ok) return resolved;
  const { segments } = resolved.value;
  if (!resolved.value.found) {
    const target = { segments: [...segments, ...resolved.value.missing], existing: segments.length, info: null };
    const checked = checkNewNames(disk.rules, target.segments, target.existing);
    return checked.ok ? success(target) : checked;
  }
  const { info } = resolved.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  if (disk.rules.isProtected(segments)) return failure({ reason: "denied", because: "protected_name" });
  // a rename needs no permission on the file itself; someone who took the write bits away meant it
  if (info.mode !== null && (info.mode & writeBits) === 0) return failure({ reason: "denied", because: "read_only" });
  return success({ segments, existing: segments.length, info });
}

/** Puts the staged file of `sizeBytes` at `path`, if that still is as expected; says whether this made a new file. */
export function commitFile(
  disk: Disk,
  path: WorkspacePath,
  staged: StagedFile,
  sizeBytes: number,
  expected: Expectation,
): Outcome<{ readonly created: boolean }> {
  const target = findTarget(disk, path); // again: it may have changed while the content was written
  if (!target.ok) return target;
  const { segments, existing, info } = target.value;
  if (segments.join("/") !== expected.segments.join("/")) {
    return failure({ reason: "denied", because: "changed_while_opening" }); // a link on the way leads elsewhere now
  }
  if (expected.version === null && info !== null) return failure({ reason: "already_exists" });
  if (typeof expected.version === "string" && (info === null || versionOf(info) !== expected.version)) {
    return failure({ reason: "conflict" });
  }
  const growth = sizeBytes - (info?.size ?? 0);
  const newEntries = segments.length - existing;
  const room = disk.quota.check(growth, newEntries);
  if (!room.ok) return room;
  const parents = makeParents(disk, segments.slice(0, -1), Math.min(existing, segments.length - 1));
  if (!parents.ok) return parents;
  const final = absolutePath(disk.root, segments);
  const content = Deno.lstatSync(staged.path);
  if (info === null) {
    if (!placeNew(staged.path, final)) return failure({ reason: "already_exists" });
  } else {
    // right before the rename, which replaces whatever another process has put there
    const there = lstatOrNull(final);
    if (expected.version !== undefined && (there === null || versionOf(there) !== expected.version)) {
      return failure({ reason: "conflict" });
    }
    Deno.renameSync(staged.path, final);
  }
  const after = lstatOrNull(final);
  if (after === null || !isSame(after, content.dev, content.ino) || !isStillInside(disk, final)) {
    return failure({ reason: "denied", because: "changed_while_opening" });
  }
  disk.quota.add(growth, newEntries);
  return success({ created: info === null });
}

/** Makes the directories after the first `existing` names, and checks that the last one is inside. */
export function makeParents(disk: Disk, segments: readonly string[], existing: number): Outcome<null> {
  for (let count = existing + 1; count <= segments.length; count++) {
    if (!isStillChangeable(disk, absolutePath(disk.root, segments.slice(0, count - 1)))) return changedMeanwhile;
    makeDirectory(absolutePath(disk.root, segments.slice(0, count)));
  }
  const parent = absolutePath(disk.root, segments);
  const info = lstatOrNull(parent);
  if (info === null || !info.isDirectory || info.dev !== disk.root.device || !isStillChangeable(disk, parent)) {
    return changedMeanwhile;
  }
  return success(null);
}

/** Gives an entry a new name unless there is something of that name, which another process may make at any moment. */
export function placeNew(from: string, to: string): boolean {
  if (Deno.lstatSync(from).isFile) {
    try {
      linkSync(from, to);
      removeIfThere(from);
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      // a file system without hard links
    }
  }
  if (lstatOrNull(to) !== null) return false;
  Deno.renameSync(from, to);
  return true;
}
