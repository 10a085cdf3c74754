/**
 * Resolves a workspace path on the disk one name at a time, each as its directory lists it, following links only as long
 * as every step of them stays inside. It never looks at anything outside, so no answer can depend on what is there: a
 * link that leaves is refused whether its target exists or not.
 */
import type { AccessRules } from "../workspace/access_rules.ts";
import { type DiskAccess, type DiskDirectory, type DiskInfo, isForeign } from "./directory.ts";
import type { createDirectoryNames, createDirectoryScans, SeenDirectory } from "./scan.ts";
import type { createDiskQuota, createInnerLinks } from "./tree.ts";
import type { Staging } from "./staging.ts";
import type { DiskChange, DiskTrash } from "./disk_trash.ts";
import type { KeyedMutex } from "../workspace/change.ts";
import { denied, type Outcome, type WorkspaceLimits } from "../workspace/port.ts";
import { failure, success } from "../../lib/result.ts";
import { isReserved, maxPathNames, type WorkspacePath } from "../workspace/path.ts";

/** What every operation of a disk workspace works with. */
export interface Disk {
  /** The real path of the workspace's directory, without a slash at its end. */
  readonly path: string;
  readonly access: DiskAccess;
  readonly rules: AccessRules;
  readonly limits: WorkspaceLimits;
  readonly innerLinks: ReturnType<typeof createInnerLinks>;
  readonly scans: ReturnType<typeof createDirectoryScans>;
  readonly names: ReturnType<typeof createDirectoryNames>;
  readonly staging: Staging;
  readonly quota: ReturnType<typeof createDiskQuota>;
  /** What keeps what is replaced; `null`: nothing does. */
  readonly trash: DiskTrash | null;
  /** The current change; `null`: each operation is a separate change. */
  readonly change: DiskChange | null;
  /** One writer at a time for each file, by its resolved path. */
  readonly writers: KeyedMutex;
}

/** Where a path leads. */
export interface Resolved {
  /** The deepest directory on the way that is there, good until the step ends; of the root, the root itself. */
  readonly directory: DiskDirectory;
  /** {@link directory} as it was. */
  readonly parent: DiskInfo;
  /** The names below {@link directory}: of the entry alone, or those that are missing; `.` for the root. */
  readonly names: readonly string[];
  /** The last of {@link names}. */
  readonly name: string;
  /** All names below the root, those that are missing too. */
  readonly segments: readonly string[];
  /** The entry, or `null` when there is none. */
  readonly info: DiskInfo | null;
}

/** An entry that is there. */
export type Found = Resolved & { readonly info: DiskInfo };

/** Whether a link at the very end of the path is followed, or is itself what is wanted. */
type LastLink = "follow" | "keep";

const maxLinks = 40; // as Linux counts them (path_resolution(7))
const maxSteps = 4 * maxPathNames; // links may lead through long paths

/** Like {@link resolveInside}, for what must be there. */
export function findInside(disk: Disk, path: WorkspacePath, lastLink: LastLink = "follow"): Outcome<Found> {
  const resolved = resolveInside(disk, path, lastLink);
  if (!resolved.ok) return resolved;
  const { info } = resolved.value;
  return info === null ? failure({ reason: "not_found" }) : success({ ...resolved.value, info });
}

/** Walks `path` from the root. Every step is on the root's device and mount, and none is denied by the rules. */
export function resolveInside(
  { access, path, rules, names }: Disk,
  { segments }: WorkspacePath,
  lastLink: LastLink = "follow",
): Outcome<Resolved> {
  const root = access.root();
  // the root, or a directory above it, may have been swapped for another since it was opened
  if (root === null) return denied("workspace_replaced");
  const top: SeenDirectory = { directory: root, info: root.status() };
  const pending = segments.toReversed();
  const inside: string[] = [];
  /** The directories that lead to the last of `inside`. */
  const places = [top];
  /** What the last of `inside` names, unless it was entered. */
  let entry: DiskInfo | null = null;
  let links = 0;
  let steps = 0;
  let name: string | undefined;
  while ((name = pending.pop()) !== undefined) {
    if (++steps > maxSteps) return denied("link_loop");
    if (entry !== null && !entry.isDirectory) return failure({ reason: "not_a_directory" });
    if (name === "" || name === ".") continue; // only the targets of links hold these
    if (name === "..") {
      if (inside.pop() === undefined) return denied("outside_link");
      if (entry === null) places.pop();
      entry = null;
      continue;
    }
    if (entry !== null) places.push({ directory: lastOf(places).directory.enter(lastOf(inside)), info: entry });
    entry = null;
    inside.push(name);
    if (isReserved(inside)) return denied("reserved");
    if (rules.isDenied(inside)) return denied("denied_name");
    const here = lastOf(places);
    const next = here.directory.statusOf(name);
    if (next === null) return missing(here, inside, pending);
    if (isForeign(top.info, next)) return denied("other_file_system");
    const listed = names.listedAs(here, name, next);
    if (listed !== name) {
      if (listed === null) return denied("other_name");
      inside[inside.length - 1] = listed;
      if (isReserved(inside)) return denied("reserved");
      if (rules.isDenied(inside)) return denied("denied_name");
    }
    if (!next.isSymlink || (lastLink === "keep" && links === 0 && pending.length === 0)) {
      entry = next;
      continue;
    }
    if (++links > maxLinks) return denied("link_loop");
    inside.pop();
    const target = here.directory.readLink(name);
    if (target === null) return denied("unreadable_link");
    let way = target;
    if (isAbsolute(target)) {
      // with the separator: a sibling whose name starts like the root is not below it (CVE-2025-53110)
      if (target !== path && !target.startsWith(`${path}/`)) return denied("outside_link");
      way = target.slice(path.length);
      inside.length = 0;
      places.length = 1;
    }
    pending.push(...way.split("/").reverse());
  }
  const last = lastOf(places);
  if (entry !== null) return success(entryAt(last, [lastOf(inside)], inside, entry));
  if (places.length === 1) return success(entryAt(top, ["."], inside, top.info));
  return success(entryAt(places.at(-2) ?? top, [lastOf(inside)], inside, last.info));
}

function entryAt(
  { directory, info: parent }: SeenDirectory,
  names: readonly string[],
  segments: readonly string[],
  info: DiskInfo | null,
): Resolved {
  return { directory, parent, names, name: lastOf(names), segments, info };
}

function lastOf<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new TypeError("the walk left the root");
  return last;
}

function missing(here: SeenDirectory, inside: readonly string[], pending: readonly string[]): Outcome<Resolved> {
  const rest = pending.filter((step) => step !== "" && step !== ".").reverse();
  // a link to `new/` or to `new/../old` names something that must be there: nothing can be created through it
  const isCreatable = pending[0] !== "" && pending[0] !== "." && !rest.includes("..");
  if (!isCreatable) return failure({ reason: "not_found" });
  return success(entryAt(here, [lastOf(inside), ...rest], [...inside, ...rest], null));
}

function isAbsolute(target: string): boolean {
  return target.startsWith("/") || (Deno.build.os === "windows" && /^[A-Za-z]:/.test(target));
}
