/**
 * The names in directories of the disk workspace, sorted, and kept for a while: a long directory is listed page by page,
 * and reading all of it again for each page costs more than everything else. What is kept counts only as long as the
 * directory has not been changed since.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Clock } from "../../lib/clock.ts";
import { compareNames } from "../workspace/path.ts";
import type { DirectoryEntry } from "../workspace/listing.ts";
import type { DiskInfo, DiskListing } from "./directory.ts";

/** One directory, as it was just looked up. */
interface ScannedDirectory {
  /** What it is kept under. */
  readonly path: string;
  readonly listing: Pick<DiskListing, "info" | "entries" | "entriesInTurns" | "lookAgain">;
}

export interface DirectoryScans {
  /** The sorted entries of a directory that are asked for; `null` when it was swapped for another while it was read. */
  read(directory: ScannedDirectory, options: ScanOptions): Promise<readonly DirectoryEntry[] | null>;
}

/** Which entries are asked for. */
interface ScanOptions {
  /** Only names after this one. */
  readonly after: string | undefined;
  /** How many. */
  readonly size: number;
  /** Which names there are for callers; what it says of a name must not change. */
  accepts(name: string): boolean;
}

interface DirectoryScansOptions {
  /** How many directories and entries are kept in memory, all together; about 100 bytes each. Default 32,768. */
  readonly maxKeptEntries?: number;
  readonly clock: Clock;
}

interface Kept {
  readonly stamp: string;
  readonly entries: readonly DirectoryEntry[];
}

const largestSynchronousDirectory = 512 * 1024; // bytes of the directory itself: some 20,000 entries, some 20 ms
/** A file system may tell times no finer than this (FAT): within it, a second change would not show. */
const timeGrainMilliseconds = 2_000;

export function createDirectoryScans({ maxKeptEntries = 32_768, clock }: DirectoryScansOptions): DirectoryScans {
  const kept = boundedMap<string, Kept>({ maxWeight: maxKeptEntries, weigh: weightOf });
  return {
    async read({ path, listing }, { after, size, accepts }) {
      const { info } = listing;
      const stamp = stampOf(info, clock());
      const known = kept.get(path);
      if (known !== undefined && known.stamp === stamp) {
        kept.set(path, known); // the one that was used last goes last
        return entriesAfter(known.entries, after, size);
      }
      kept.delete(path);
      let all: DirectoryEntry[] | null = [];
      const page = createPage(size);
      const addToPage = (entry: DirectoryEntry): void => {
        if (after === undefined || compareNames(entry.name, after) > 0) page.add(entry);
      };
      const take = (entry: DirectoryEntry): void => {
        if (!accepts(entry.name)) return;
        if (all === null) return addToPage(entry);
        all.push(entry);
        if (all.length <= maxKeptEntries) return;
        all.forEach(addToPage);
        all = null;
      };
      if (info.size <= largestSynchronousDirectory) {
        for (const entry of listing.entries()) take(entry);
      } else {
        for await (const batch of listing.entriesInTurns()) batch.forEach(take);
      }
      const infoAfter = listing.lookAgain();
      if (infoAfter === null) return null;
      if (all === null) return page.sorted();
      const entries = sort(all);
      if (stamp !== null && stampOf(infoAfter, clock()) === stamp) kept.set(path, { stamp, entries });
      return entriesAfter(entries, after, size);
    },
  };
}

/** A directory counts like an entry: a million empty ones are not kept for nothing. */
function weightOf({ entries }: Kept): number {
  return entries.length + 1;
}

/** What changes with every change of the directory's entries; `null` when the last change is too young to tell. */
export function stampOf({ dev, ino, ctime, mtime }: DiskInfo, now: number): string | null {
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

interface Page {
  add(entry: DirectoryEntry): void;
  sorted(): readonly DirectoryEntry[];
}

/** Keeps the `size` entries that sort first, in memory for about as many. */
function createPage(size: number): Page {
  let first: DirectoryEntry[] = [];
  /** The last entry that still has a place, once there are more than enough. */
  let last: DirectoryEntry | undefined;
  const sorted = (): DirectoryEntry[] => {
    first = sort(first);
    if (first.length >= size) {
      first = first.slice(0, size);
      last = first[size - 1];
    }
    return first;
  };
  return {
    add(entry) {
      if (last !== undefined && compareNames(entry.name, last.name) > 0) return;
      first.push(entry);
      if (first.length >= 2 * size + 1000) sorted();
    },
    sorted,
  };
}

function sort(entries: DirectoryEntry[]): DirectoryEntry[] {
  const isPlain = !entries.some(({ name }) => /[\ud800-\udfff]/.test(name));
  return entries.sort(isPlain ? compareCodeUnits : (a, b) => compareNames(a.name, b.name));
}

/** The same as comparing names where there are no surrogates, and quicker. */
function compareCodeUnits(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
