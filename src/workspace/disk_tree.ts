/** Walks the entries below a directory of the disk workspace, links never followed, giving others their turn. */
import { setImmediate } from "node:timers/promises";
import type { DiskRoot } from "./disk_context.ts";
import { absolutePath, lstatOrNull } from "./disk_resolve.ts";
import { isReserved } from "./path.ts";

/** An entry that the walk met. */
export interface TreeEntry {
  /** Its names below the root. */
  readonly segments: readonly string[];
  readonly info: Deno.FileInfo;
}

const entriesPerTurn = 500;

/** Every entry below the directory with these names; what disappears or is on another device is left out. */
export async function* walkTree(root: DiskRoot, segments: readonly string[]): AsyncGenerator<TreeEntry> {
  const directories: (readonly string[])[] = [segments];
  let count = 0;
  let directory: readonly string[] | undefined;
  while ((directory = directories.pop()) !== undefined) {
    for (const { name } of entriesOf(absolutePath(root, directory))) {
      const below = [...directory, name];
      if (isReserved(below)) continue;
      const info = lstatOrNull(absolutePath(root, below));
      if (info === null || info.dev !== root.device) continue;
      if (++count % entriesPerTurn === 0) await setImmediate();
      yield { segments: below, info };
      if (info.isDirectory) directories.push(below);
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
