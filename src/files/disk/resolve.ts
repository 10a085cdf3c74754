/**
 * Resolves a workspace path on the disk one name at a time, each as its directory lists it, following links only as long
 * as every step of them stays inside. It never looks at anything outside, so no answer can depend on what is there: a
 * link that leaves is refused whether its target exists or not. Beneath: what is kept in memory of directories' names,
 * and walks of the whole tree, for quotas and for files with several names.
 */
import type { AccessRules } from "../workspace/access_rules.ts";
import { errorCode, isForeign, isSame, toRefusal } from "./directory.ts";
import type { DiskAccess, DiskDirectory, DiskInfo, DiskListing } from "./directory.ts";
import { type DiskChange, type DiskTrash, type Staging, trashDirectoryName } from "./staging.ts";
import { type KeyedMutex, nextTurn, whenReady } from "../../lib/turns.ts";
import { denied, type DirectoryEntry, type Eventually, type Outcome, type WorkspaceLimits } from "../workspace/port.ts";
import { failure, success } from "../../lib/result.ts";
import { compareNames, foldName, isReserved, maxPathNames, stagingDirectoryName } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import { type Clock, pause, systemTimers } from "../../lib/time.ts";

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

// * Walks of the whole tree, and what is counted by them: how much is there, and the names of files with several.

/**
 * Every entry below the directory with these names: its names below the root, and whether it is on another device, or
 * mounted. What disappears is left out; where another device is mounted the
 * walk tells so and goes no further. With `skipUnreachable` so is what may not be looked at, or lies too deep for the
 * system to name; otherwise that ends the walk with the system's error. With `at`, the directory lies there by now.
 */
export async function* walkTree(
  access: DiskAccess,
  segments: readonly string[],
  { skipUnreachable = false, at = segments }: {
    readonly skipUnreachable?: boolean;
    readonly at?: readonly string[];
  } = {},
) {
  const directories: (readonly string[])[] = [segments];
  const pathOf = (names: readonly string[]): string => [...at, ...names.slice(segments.length)].join("/") || ".";
  const root = access.root()?.status();
  const ignored = skipUnreachable ? unreachable : gone;
  let directory: readonly string[] | undefined;
  while (root !== undefined && (directory = directories.pop()) !== undefined) {
    const path = pathOf(directory);
    using listing = attempt(() => access.root()?.list(path) ?? null, ignored);
    for (const { name } of attempt(() => listing?.entries(), ignored) ?? []) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = attempt(() => listing?.entryOf(name) ?? null, ignored);
      if (info === null) continue;
      await nextTurn();
      const foreign = isForeign(root, info);
      yield { segments: below, info, isForeign: foreign };
      if (info.isDirectory && !foreign) directories.push(below);
    }
  }
}

/** What is gone by now is left out. */
const gone: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);
const unreachable: ReadonlySet<string> = new Set([...gone, "EACCES", "EPERM", "ENAMETOOLONG"]);

/** The system's answer, or `null` for a refusal that is to be ignored. */
function attempt<T>(look: () => T, ignored: ReadonlySet<string>): T | null {
  try {
    return look();
  } catch (error) {
    if (ignored.has(errorCode(error) ?? "")) return null;
    throw error;
  }
}

const { elapsed } = systemTimers;
const measurementLifetimeMilliseconds = 60_000;

/**
 * Holds a workspace to its quota. The tree is measured before the first write and again from time to time, since other
 * programs write there too; in between, what this process writes is added up.
 */
export function createDiskQuota(access: DiskAccess, { maxTotalBytes }: WorkspaceLimits) {
  let usedBytes = 0;
  let measuredAt = -Infinity;
  let measuring: Promise<void> | null = null;
  const held = new Map<string, number>();
  let heldBytes = 0;

  const measureNow = async (): Promise<void> => {
    let found = 0;
    for await (const { info, isForeign } of walkTree(access, [], { skipUnreachable: true })) {
      if (info.isFile && !isForeign) found += info.size;
    }
    usedBytes = found;
    measuredAt = elapsed();
  };
  /** Refuses growth past the quota. */
  const check = (bytes: number): Outcome<null> =>
    maxTotalBytes !== null && bytes > 0 && usedBytes + heldBytes + bytes > maxTotalBytes
      ? failure({ reason: "quota", limit: maxTotalBytes })
      : success(null);
  return {
    /** Makes sure that `check` knows what is used. Costs nothing without a quota. */
    async measure(): Promise<void> {
      if (maxTotalBytes === null || elapsed() - measuredAt < measurementLifetimeMilliseconds) return;
      measuring ??= measureNow().finally(() => measuring = null);
      await measuring;
    },
    check,
    /** Holds room for a content on its way, so many bytes in all, or refuses more; 0 gives it back. */
    hold(name: string, bytes: number): Outcome<null> {
      const more = bytes - (held.get(name) ?? 0);
      const room = check(more);
      if (!room.ok) return room;
      heldBytes += more;
      if (bytes === 0) held.delete(name);
      else held.set(name, bytes);
      return room;
    },
    /** Counts what was added, or with a negative number taken away. */
    add: (bytes: number): void => void (usedBytes += bytes),
    /** Forgets the measurement, after a change whose extent is not known. */
    forget(): void {
      measuredAt = -Infinity;
    },
  };
}

/** How soon names are looked for again without a sign of change: it takes a walk through all of the workspace. */
const recountMilliseconds = 5_000;
/** The pause before a walk that a sign of change calls for, in times of what the last one took; at most the time above. */
const pauseFactor = 3;
/** Files with several names that are remembered. */
const maxFiles = 100_000;

/** A file with several names as a walk saw it, how many of its names the walk met, and those outside the trash. */
type CountedFile = Pick<DiskInfo, "nlink" | "ctime"> & { met: number; readonly names: (readonly string[])[] };

/**
 * Looks for the names of files that have several (hard links). A name outside would let the callers read a file of
 * another place; only someone who writes the directory itself can make one. A denied name is outside, too.
 *
 * The system notes each change of a name, by any program. So a file that the last walk did not meet, or met by all its
 * names and that has changed since, is looked for again at once. Whatever callers do, such walks take no more than a quarter
 * of the time, or one in five seconds.
 */
export function createInnerLinks(
  access: DiskAccess,
  { maxTreeEntries }: WorkspaceLimits,
  { isDenied }: Pick<AccessRules, "isDenied">,
  recountAfter = recountMilliseconds,
) {
  let found = new Map<string, CountedFile>();
  let isComplete = false;
  let isOutdated = false;
  let counting: Promise<boolean> | null = null;
  let countedAt = -Infinity;
  let tookMs = 0;
  const keyOf = ({ dev, ino }: DiskInfo): string => `${dev} ${ino}`;
  const isUnchanged = (one: CountedFile | undefined, { nlink, ctime }: DiskInfo): one is CountedFile =>
    one?.nlink === nlink && one.ctime?.getTime() === ctime?.getTime();
  const count = async (): Promise<boolean> => {
    const sinceMs = elapsed() - countedAt;
    if (sinceMs < recountAfter && !isOutdated) return false;
    const restMs = Math.min(pauseFactor * tookMs, recountAfter) - sinceMs;
    if (restMs > 0) await pause(restMs);
    const startedAt = elapsed();
    isOutdated = false; // what changes from here on may be missed
    let isWhole = true;
    const files = new Map<string, CountedFile>();
    let entries = 0;
    try {
      for (const at of [[], [stagingDirectoryName, trashDirectoryName]]) { // what changes replaced has its names, too
        const tree = walkTree(access, at.slice(1), { skipUnreachable: true, at });
        for await (const { segments, info, isForeign } of tree) {
          isWhole &&= ++entries <= maxTreeEntries && files.size < maxFiles;
          if (!isWhole) break;
          if (isForeign || !info.isFile || (info.nlink ?? 1) < 2 || (at.length === 0 && isDenied(segments))) continue;
          const before = files.get(keyOf(info));
          const file = isUnchanged(before, info) ? before : { nlink: info.nlink, ctime: info.ctime, met: 0, names: [] };
          file.met++;
          if (at.length === 0) file.names.push(segments);
          files.set(keyOf(info), file);
        }
      }
    } catch (error) {
      toRefusal(error); // the workspace is gone
      isWhole = false;
    }
    [found, isComplete] = [files, isWhole];
    countedAt = elapsed();
    tookMs = countedAt - startedAt;
    return true;
  };
  const isHidden = (outcome: unknown): boolean => {
    const { ok, error } = outcome as Outcome<unknown> & { error?: { reason: string; because?: string } };
    return !ok && error?.reason === "denied" && error.because === "hard_link";
  };
  return {
    /** Whether all names were found, and none was added or moved since; a directory that moved takes names with it. */
    has(info: DiskInfo, isThere: (segments: readonly string[]) => boolean = () => true): boolean {
      const file = found.get(keyOf(info));
      const isInner = file === undefined ? isComplete : file.met === file.nlink;
      if (isUnchanged(file, info) && file.names.every(isThere)) return isInner;
      isOutdated ||= isInner;
      return false;
    },
    /** The names of a file with several that are known. */
    namesOf: (info: DiskInfo): readonly (readonly string[])[] => found.get(keyOf(info))?.names ?? [],
    /** Does it again where a file with several names was refused, once these were looked for. */
    settle<T>(operate: () => Eventually<T>): Eventually<T> {
      const settled = (outcome: T): Eventually<T> => {
        if (!isHidden(outcome)) return outcome;
        counting ??= count().finally(() => counting = null);
        return counting.then((isNew) => isNew ? operate() : outcome);
      };
      return whenReady(operate(), settled);
    },
  };
}
