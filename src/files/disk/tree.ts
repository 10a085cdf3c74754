/** Walks the entries below a directory of the disk workspace, links never followed, giving others their turn. */
import { type DiskAccess, type DiskInfo, type DiskListing, isForeign } from "./directory.ts";
import { errorCode } from "./refusal.ts";
import { nextTurn } from "../../lib/turns.ts";
import { isReserved } from "../workspace/path.ts";

const unreachable = new Set(["EACCES", "EPERM", "ENAMETOOLONG"]);

/** An entry that the walk met. */
interface TreeEntry {
  /** Its names below the root. */
  readonly segments: readonly string[];
  readonly info: DiskInfo;
  /** Whether it is on another device, or mounted. */
  readonly isForeign: boolean;
}

/**
 * Every entry below the directory with these names. What disappears is left out; where another device is mounted the
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
): AsyncGenerator<TreeEntry> {
  const directories: (readonly string[])[] = [segments];
  const pathOf = (names: readonly string[]): string => [...at, ...names.slice(segments.length)].join("/") || ".";
  const root = access.root()?.status();
  let directory: readonly string[] | undefined;
  while (root !== undefined && (directory = directories.pop()) !== undefined) {
    const path = pathOf(directory);
    using listing = attempt(() => openListing(access, path), skipUnreachable);
    for (const { name } of attempt(() => listing?.entries(), skipUnreachable) ?? []) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = attempt(() => listing?.entryOf(name) ?? null, skipUnreachable);
      if (info === null) continue;
      await nextTurn();
      const foreign = isForeign(root, info);
      yield { segments: below, info, isForeign: foreign };
      if (info.isDirectory && !foreign) directories.push(below);
    }
  }
}

/** What the system gives, or `null` where it refuses and that is to be passed over. */
function attempt<T>(look: () => T, skipUnreachable: boolean): T | null {
  try {
    return look();
  } catch (error) {
    if (skipUnreachable && unreachable.has(errorCode(error) ?? "")) return null;
    throw error;
  }
}

function openListing(access: DiskAccess, path: string): DiskListing | null {
  try {
    return access.root()?.list(path) ?? null;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null; // gone by now
    throw error;
  }
}
