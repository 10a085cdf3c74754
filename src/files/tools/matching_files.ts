/** Files by a pattern, for tools that take names of files. */
import { createIgnored, maxWalkDepth, walk } from "../workspace/walk.ts";
import { childPath, parseDirectoryPath, showName } from "../workspace/path.ts";
import { parseGlob } from "../workspace/glob.ts";
import type { Workspace } from "../workspace/port.ts";
import { visitsPerCheck } from "./list_walk.ts";

/** Whether a name stands for several files. Brackets do not count: usual names have them. */
export function isPattern(name: string): boolean {
  return /[*?{]/.test(name);
}

/** The directory that all files of a pattern are in, as far as the pattern names it; empty for the whole workspace. */
export function directoryOfPattern(pattern: string): string {
  const names = pattern.split("/");
  return names.slice(0, names.findIndex(isPattern)).join("/");
}

/**
 * Their names in the order of a listing, without ignored ones; not `isWhole` where there are more than `limit`, or the
 * tree was not looked at to its end. `null` for a pattern that cannot be used.
 */
export async function matchingFiles(
  workspace: Workspace,
  pattern: string,
  { limit, isOver }: { readonly limit: number; readonly isOver: () => boolean },
): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean } | null> {
  const directory = directoryOfPattern(pattern);
  const path = parseDirectoryPath(directory === "" ? "." : directory);
  const rest = directory === "" ? pattern : pattern.slice(directory.length + 1);
  const matches = parseGlob(rest);
  if (!path.ok || matches === null) return null;
  const isDeep = directory === "" || /\/|\*\*/.test(rest); // *.txt alone is about names at any depth
  const ignored = await createIgnored(workspace, path.value);
  const names: string[] = [];
  let visited = 0;
  for await (const step of walk(workspace, path.value, { depth: isDeep ? maxWalkDepth : 1, ignored })) {
    if (!step.ok) return { names, isWhole: true };
    const { kind, segments, isSkipped } = step.value;
    if (kind === "file" && !isSkipped && matches(segments)) {
      if (names.length === limit) return { names, isWhole: false };
      names.push(showName(childPath(path.value, segments).text));
    }
    visited++;
    if (visited === workspace.limits.maxTreeEntries || (visited % visitsPerCheck === 0 && isOver())) {
      return { names, isWhole: false };
    }
  }
  return { names, isWhole: true };
}
