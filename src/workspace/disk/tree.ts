/** Walks the entries below a directory of the disk workspace, links never followed, giving others their turn. */
import { errorCode } from "./refusal.ts";
import { absolutePath, type DiskRoot, lstatOrNull } from "./entry.ts";
import { createFairTurns } from "../text/fair_turns.ts";
import { isReserved } from "../path.ts";

const unreachable = new Set(["EACCES", "EPERM", "ENAMETOOLONG"]);

/** An entry that the walk met. */
interface TreeEntry {
  /** Its names below the root. */
  readonly segments: readonly string[];
  readonly info: Deno.FileInfo;
  /** Whether it is on another device. */
  readonly isForeign: boolean;
}

/**
 * Every entry below the directory with these names. What disappears is left out; where another device is mounted the
 * walk tells so and goes no further. With `skipUnreachable` so is what may not be looked at, or lies too deep for the
 * system to name; otherwise that ends the walk with the system's error. With `at`, the directory lies there by now.
 */
export async function* walkTree(
  root: DiskRoot,
  segments: readonly string[],
  { skipUnreachable = false, at = segments }: {
    readonly skipUnreachable?: boolean;
    readonly at?: readonly string[];
  } = {},
): AsyncGenerator<TreeEntry> {
  const directories: (readonly string[])[] = [segments];
  const pathOf = (names: readonly string[]): string => absolutePath(root, [...at, ...names.slice(segments.length)]);
  const nextTurn = createFairTurns();
  let directory: readonly string[] | undefined;
  while ((directory = directories.pop()) !== undefined) {
    for (const { name } of attempt(() => entriesOf(pathOf(directory ?? [])), skipUnreachable) ?? []) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = attempt(() => lstatOrNull(pathOf(below)), skipUnreachable);
      if (info === null) continue;
      await nextTurn();
      const isForeign = info.dev !== root.device;
      yield { segments: below, info, isForeign };
      if (info.isDirectory && !isForeign) directories.push(below);
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

function entriesOf(path: string): Iterable<Deno.DirEntry> {
  try {
    return Deno.readDirSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return []; // gone by now
    throw error;
  }
}
