/** Lists a directory of the disk workspace. Directories that may be long are streamed, so that others get their turn. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { toRefusal } from "./refusal.ts";
import { isSame, lstatOrNull } from "./entry.ts";
import { findInside, isStillInside } from "./resolve.ts";
import { isReserved, type WorkspacePath } from "../path.ts";
import type { DirectoryEntry, Listing, ListOptions, Outcome } from "../port.ts";

/** The entries of the directory at `path`, sorted by name. */
export async function listDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  { limit = Infinity, after, details = false }: ListOptions = {},
): Promise<Outcome<Listing>> {
  const resolved = findInside(disk, path);
  if (!resolved.ok) return resolved;
  const { path: absolute, segments, info } = resolved.value;
  if (!info.isDirectory) return failure({ reason: "not_a_directory" });
  const wanted = Math.min(limit, disk.limits.maxListEntries);
  const { rules, scans } = disk;
  const isRoot = segments.length === 0;
  const accepts = (name: string): boolean =>
    !(isRoot && isReserved([name])) && !(rules.hasDenied && rules.isDenied([...segments, name]));
  // another process may swap the directory for a link while it is read
  const lookAgain = (): Deno.FileInfo | null => {
    if (!isStillInside(disk, absolute)) return null;
    const again = Deno.lstatSync(absolute);
    return isSame(again, info.dev, info.ino) ? again : null;
  };
  try {
    const found = await scans.read({ path: absolute, info }, { after, size: wanted + 1, accepts, lookAgain });
    if (found === null) return failure({ reason: "denied", because: "changed_while_opening" });
    const page = found.length > wanted ? found.slice(0, wanted) : found;
    const hasMore = found.length > wanted;
    if (!details) return success({ entries: page, hasMore });
    const entries = page.map((entry) => withDetails(entry, absolute));
    if (lookAgain() === null) return failure({ reason: "denied", because: "changed_while_opening" });
    return success({ entries, hasMore });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

function withDetails({ name, kind }: DirectoryEntry, directory: string): DirectoryEntry {
  const info = kind === "link" ? null : lstatOrNull(`${directory}/${name}`);
  if (info === null) return { name, kind };
  const modifiedAt = info.mtime?.getTime() ?? 0;
  return kind === "file" ? { name, kind, sizeBytes: info.size, modifiedAt } : { name, kind, modifiedAt };
}
