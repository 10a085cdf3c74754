/**
 * What a directory of the disk calls an entry that was found in it. Many file systems find one entry by several
 * spellings (case, Unicode forms, 8.3 names, streams), and rules about names must see the one that is listed. Where
 * spellings are exact, which is found out once a directory, nothing is listed and nothing more is looked up.
 */
import type { Clock } from "../../lib/time/clock.ts";
import { lstatOrNull } from "./entry.ts";
import { stampOf } from "./scan.ts";
import { foldName } from "../name_folding.ts";

/** Answers what directories call their entries. */
export interface DirectoryNames {
  /**
   * The name under which the directory lists the entry that was found at `path` as `name`; `null` when it lists none,
   * as for an 8.3 name or a stream.
   */
  listedAs(path: string, name: string, entry: Deno.FileInfo, directory: Deno.FileInfo): string | null;
}

/** Directories whose behaviour is remembered, some 100 bytes each. */
const maxKnownDirectories = 10_000;
/** Names that are kept in memory, in all; some 100 bytes each. Longer directories are read again each time. */
const maxKeptNames = 65_536;
/** Spellings that may be another name even where case counts: 8.3 names, streams, and what Win32 and HFS+ drop. */
const unusual = /~\d|:|[\s.]$|[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** Makes the memory of one workspace, whose directories are all on one device. */
export function createDirectoryNames(clock: Clock): DirectoryNames {
  const known = new Map<number, { readonly bornAt: number | undefined; readonly isFolding: boolean }>();
  const kept = new Map<number, { readonly stamp: string; readonly names: ReadonlySet<string> }>();
  let keptNames = 0;

  const namesIn = (path: string, { ino }: Deno.FileInfo): ReadonlySet<string> => {
    // not the caller's look at the directory: it may be older than the entry
    const info = Deno.lstatSync(path);
    const stamp = stampOf(info, clock());
    const there = ino === null ? undefined : kept.get(ino);
    if (there !== undefined && there.stamp === stamp) return there.names;
    const names = new Set(Array.from(Deno.readDirSync(path), ({ name }) => name));
    if (ino === null) return names;
    if (there !== undefined) {
      keptNames -= there.names.size;
      kept.delete(ino);
    }
    if (stamp === null || names.size > maxKeptNames || stampOf(Deno.lstatSync(path), clock()) !== stamp) return names;
    kept.set(ino, { stamp, names });
    keptNames += names.size + 1;
    for (const [oldest, { names: { size } }] of kept) {
      if (keptNames <= maxKeptNames) break;
      keptNames -= size + 1;
      kept.delete(oldest);
    }
    return names;
  };

  const isFolding = (path: string, name: string, entry: Deno.FileInfo, directory: Deno.FileInfo): boolean => {
    const bornAt = directory.birthtime?.getTime(); // another directory may have the inode of one that is gone
    const before = directory.ino === null ? undefined : known.get(directory.ino);
    if (before !== undefined && before.bornAt === bornAt) return before.isFolding;
    const other = inOtherCase(name);
    if (other === name) return false; // tells nothing; the rules compare folded names themselves
    const parent = path.slice(0, -name.length);
    const found = lstatOrNull(parent + other);
    if (found === null && !isSameEntry(lstatOrNull(path), entry)) return true; // it disappeared meanwhile: tells nothing
    // with an entry under either spelling the listing decides: network file systems may number one entry twice
    const folds = found !== null && !namesIn(parent, directory).has(other);
    if (directory.ino !== null) {
      known.set(directory.ino, { bornAt, isFolding: folds });
      const [oldest] = known.keys();
      if (known.size > maxKnownDirectories && oldest !== undefined) known.delete(oldest);
    }
    return folds;
  };

  return {
    listedAs(path, name, entry, directory) {
      if (!unusual.test(name) && !isFolding(path, name, entry, directory)) return name;
      const parent = path.slice(0, -name.length);
      const names = namesIn(parent, directory);
      if (names.has(name)) return name;
      const folded = foldName(name);
      const alike = [...names].filter((listed) => foldName(listed) === folded);
      if (alike.length === 1) return alike[0] ?? null;
      return alike.find((listed) => isSameEntry(lstatOrNull(parent + listed), entry)) ?? null;
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

function isSameEntry(a: Deno.FileInfo | null, b: Deno.FileInfo): boolean {
  return a !== null && a.dev === b.dev && a.ino === b.ino;
}
