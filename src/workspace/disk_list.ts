/** Lists a directory of the disk workspace. Directories that may be long are streamed, so that others get their turn. */
import { failure, success } from "../lib/result.ts";
import type { Disk } from "./disk_context.ts";
import { toRefusal } from "./disk_refusal.ts";
import { findInside, isSame, isStillInside, lstatOrNull } from "./disk_resolve.ts";
import { compareNames, isReserved, type WorkspacePath } from "./path.ts";
import type { DirectoryEntry, EntryKind, Listing, ListOptions, Outcome } from "./port.ts";

const largestSynchronousDirectory = 512 * 1024; // bytes of the directory itself: some 20,000 entries, some 20 ms

/** The entries of the directory at `path`, sorted by name. */
export async function listDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  { limit = Infinity, after, details = false }: ListOptions = {},
): Promise<Outcome<Listing>> {
  const found = findInside(disk, path);
  if (!found.ok) return found;
  const { path: absolute, segments, info } = found.value;
  if (!info.isDirectory) return failure({ reason: "not_a_directory" });
  const wanted = Math.min(limit, disk.limits.maxListEntries);
  try {
    const page = createPage(wanted + 1);
    const { hasDenied } = disk.rules;
    const take = (entry: Deno.DirEntry): void => {
      if (after !== undefined && compareNames(entry.name, after) <= 0) return;
      if (segments.length === 0 && isReserved([entry.name])) return;
      if (hasDenied && disk.rules.isDenied([...segments, entry.name])) return;
      page.add(entry);
    };
    if (info.size <= largestSynchronousDirectory) {
      for (const entry of Deno.readDirSync(absolute)) take(entry);
    } else {
      for await (const entry of Deno.readDir(absolute)) take(entry);
    }
    const found = page.sorted();
    const entries = found.slice(0, wanted).map((entry) => toEntry(entry, details ? absolute : null));
    // another process may have swapped the directory for a link while it was read
    if (!isStillInside(disk, absolute) || !isSame(Deno.lstatSync(absolute), info.dev, info.ino)) {
      return failure({ reason: "denied", because: "changed_while_opening" });
    }
    return success({ entries, hasMore: found.length > wanted });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

interface Page {
  add(entry: Deno.DirEntry): void;
  sorted(): Deno.DirEntry[];
}

/** Keeps the `size` entries that sort first, in memory for about as many. */
function createPage(size: number): Page {
  let kept: Deno.DirEntry[] = [];
  let isPlain = true;
  /** The last entry that still has a place, once there are more than enough. */
  let last: Deno.DirEntry | undefined;
  const compare = (a: Deno.DirEntry, b: Deno.DirEntry): number =>
    isPlain ? compareCodeUnits(a, b) : compareNames(a.name, b.name);
  const sorted = (): Deno.DirEntry[] => {
    kept.sort(compare);
    if (kept.length >= size) {
      kept = kept.slice(0, size);
      last = kept[size - 1];
    }
    return kept;
  };
  return {
    add(entry) {
      isPlain &&= !/[\ud800-\udfff]/.test(entry.name);
      if (last !== undefined && compare(entry, last) > 0) return;
      kept.push(entry);
      if (kept.length >= 2 * size + 1000) sorted();
    },
    sorted,
  };
}

/** The same as comparing names where there are no surrogates, and quicker. */
function compareCodeUnits(a: Deno.DirEntry, b: Deno.DirEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function toEntry(entry: Deno.DirEntry, directory: string | null): DirectoryEntry {
  const { name } = entry;
  const kind = kindOf(entry);
  const info = directory === null || kind === "link" ? null : lstatOrNull(`${directory}/${name}`);
  if (info === null) return { name, kind };
  const modifiedAt = info.mtime?.getTime() ?? 0;
  return kind === "file" ? { name, kind, sizeBytes: info.size, modifiedAt } : { name, kind, modifiedAt };
}

function kindOf(entry: Deno.DirEntry): EntryKind {
  if (entry.isSymlink) return "link";
  if (entry.isDirectory) return "directory";
  return entry.isFile ? "file" : "other";
}
