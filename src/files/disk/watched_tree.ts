/** What a watch of a disk workspace knows of the tree, to tell what appeared from what only changed. */
import type { TreeWatcher } from "./watcher.ts";

/** The names of the files in each directory, the root first; `null` where there are too many to remember. */
export type WatchedTree = Map<string, Set<string> | null>;

/** How far to look. */
interface WatchedTreeLimits {
  readonly maxDirectories: number;
  /** More names of files than this are not remembered. */
  readonly maxFiles: number;
  /** Of which paths nothing is told. */
  readonly isHidden: (path: string) => boolean;
}

/** The tree as it is now; links are not followed. */
export function readWatchedTree(
  look: TreeWatcher,
  root: string,
  { maxDirectories, maxFiles, isHidden }: WatchedTreeLimits,
): WatchedTree {
  const tree: WatchedTree = new Map();
  const pending = [root];
  let fileCount = 0;
  for (let path = pending.shift(); path !== undefined && tree.size < maxDirectories; path = pending.shift()) {
    const entries = path === root ? look.entriesOf(path) : entriesOrNull(look, path);
    // what may not be read cannot be watched, nor be read by anyone who would want to know
    if (entries === null) continue;
    const visible = entries.filter(({ name }) => !isHidden(`${path}/${name}`));
    const files = visible.filter(({ isFile }) => isFile).map(({ name }) => name);
    fileCount += files.length;
    tree.set(path, fileCount > maxFiles ? null : new Set(files));
    for (const { name, isDirectory } of visible) if (isDirectory) pending.push(`${path}/${name}`);
  }
  return tree;
}

/** Whether both hold the same files, as far as is known. */
export function haveSameFiles(one: WatchedTree, other: WatchedTree): boolean {
  for (const path of new Set([...one.keys(), ...other.keys()])) {
    const [left, right] = [one, other].map((tree) => tree.has(path) ? tree.get(path) ?? null : new Set<string>());
    if (left === null || right === null || left?.symmetricDifference(right ?? left).size !== 0) return false;
  }
  return true;
}

/** Takes a directory with all below it out of the tree, and says whether there may have been files in it. */
export function forgetDirectory(tree: WatchedTree, path: string): boolean {
  let hadFiles = false;
  for (const [each, files] of [...tree]) {
    if (each !== path && !each.startsWith(`${path}/`)) continue;
    hadFiles ||= files === null || files.size > 0;
    tree.delete(each);
  }
  return hadFiles;
}

function entriesOrNull({ entriesOf }: TreeWatcher, directory: string): ReturnType<TreeWatcher["entriesOf"]> | null {
  try {
    return entriesOf(directory);
  } catch {
    return null; // not for us to read
  }
}
