/** Lists a directory of the disk workspace. Directories that may be long are streamed, so that others get their turn. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import type { DiskListing } from "./directory.ts";
import { toRefusal } from "./refusal.ts";
import { listPlain } from "./open.ts";
import { findInside } from "./resolve.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import type { DirectoryEntry, Listing, ListOptions } from "../workspace/listing.ts";
import type { Outcome } from "../workspace/port.ts";

/** The entries of the directory at `path`, sorted by name. */
export async function listDiskDirectory(
  disk: Disk,
  path: WorkspacePath,
  { limit = Infinity, after, details = false }: ListOptions = {},
): Promise<Outcome<Listing>> {
  const opened = openListing(disk, path);
  if (!opened.ok) return opened;
  const { segments } = opened.value;
  using listing = opened.value.listing;
  const wanted = Math.min(limit, disk.limits.maxListEntries);
  const { rules, scans } = disk;
  const isRoot = segments.length === 0;
  const accepts = (name: string): boolean =>
    !(isRoot && isReserved([name])) && !(rules.hasDenied && rules.isDenied([...segments, name]));
  try {
    const place = { path: segments.join("/"), listing };
    const found = await scans.read(place, { after, size: wanted + 1, accepts });
    if (found === null) return changedMeanwhile;
    const page = found.length > wanted ? found.slice(0, wanted) : found;
    const hasMore = found.length > wanted;
    if (!details) return success({ entries: page, hasMore });
    const entries = page.map((entry) => withDetails(entry, listing));
    return listing.lookAgain() === null ? changedMeanwhile : success({ entries, hasMore });
  } catch (error) {
    return failure(toRefusal(error));
  }
}

const changedMeanwhile = failure({ reason: "denied", because: "changed_while_opening" } as const);

function openListing(
  disk: Disk,
  path: WorkspacePath,
): Outcome<{ readonly segments: readonly string[]; readonly listing: DiskListing }> {
  return disk.access.step(() => {
    try {
      const plain = listPlain(disk, path);
      if (plain !== null) return success({ segments: path.segments, listing: plain });
      const resolved = findInside(disk, path);
      if (!resolved.ok) return resolved;
      const { directory, name, segments, info } = resolved.value;
      if (!info.isDirectory) return failure({ reason: "not_a_directory" });
      return success({ segments, listing: directory.list(name) });
    } catch (error) {
      return failure(toRefusal(error));
    }
  });
}

function withDetails({ name, kind }: DirectoryEntry, listing: DiskListing): DirectoryEntry {
  const info = kind === "link" ? null : listing.detailsOf(name);
  if (info === null) return { name, kind };
  const modifiedAt = info.mtime?.getTime() ?? 0;
  return kind === "file" ? { name, kind, sizeBytes: info.size, modifiedAt } : { name, kind, modifiedAt };
}
