/** Reads files of the disk workspace. Small ones at once: an asynchronous step costs more than the read. */
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { type DiskFile, type DiskInfo, type DiskListing, toRefusal, versionOf } from "./directory.ts";
import type { InnerLinks } from "./inner_links.ts";
import { findInside, resolveInside } from "./resolve.ts";
import { isReserved, type WorkspacePath } from "../workspace/path.ts";
import type {
  ByteRange,
  DirectoryEntry,
  Eventually,
  FileContent,
  Listing,
  ListOptions,
  Outcome,
  ReadPart,
  WorkspaceRefusal,
} from "../workspace/port.ts";
import { createDigest, digestOf } from "../../lib/secrets.ts";

// Opens a file of the disk workspace for reading, and judges what was opened.

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
  return read === null || read.nlink > 1 ? null : read.sizeBytes;
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

/** Whether one of its names (hard links) may be outside. Only someone who can already write the workspace makes one. */
export function hasHiddenName(
  { innerLinks }: Disk,
  { info }: { readonly info: Parameters<InnerLinks["has"]>[0] },
): boolean {
  return (info.nlink ?? 1) > 1 && !innerLinks.has(info);
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

const largestSynchronousRead = 256 * 1024;
const chunkBytes = 1024 * 1024;
/** Where small files are read to first: what a file had the last time is given without a copy. */
const scratchBytes = 16_384;
let scratch: Buffer | undefined;

/** The content of the regular file at `path`, or the part of it that `range` asks for; `known` where it is the same. */
export function readDiskFile(
  disk: Disk,
  path: WorkspacePath,
  range?: ByteRange,
  known?: FileContent,
): Eventually<Outcome<FileContent>> {
  const { maxReadBytes } = disk.limits;
  const opened = openInside(disk, path, range === undefined ? maxReadBytes : Infinity);
  if (!opened.ok) return opened;
  const file = opened.value;
  const { size } = file.info;
  if (range === undefined && size <= scratchBytes) {
    const bytes = scratch ??= Buffer.alloc(scratchBytes);
    return readPart(file, bytes, 0, (filled) => toContent(file.info, bytes, Math.min(filled, size), known), size);
  }
  const offset = Math.min(range?.offsetBytes ?? 0, size);
  const length = Math.min(range?.lengthBytes ?? size, maxReadBytes, size - offset);
  const bytes = new Uint8Array(length);
  return readPart(
    file,
    bytes,
    offset,
    (filled) => new DiskContent(file.info, filled === length ? bytes : bytes.subarray(0, filled)),
  );
}

/** The first of these bytes as the content of a file. */
function toContent(info: DiskInfo, bytes: Buffer, length: number, known: FileContent | undefined): FileContent {
  const isKnown = known !== undefined && known.bytes.length === length && known.modifiedAt === modifiedAt(info) &&
    bytes.compare(known.bytes, 0, length, 0, length) === 0;
  return isKnown ? known : new DiskContent(info, new Uint8Array(bytes.subarray(0, length)));
}

function modifiedAt({ mtime }: DiskInfo): number {
  return mtime?.getTime() ?? 0;
}

/** Reads from `offset` of the regular file at `path` into `buffer`. Listing has looked at the root a moment before. */
export function readDiskFileInto(
  disk: Disk,
  path: WorkspacePath,
  buffer: Uint8Array,
  offset: number,
): Eventually<Outcome<ReadPart>> {
  const { maxReadBytes } = disk.limits;
  const opened = openInside(disk, path, Infinity, true);
  if (!opened.ok) return opened;
  const file = opened.value;
  const sizeBytes = file.info.size;
  const length = Math.max(0, Math.min(buffer.byteLength, maxReadBytes, sizeBytes - offset));
  const bytes = length === buffer.byteLength ? buffer : buffer.subarray(0, length);
  return readPart(file, bytes, offset, (lengthBytes) => ({ lengthBytes, sizeBytes }));
}

/** The content of an opened file from its start, in pieces; the file stays open. */
export async function* readPieces(file: DiskFile): AsyncGenerator<Uint8Array> {
  const { size } = file.info;
  for (let offset = 0; offset < size;) {
    const buffer = new Uint8Array(Math.min(chunkBytes, size - offset));
    const count = await file.readLater(buffer, offset);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    offset += count;
  }
}

/** Fills `bytes`, or `length` of them, less where the file became shorter, and closes the file. */
function readPart<T>(
  file: DiskFile,
  bytes: Uint8Array,
  offset: number,
  toValue: (filled: number) => T,
  length = bytes.byteLength,
): Eventually<Outcome<T>> {
  if (length > largestSynchronousRead) return readLater(file, bytes, offset, toValue);
  try {
    let filled = 0;
    while (filled < length) {
      const count = file.read(filled === 0 ? bytes : bytes.subarray(filled), offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return success(toValue(filled));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
  }
}

async function readLater<T>(
  file: DiskFile,
  bytes: Uint8Array,
  offset: number,
  toValue: (filled: number) => T,
): Promise<Outcome<T>> {
  try {
    let filled = 0;
    while (filled < bytes.byteLength) {
      const count = await file.readLater(bytes.subarray(filled, filled + chunkBytes), offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return success(toValue(filled));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
  }
}

/** A class: making an object with getters of its own would take 0.2 microseconds more. */
class DiskContent implements FileContent {
  readonly bytes: Uint8Array;
  readonly sizeBytes: number;
  readonly modifiedAt: number;
  readonly #info: DiskInfo;
  #sha256: string | undefined;

  constructor(info: DiskInfo, bytes: Uint8Array) {
    this.bytes = bytes;
    this.sizeBytes = info.size;
    this.modifiedAt = modifiedAt(info);
    this.#info = info;
  }

  get sha256(): string | null {
    if (this.bytes.byteLength !== this.sizeBytes) return null;
    return this.#sha256 ??= digestOf(this.bytes); // made when it is asked for
  }

  get version(): string {
    return versionOf(this.#info);
  }
}

// Compares the content of a file of the disk workspace with what a caller expects.

/** The version of the file at `path` if its content has this SHA-256, and a conflict otherwise. */
export async function matchContent(disk: Disk, path: WorkspacePath, sha256: string): Promise<Outcome<string>> {
  const opened = openInside(disk, path, disk.limits.maxFileBytes);
  if (!opened.ok) return opened.error.reason === "not_found" ? failure({ reason: "conflict" }) : opened;
  const file = opened.value;
  try {
    const digest = createDigest();
    for await (const piece of readPieces(file)) digest.update(piece);
    return digest.digest("hex") === sha256.toLowerCase()
      ? success(versionOf(file.info))
      : failure({ reason: "conflict" });
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
  }
}
