/**
 * The names in directories of the disk workspace, sorted, and kept for a while: a long directory is listed page by
 * page, and reading all of it again for each page costs more than everything else. What is kept counts only as long as
 * the directory has not been changed since.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Clock } from "../../lib/time.ts";
import { compareNames, foldName } from "../workspace/path.ts";
import type { DirectoryEntry } from "../workspace/port.ts";
import { type DiskDirectory, type DiskInfo, type DiskListing, isSame } from "./directory.ts";

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
  return entries.sort(isPlain ? compareCodeUnits : (a, b) => compareNames(a.name, b.name));
}

/** The same as comparing names where there are no surrogates, and quicker. */
function compareCodeUnits(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

// What a directory of the disk calls an entry that was found in it. Many file systems find one entry by several
// spellings (case, Unicode forms, 8.3 names, streams), and rules about names must see the one that is listed. Where
// spellings are exact, which is found out once a directory, nothing is listed and nothing more is looked up.

/** A directory, with what was seen of it before its entry. */
export interface SeenDirectory {
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

  const isFolding = (
    { directory, info: { ino, birthtime } }: SeenDirectory,
    name: string,
    entry: DiskInfo,
  ): boolean => {
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
