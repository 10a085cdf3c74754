/** Walks the entries below a directory of the disk workspace, links never followed, giving others their turn. */
import type { DiskRoot } from "./disk_context.ts";
import { absolutePath, lstatOrNull } from "./disk_resolve.ts";
import { createFairTurns } from "./fair_turns.ts";
import { isReserved } from "./path.ts";

/** An entry that the walk met. */
export interface TreeEntry {
  /** Its names below the root. */
  readonly segments: readonly string[];
  readonly info: Deno.FileInfo;
  /** Whether it is on another device. */
  readonly isForeign: boolean;
}

/**
 * Every entry below the directory with these names. What disappears is left out; where another device is mounted the
 * walk tells so and goes no further.
 */
export async function* walkTree(root: DiskRoot, segments: readonly string[]): AsyncGenerator<TreeEntry> {
  const directories: (readonly string[])[] = [segments];
  const nextTurn = createFairTurns();
  let directory: readonly string[] | undefined;
  while ((directory = directories.pop()) !== undefined) {
    for (const { name } of entriesOf(absolutePath(root, directory))) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = lstatOrNull(absolutePath(root, below));
      if (info === null) continue;
      await nextTurn();
      const isForeign = info.dev !== root.device;
      yield { segments: below, info, isForeign };
      if (info.isDirectory && !isForeign) directories.push(below);
    }
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
