/** Where `file_move` puts what it moves. */
import { childPath, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";

/**
 * The path itself. As for `mv` and `cp`, a slash at its end means the directory that is there, and for a file one that is
 * made: what is moved keeps its name in it.
 */
export async function destinationOf(
  workspace: Workspace,
  from: WorkspacePath,
  { text, path }: { readonly text: string; readonly path: WorkspacePath },
): Promise<WorkspacePath> {
  if (!text.endsWith("/")) return path;
  const there = await workspace.stat(path);
  const source = there.ok ? null : await workspace.stat(from);
  const isInto = there.ok ? there.value.kind === "directory" : source?.ok && source.value.kind !== "directory";
  return isInto ? childPath(path, from.segments.slice(-1)) : path;
}
