/** Opens a file of the disk workspace for reading, and judges what was opened. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import type { DiskFile, DiskListing } from "./directory.ts";
import type { InnerLinks } from "./inner_links.ts";
import { toRefusal } from "./refusal.ts";
import { findInside, resolveInside } from "./resolve.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import type { DirectoryEntry, Listing, ListOptions, Outcome, WorkspaceRefusal } from "../workspace/port.ts";

/** Opens the regular file at `path` unless it has more than `maxBytes`. */
export function openInside(
  disk: Disk,
  path: WorkspacePath,
  maxBytes: number,
  isRootSeen = false,
): Outcome<DiskFile> {
  try {
    const opened = openPlain(disk, path, "read", isRootSeen);
    if (opened === null) return disk.access.step(() => openByNames(disk, path, maxBytes));
    return judge(disk, opened, maxBytes);
  } catch (error) {
    return failure(toRefusal(error));
  }
}

/**
 * Opens in one call what lies at `path`, where that is possible and no spelling of it can be another name: no link is on
 * the way then, and what the rules say of the path they say of the file. `null` where names have to be looked at.
 */
export function openPlain(
  disk: Disk,
  path: WorkspacePath,
  purpose: "read" | "status",
  isRootSeen = false,
): DiskFile | null {
  return isPlain(disk, path) ? disk.access.openPlain?.(path.text, purpose, isRootSeen) ?? null : null;
}

/** The same of a directory. */
function listPlain(disk: Disk, path: WorkspacePath): DiskListing | null {
  return isPlain(disk, path) ? disk.access.listPlain?.(path.text) ?? null : null;
}

/** Reads a small file at once where {@link openPlain} may open it, the root having been seen; `null` where it cannot. */
export function readPlain(disk: Disk, path: WorkspacePath, buffer: Uint8Array): number | null {
  const isReadable = isPlain(disk, path);
  const read = isReadable ? disk.access.readPlain?.(path.text, buffer) ?? null : null;
  return read === null || (disk.hardLinks === "refuse" && read.nlink > 1) ? null : read.sizeBytes;
}

function isPlain({ rules }: Disk, { text, segments }: WorkspacePath): boolean {
  return segments.length > 0 && !mayBeOther.test(text) && !isReserved(segments) && !rules.isDenied(segments);
}

/** What in ASCII has further spellings (names.ts): 8.3 names, streams, and what Win32 drops of a name. */
const mayBeOther = /[^\x20-\x7e]|~\d|:|[ .](?:\/|$)/;

function openByNames(disk: Disk, path: WorkspacePath, maxBytes: number): Outcome<DiskFile> {
  const found = findInside(disk, path);
  if (!found.ok) return found;
  const { directory, name, info } = found.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  if (info.size > maxBytes) return failure({ reason: "too_large", sizeBytes: info.size, limitBytes: maxBytes });
  const opened = directory.openFile(name, info);
  if (opened === null) return failure({ reason: "denied", because: "changed_while_opening" });
  return judge(disk, opened, maxBytes);
}

function judge(disk: Disk, opened: DiskFile, maxBytes: number): Outcome<DiskFile> {
  const { isDirectory, isFile, size } = opened.info;
  if (isDirectory) return refuse(opened, { reason: "is_directory" });
  if (!isFile) return refuse(opened, { reason: "not_a_file" });
  if (hasHiddenName(disk, opened)) return refuse(opened, { reason: "denied", because: "hard_link" });
  if (size > maxBytes) return refuse(opened, { reason: "too_large", sizeBytes: size, limitBytes: maxBytes });
  return success(opened);
}

/** Whether one of its names may be outside, and it is not to be read for that. */
export function hasHiddenName(
  { hardLinks, innerLinks }: Disk,
  { info }: { readonly info: Parameters<InnerLinks["has"]>[0] },
): boolean {
  return hardLinks === "refuse" && (info.nlink ?? 1) > 1 && !innerLinks.has(info);
}

function refuse(opened: DiskFile, refusal: WorkspaceRefusal): Outcome<never> {
  opened.close();
  return failure(refusal);
}

// Lists a directory of the disk workspace. Directories that may be long are streamed, so that others get their turn.

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

// What a path stands for on the disk once its links are followed.

/** Where a path leads with a link at its end followed, and kept. */
export function trueNamesOf(disk: Disk, path: WorkspacePath): Outcome<readonly string[]> {
  try {
    const plain = openPlain(disk, path, "status");
    plain?.close();
    if (plain?.info.isSymlink === false) return success([path.text]); // no link is on the way
  } catch (error) {
    return failure(toRefusal(error)); // it is gone since
  }
  return disk.access.step(() => {
    const names: string[] = [];
    for (const lastLink of ["follow", "keep"] as const) {
      const resolved = resolveInside(disk, path, lastLink);
      if (!resolved.ok) return resolved;
      const { segments } = resolved.value;
      const name = [...segments, ...resolved.value.found ? [] : resolved.value.missing].join("/");
      if (name === path.text) return success([...names, name]);
      names.push(name);
    }
    return success(names);
  });
}
