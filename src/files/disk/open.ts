/** Opens a file of the disk workspace for reading, and judges what was opened. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import type { DiskFile, DiskInfo, DiskListing } from "./directory.ts";
import { toRefusal } from "./refusal.ts";
import { findInside } from "./resolve.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import type { Outcome, WorkspaceRefusal } from "../workspace/port.ts";

/** Opens the regular file at `path` unless it has more than `maxBytes`. */
export function openInside(
  disk: Disk,
  path: WorkspacePath,
  maxBytes: number,
  isRootSeen = false,
): Outcome<DiskFile> {
  if (disk.hanging.has(path.text)) return failure({ reason: "io", code: "ETIMEDOUT" });
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
export function listPlain(disk: Disk, path: WorkspacePath): DiskListing | null {
  return isPlain(disk, path) ? disk.access.listPlain?.(path.text) ?? null : null;
}

/** Reads a small file at once where {@link openPlain} may open it, the root having been seen; `null` where it cannot. */
export function readPlain(disk: Disk, path: WorkspacePath, buffer: Uint8Array): number | null {
  const isReadable = isPlain(disk, path) && !disk.hanging.has(path.text);
  const read = isReadable ? disk.access.readPlain?.(path.text, buffer) ?? null : null;
  return read === null || hasHiddenName(disk, { info: read }) ? null : read.sizeBytes;
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
  { hardLinks }: Disk,
  { info: { nlink } }: { readonly info: Pick<DiskInfo, "nlink"> },
): boolean {
  return hardLinks === "refuse" && (nlink ?? 1) > 1;
}

function refuse(opened: DiskFile, refusal: WorkspaceRefusal): Outcome<never> {
  opened.close();
  return failure(refusal);
}
