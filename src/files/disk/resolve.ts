/**
 * Resolves a workspace path on the disk one name at a time, each as its directory lists it, following links only as long
 * as every step of them stays inside. It never looks at anything outside, so no answer can depend on what is there: a
 * link that leaves is refused whether its target exists or not. Beneath: what is kept in memory of directories' names.
 */
import type { AccessRules } from "../workspace/access_rules.ts";
import { isForeign, isSame } from "./directory.ts";
import type { DiskAccess, DiskDirectory, DiskInfo, DiskListing } from "./directory.ts";
import type { createDiskQuota, createInnerLinks } from "./tree.ts";
import type { DiskChange, DiskTrash, Staging } from "./staging.ts";
import type { KeyedMutex } from "../../lib/turns.ts";
import { denied, type DirectoryEntry, type Outcome, type WorkspaceLimits } from "../workspace/port.ts";
import { failure, success } from "../../lib/result.ts";
import { compareNames, foldName, isReserved, maxPathNames, type WorkspacePath } from "../workspace/path.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Clock } from "../../lib/time.ts";

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
    const isAbsolute = target.startsWith("/") || (Deno.build.os === "windows" && /^[A-Za-z]:/.test(target));
    if (isAbsolute) {
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

// * The names in directories of the disk workspace, sorted, and kept for a while: a long directory is listed page by
// page, and reading all of it again for each page costs more than everything else. What is kept counts only as long as
// the directory has not been changed since.

/** Which entries of a directory are asked for. */
interface ScanOptions {
  /** The key that it is kept under. */
  readonly path: string;
  /** Only names after this one. */
  readonly after: string | undefined;
  /** How many. */
  readonly size: number;
  /** Which names there are for callers; what it says of a name must not change. */
  accepts(name: string): boolean;
}

const largestSynchronousDirectory = 512 * 1024; // bytes of the directory itself: some 20,000 entries, some 20 ms
/** A file system may tell times no finer than this (FAT): within it, a second change would not show. */
const timeGrainMilliseconds = 2_000;

/** How many directories and entries are kept in memory, all together; about 100 bytes each. */
const maxEntries = 32_768;

/** Makes the memory of one workspace. */
export function createDirectoryScans(clock: Clock, maxKeptEntries = maxEntries) {
  const kept = boundedMap<string, { readonly stamp: string; readonly entries: readonly DirectoryEntry[] }>({
    maxWeight: maxKeptEntries,
    weigh: ({ entries }) => entries.length + 1, // a million empty directories are not kept for nothing
  });
  return {
    /** The sorted entries that are asked for; `null` when the directory was swapped for another while it was read. */
    async read(
      listing: Pick<DiskListing, "info" | "entries" | "entriesInTurns" | "lookAgain">,
      { path, after, size, accepts }: ScanOptions,
    ): Promise<readonly DirectoryEntry[] | null> {
      const { info } = listing;
      const stamp = stampOf(info, clock());
      const known = kept.get(path);
      if (known !== undefined && known.stamp === stamp) {
        kept.set(path, known); // the one that was used last goes last
        return entriesAfter(known.entries, after, size);
      }
      kept.delete(path);
      let all: DirectoryEntry[] = [];
      let isWhole = true;
      const take = (entry: DirectoryEntry): void => {
        if (!accepts(entry.name)) return;
        all.push(entry);
        if (all.length <= maxKeptEntries) return;
        isWhole = false; // of more than can be kept only those that are asked for
        all = entriesAfter(sort(all), after, size);
      };
      if (info.size <= largestSynchronousDirectory) {
        for (const entry of listing.entries()) take(entry);
      } else {
        for await (const batch of listing.entriesInTurns()) batch.forEach(take);
      }
      const infoAfter = listing.lookAgain();
      if (infoAfter === null) return null;
      const entries = sort(all);
      if (isWhole && stamp !== null && stampOf(infoAfter, clock()) === stamp) kept.set(path, { stamp, entries });
      return entriesAfter(entries, after, size);
    },
  };
}

/** What changes with every change of the directory's entries; `null` when the last change is too young to tell. */
function stampOf({ dev, ino, ctime, mtime }: DiskInfo, now: number): string | null {
  // the time of a status change cannot be set back, unlike that of the content
  if (ino === null || ctime === null || mtime === null) return null;
  const changedAt = Math.max(ctime.getTime(), mtime.getTime());
  return now - changedAt < timeGrainMilliseconds ? null : `${dev} ${ino} ${ctime.getTime()} ${mtime.getTime()}`;
}

function entriesAfter(entries: readonly DirectoryEntry[], after: string | undefined, size: number): DirectoryEntry[] {
  let start = 0;
  if (after !== undefined) {
    for (let end = entries.length; start < end;) {
      const middle = (start + end) >> 1;
      if (compareNames(entries[middle]?.name ?? "", after) <= 0) start = middle + 1;
      else end = middle;
    }
  }
  return entries.slice(start, start + size);
}

function sort(entries: DirectoryEntry[]): DirectoryEntry[] {
  const isPlain = !entries.some(({ name }) => /[\ud800-\udfff]/.test(name));
  // without surrogates the same, and quicker
  const compare = isPlain ? (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0 : compareNames;
  return entries.sort((a, b) => compare(a.name, b.name));
}

// What a directory of the disk calls an entry that was found in it. Many file systems find one entry by several
// spellings (case, Unicode forms, 8.3 names, streams), and rules about names must see the one that is listed. Where
// spellings are exact, which is found out once a directory, nothing is listed and nothing more is looked up.

/** A directory, with what was seen of it before its entry. */
interface SeenDirectory {
  readonly directory: DiskDirectory;
  readonly info: DiskInfo;
}

/** Directories whose behaviour is remembered, some 100 bytes each. */
const maxKnownDirectories = 10_000;
/** Names that are kept in memory, in all; some 100 bytes each. Longer directories are read again each time. */
const maxKeptNames = 65_536;
/** Spellings that may be another name even where case counts: 8.3 names, streams, and what Win32 and HFS+ drop. */
const unusual = /~\d|:|[\s.]$|[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** Makes the memory of one workspace, whose directories are all on one device. */
export function createDirectoryNames(clock: Clock) {
  const known = boundedMap<number | bigint, { readonly bornAt: number | undefined; readonly isFolding: boolean }>(
    maxKnownDirectories,
  );
  const kept = boundedMap<number | bigint, { readonly stamp: string; readonly names: ReadonlySet<string> }>({
    maxWeight: maxKeptNames,
    weigh: ({ names }) => names.size + 1,
  });

  const namesIn = (directory: DiskDirectory): ReadonlySet<string> => {
    // not the caller's look at the directory: it may be older than the entry
    using listing = directory.list(".");
    const { info } = listing;
    const { ino } = info;
    const stamp = stampOf(info, clock());
    const there = ino === null ? undefined : kept.get(ino);
    if (there !== undefined && there.stamp === stamp) return there.names;
    const names = new Set(Array.from(listing.entries(), ({ name }) => name));
    if (ino === null) return names;
    kept.delete(ino);
    const after = listing.lookAgain();
    const isUnchanged = stamp !== null && after !== null && stampOf(after, clock()) === stamp;
    if (isUnchanged && names.size < maxKeptNames) kept.set(ino, { stamp, names });
    return names;
  };

  const isFolding = ({ directory, info: { ino, birthtime } }: SeenDirectory, name: string, entry: DiskInfo) => {
    const bornAt = birthtime?.getTime(); // another directory may have the inode of one that is gone
    const before = ino === null ? undefined : known.get(ino);
    if (before !== undefined && before.bornAt === bornAt) return before.isFolding;
    const other = inOtherCase(name);
    if (other === name) return false; // tells nothing; the rules compare folded names themselves
    const found = directory.statusOf(other);
    if (found === null && !isThere(directory, name, entry)) return true; // it disappeared meanwhile: tells nothing
    // with an entry under either spelling the listing decides: network file systems may number one entry twice
    const listed = found === null ? null : namesIn(directory);
    const folds = listed !== null && !(listed.has(name) && listed.has(other));
    if (ino !== null) known.set(ino, { bornAt, isFolding: folds });
    return folds;
  };

  return {
    /**
     * The name under which the directory lists the entry that was found in it as `name`; `null` when it lists none, as
     * for an 8.3 name or a stream.
     */
    listedAs(place: SeenDirectory, name: string, entry: DiskInfo): string | null {
      if (!unusual.test(name) && !isFolding(place, name, entry)) return name;
      const names = namesIn(place.directory);
      if (names.has(name)) return name;
      const folded = foldName(name);
      const alike = [...names].filter((listed) => foldName(listed) === folded);
      if (alike.length === 1) return alike[0] ?? null;
      return alike.find((listed) => isThere(place.directory, listed, entry)) ?? null;
    },
  };
}

/** The name with its first letter in the other case; the name itself where it has no letter of ASCII. */
function inOtherCase(name: string): string {
  return name.replace(
    /[A-Za-z]/,
    (letter) => letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function isThere(directory: DiskDirectory, name: string, entry: DiskInfo): boolean {
  const found = directory.statusOf(name);
  return found !== null && isSame(found, entry);
}
