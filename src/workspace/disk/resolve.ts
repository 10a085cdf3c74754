/**
 * Resolves a workspace path on the disk one name at a time, each as its directory lists it, following links only as long
 * as every step of them stays inside. It never looks at anything outside, so no answer can depend on what is there: a link that leaves is refused
 * whether its target exists or not.
 */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { absolutePath, type DiskRoot, isSame, lstatOrNull, realPathOf, withSlashes } from "./entry.ts";
import { toRefusal } from "./refusal.ts";
import { isReserved, maxPathNames, type WorkspacePath } from "../path.ts";
import type { DenialCause, Outcome } from "../port.ts";

/** Where a path leads: an entry that is there, or the deepest directory there and the names missing below it. */
type Resolved =
  | {
    readonly found: true;
    readonly path: string;
    readonly segments: readonly string[];
    readonly info: Deno.FileInfo;
    /** The directory that it was found in; of the root, the root itself. */
    readonly parent: Deno.FileInfo;
  }
  | { readonly found: false; readonly segments: readonly string[]; readonly missing: readonly string[] };

/** An entry that is there. */
export type Found = Extract<Resolved, { readonly found: true }>;

/** Whether a link at the very end of the path is followed, or is itself what is wanted. */
type LastLink = "follow" | "keep";

const maxLinks = 40; // as Linux counts them (path_resolution(7))
const maxSteps = 4 * maxPathNames; // links may lead through long paths

/** Walks `path` from the root. Every step is on the root's device and none is denied by the rules. */
export function resolveInside(disk: Disk, path: WorkspacePath, lastLink: LastLink = "follow"): Outcome<Resolved> {
  try {
    return walk(disk, path.segments, lastLink);
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/** Like {@link resolveInside}, for what must be there. */
export function findInside(disk: Disk, path: WorkspacePath, lastLink: LastLink = "follow"): Outcome<Found> {
  const resolved = resolveInside(disk, path, lastLink);
  if (!resolved.ok) return resolved;
  return resolved.value.found ? success(resolved.value) : failure({ reason: "not_found" });
}

function walk({ root, rules, names }: Disk, segments: readonly string[], lastLink: LastLink): Outcome<Resolved> {
  let info = Deno.lstatSync(root.path);
  // the root, or a directory above it, may have been swapped for another since it was opened
  if (!isSame(info, root.device, root.inode) || !info.isDirectory) return denied("workspace_replaced");
  let parent = info;
  const pending = segments.toReversed();
  const inside: string[] = [];
  let links = 0;
  let steps = 0;
  let name: string | undefined;
  while ((name = pending.pop()) !== undefined) {
    if (++steps > maxSteps) return denied("link_loop");
    if (!info.isDirectory) return failure({ reason: "not_a_directory" });
    if (name === "" || name === ".") continue; // only the targets of links hold these
    if (name === "..") {
      if (inside.pop() === undefined) return denied("outside_link");
      info = Deno.lstatSync(absolutePath(root, inside));
      parent = Deno.lstatSync(absolutePath(root, inside.slice(0, -1)));
      continue;
    }
    inside.push(name);
    if (isReserved(inside)) return denied("reserved");
    if (rules.isDenied(inside)) return denied("denied_name");
    const path = absolutePath(root, inside);
    const next = lstatOrNull(path);
    if (next === null) return missing(inside, pending);
    if (next.dev !== root.device) return denied("other_file_system");
    const listed = names.listedAs(path, name, next, info);
    if (listed !== name) {
      if (listed === null) return denied("other_name");
      inside[inside.length - 1] = listed;
      if (isReserved(inside)) return denied("reserved");
      if (rules.isDenied(inside)) return denied("denied_name");
    }
    if (!next.isSymlink || (lastLink === "keep" && links === 0 && pending.length === 0)) {
      parent = info;
      info = next;
      continue;
    }
    if (++links > maxLinks) return denied("link_loop");
    inside.pop();
    const target = readLink(path);
    if (target === null) return denied("unreadable_link");
    let way = target;
    if (isAbsolute(target)) {
      if (!isAtOrBelow(root.path, target)) return denied("outside_link");
      way = target.slice(root.path.length);
      inside.length = 0;
      info = parent = Deno.lstatSync(root.path);
    }
    pending.push(...way.split("/").reverse());
  }
  return success({ found: true, path: absolutePath(root, inside), segments: inside, info, parent });
}

/** Whether the real path of `path` still is the root or below it, not in the staging directory and not denied. */
export function isStillInside({ root, rules }: Disk, path: string): boolean {
  const real = realPathOf(path);
  if (!isAtOrBelow(root.path, real)) return false;
  const segments = namesBelow(root, real);
  return !isReserved(segments) && !rules.isDenied(segments);
}

/** The same for a directory whose entries are to change: it is not protected either. */
export function isStillChangeable(disk: Disk, path: string): boolean {
  return isStillInside(disk, path) && !disk.rules.isProtected(namesBelow(disk.root, realPathOf(path)));
}

function missing(inside: string[], pending: readonly string[]): Outcome<Resolved> {
  const name = inside.pop();
  const rest = pending.filter((step) => step !== "" && step !== ".").reverse();
  // a link to `new/` or to `new/../old` names something that must be there: nothing can be created through it
  const isCreatable = pending[0] !== "" && pending[0] !== "." && !rest.includes("..");
  if (name === undefined || !isCreatable) return failure({ reason: "not_found" });
  return success({ found: false, segments: inside, missing: [name, ...rest] });
}

function readLink(path: string): string | null {
  try {
    const target = withSlashes(Deno.readLinkSync(path));
    return target.includes("\ufffd") ? null : target; // may stand for bytes that are not UTF-8
  } catch (error) {
    if (error instanceof Deno.errors.InvalidData) return null;
    throw error;
  }
}

function namesBelow(root: DiskRoot, path: string): readonly string[] {
  return path.slice(root.path.length + 1).split("/");
}

function isAbsolute(target: string): boolean {
  return target.startsWith("/") || (Deno.build.os === "windows" && /^[A-Za-z]:/.test(target));
}

function isAtOrBelow(root: string, path: string): boolean {
  // with the separator: a sibling whose name starts like the root is not below it (CVE-2025-53110)
  return path === root || path.startsWith(`${root}/`);
}

function denied(because: DenialCause): Outcome<never> {
  return failure({ reason: "denied", because });
}
