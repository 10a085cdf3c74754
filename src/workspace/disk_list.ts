/** Lists a directory of the disk workspace. Directories that may be long are streamed, so that others get their turn. */
import { failure, type Result, success } from "../lib/result.ts";
import { toRefusal } from "./disk_refusal.ts";
import { type DiskRoot, isSame, isStillInside, resolveInside } from "./disk_resolve.ts";
import { isReserved, type WorkspacePath } from "./path.ts";
import type { DirectoryEntry, EntryKind, Listing, WorkspaceRefusal } from "./port.ts";

/** What the lister holds itself to. */
export interface DiskListOptions {
  readonly maxListEntries: number;
}

const largestSynchronousDirectory = 64 * 1024; // bytes of the directory itself: at most some 3,000 entries

/** The entries of the directory at `path`, sorted by name. */
export async function listDiskDirectory(
  root: DiskRoot,
  path: WorkspacePath,
  { maxListEntries }: DiskListOptions,
): Promise<Result<Listing, WorkspaceRefusal>> {
  const resolved = resolveInside(root, path);
  if (!resolved.ok) return resolved;
  if (!resolved.value.found) return failure({ reason: "not_found" });
  const { path: absolute, segments, info } = resolved.value;
  if (!info.isDirectory) return failure({ reason: "not_a_directory" });
  try {
    const entries: DirectoryEntry[] = [];
    let truncated = false;
    const take = (entry: Deno.DirEntry): boolean => {
      if (segments.length === 0 && isReserved([entry.name])) return true;
      truncated = entries.length === maxListEntries;
      if (!truncated) entries.push({ name: entry.name, kind: kindOf(entry) });
      return !truncated;
    };
    if (info.size <= largestSynchronousDirectory) {
      for (const entry of Deno.readDirSync(absolute)) if (!take(entry)) break;
    } else {
      for await (const entry of Deno.readDir(absolute)) if (!take(entry)) break;
    }
    // another process may have swapped the directory for a link while it was read
    if (!isStillInside(root, absolute) || !isSame(Deno.lstatSync(absolute), info.dev, info.ino)) {
      return failure({ reason: "denied", because: "changed_while_opening" });
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return success({ entries, truncated });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function kindOf(entry: Deno.DirEntry): EntryKind {
  if (entry.isSymlink) return "link";
  if (entry.isDirectory) return "directory";
  return entry.isFile ? "file" : "other";
}
