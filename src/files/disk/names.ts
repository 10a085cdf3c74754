/**
 * What a directory of the disk calls an entry that was found in it. Many file systems find one entry by several
 * spellings (case, Unicode forms, 8.3 names, streams), and rules about names must see the one that is listed. Where
 * spellings are exact, which is found out once a directory, nothing is listed and nothing more is looked up.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Clock } from "../../lib/clock.ts";
import { type DiskDirectory, type DiskInfo, isSame } from "./directory.ts";
import { stampOf } from "./scan.ts";
import { foldName } from "../workspace/name_folding.ts";

/** Answers what directories call their entries. */
export interface DirectoryNames {
  /**
   * The name under which the directory lists the entry that was found in it as `name`; `null` when it lists none, as
   * for an 8.3 name or a stream.
   */
  listedAs(place: NamingDirectory, name: string, entry: DiskInfo): string | null;
}

/** A directory, with what was seen of it before its entry. */
interface NamingDirectory {
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
export function createDirectoryNames(clock: Clock): DirectoryNames {
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
    { directory, info: { ino, birthtime } }: NamingDirectory,
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
    listedAs(place, name, entry) {
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
