/** Looks at the disk workspace: reads files, lists directories, tells what is there. */
import { createDigest, digestOf } from "../../lib/secrets.ts";
import { failure, success } from "../../lib/result.ts";
import { mayReadOnIn, suggestible } from "../../lib/suggestible.ts";
import { type Disk, findInside, resolveInside } from "./resolve.ts";
import { attempt, changedMeanwhile, isForeign, isSame, toRefusal, versionOf } from "./directory.ts";
import type { DiskFile, DiskInfo, DiskListing } from "./directory.ts";
import { childPath, isReserved, rootPath, type WorkspacePath } from "../workspace/path.ts";
import type {
  DirectoryEntry,
  EntryInfo,
  Eventually,
  FileContent,
  Outcome,
  ReadPart,
  Workspace,
  WorkspaceRefusal,
} from "../workspace/port.ts";

/** Larger parts are read on another thread; for smaller ones that would cost more than the read. */
const largestSynchronousRead = 256 * 1024;
const chunkBytes = 1024 * 1024;
/** Where a file that may be as it was is read to; larger ones are taken to have changed. */
const scratch = new Uint8Array(16_384);

/** The operations of the port that change nothing. */
export function readingOf(
  disk: Disk,
): Pick<Workspace, "read" | "isStill" | "readInto" | "stat" | "trueNames" | "list"> {
  const { access, innerLinks: { settle }, limits: { maxReadBytes, maxListEntries }, rules, scans } = disk;
  return {
    read: (path, range) =>
      settle<Outcome<FileContent>>(() => {
        const opened = openInside(disk, path, range === undefined ? maxReadBytes : Infinity);
        if (!opened.ok) return opened;
        const { info } = opened.value;
        const offset = Math.min(range?.offsetBytes ?? 0, info.size);
        const length = Math.min(range?.lengthBytes ?? info.size, maxReadBytes, info.size - offset);
        const bytes = new Uint8Array(length);
        return readPart(opened.value, bytes, length, offset, (filled) => toContent(info, bytes.subarray(0, filled)));
      }),
    isStill(path, { bytes, modifiedAt: knownAt }) {
      const room = scratch.subarray(0, bytes.byteLength);
      const opened = openInside(disk, path, scratch.byteLength);
      if (!opened.ok) return false;
      const { info } = opened.value;
      if (info.size !== bytes.byteLength || modifiedAt(info) !== knownAt) {
        opened.value.close();
        return false;
      }
      const read = readPart(opened.value, room, room.byteLength, 0, (filled) => filled === bytes.byteLength);
      return !(read instanceof Promise) && read.ok && read.value && Buffer.compare(room, bytes) === 0;
    },
    readInto: (path, buffer, offset) =>
      settle<Outcome<ReadPart>>(() => {
        const opened = openInside(disk, path, Infinity);
        if (!opened.ok) return opened;
        const sizeBytes = opened.value.info.size;
        const bytes = buffer.byteLength > maxReadBytes ? buffer.subarray(0, maxReadBytes) : buffer;
        const length = Math.max(0, Math.min(bytes.byteLength, sizeBytes - offset));
        return readPart(opened.value, bytes, length, offset, (lengthBytes) => ({ lengthBytes, sizeBytes }));
      }),
    stat: (path) =>
      access.attempt(() => {
        const plain = openPlain(disk, path, "path");
        if (plain !== null) {
          plain.close();
          if (!plain.info.isSymlink) return success(toEntryInfo(plain.info));
        }
        const found = findInside(disk, path);
        if (!found.ok) return found;
        const { directory, name, info } = found.value;
        // another process may have swapped a directory for a link while the path was walked
        return directory.isStillInside(name) ? success(toEntryInfo(info)) : changedMeanwhile;
      }),
    trueNames: (path) =>
      access.attempt(() => {
        const plain = openPlain(disk, path, "path");
        plain?.close();
        if (plain?.info.isSymlink === false) return success([path.text, ...otherNamesOf(disk, plain.info), path.text]);
        const names: string[] = [];
        for (const lastLink of ["follow", "keep"] as const) {
          const resolved = resolveInside(disk, path, lastLink);
          if (!resolved.ok) return resolved;
          const { segments, info } = resolved.value;
          names.push(segments.join("/"), ...lastLink === "follow" ? otherNamesOf(disk, info) : []);
        }
        return success(names);
      }),
    async list(path, { limit = Infinity, after, details = false } = {}) {
      const opened = openListing(disk, path);
      if (!opened.ok) return opened;
      const { segments } = opened.value;
      using listing = opened.value.listing;
      const wanted = Math.min(limit, maxListEntries);
      const isRoot = segments.length === 0;
      const accepts = (name: string): boolean =>
        !(isRoot && isReserved([name])) && !(rules.hasDenied && rules.isDenied([...segments, name]));
      try {
        const found = await scans.read(listing, { path: segments.join("/"), after, size: wanted + 1, accepts });
        if (found === null) return changedMeanwhile;
        const page = found.length > wanted ? found.slice(0, wanted) : found;
        const hasMore = found.length > wanted;
        if (!details) return success({ entries: page, hasMore });
        const entries = page.map((entry) => withDetails(entry, listing));
        return listing.lookAgain() === null ? changedMeanwhile : success({ entries, hasMore });
      } catch (error) {
        return failure(toRefusal(error));
      }
    },
  };
}

function modifiedAt({ mtime }: DiskInfo): number {
  return mtime?.getTime() ?? 0;
}

/** Reads `length` bytes, less where the file became shorter, to the start of `bytes`, and closes the file. */
function readPart<T>(
  file: DiskFile,
  bytes: Uint8Array,
  length: number,
  offset: number,
  toValue: (filled: number) => T,
): Eventually<Outcome<T>> {
  if (length > largestSynchronousRead) {
    return useAndClose(file, async () => success(toValue(await fill(file, bytes.subarray(0, length), offset))));
  }
  return attempt(() => {
    try {
      let filled = 0;
      for (let count = 1; count > 0 && filled < length; filled += count) {
        count = file.read(filled === 0 ? bytes : bytes.subarray(filled), offset + filled);
      }
      return success(toValue(Math.min(filled, length))); // more where the file grew
    } finally {
      file.close();
    }
  });
}

/** Fills `bytes` from `offset` of the file on, and gives how many there were. */
export async function fill(file: DiskFile, bytes: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  while (filled < bytes.byteLength) {
    const count = await file.readLater(bytes.subarray(filled, filled + chunkBytes), offset + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
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

/** Its hash is made when it is asked for. */
function toContent(info: DiskInfo, bytes: Uint8Array): FileContent {
  let sha256: string | undefined;
  return {
    bytes,
    sizeBytes: info.size,
    modifiedAt: modifiedAt(info),
    mode: info.mode,
    get sha256() {
      return bytes.byteLength === info.size ? sha256 ??= digestOf(bytes) : null;
    },
    get version() {
      return versionOf(info);
    },
  };
}

/** The version of the file at `path` if its content has this SHA-256, and a conflict otherwise. */
export async function matchContent(disk: Disk, path: WorkspacePath, sha256: string): Promise<Outcome<string>> {
  const matched = await withFile(disk, path, disk.limits.maxFileBytes, async (file) => {
    const digest = createDigest();
    for await (const piece of readPieces(file)) digest.update(piece);
    return digest.digest("hex") === sha256.toLowerCase()
      ? success(versionOf(file.info))
      : failure({ reason: "conflict" });
  });
  return !matched.ok && matched.error.reason === "not_found" ? failure({ reason: "conflict" }) : matched;
}

/** What `use` makes of the regular file at `path`, which is open until then and has at most `maxBytes`. */
export async function withFile<T>(
  disk: Disk,
  path: WorkspacePath,
  maxBytes: number,
  use: (file: DiskFile) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const opened = await disk.innerLinks.settle(() => openInside(disk, path, maxBytes));
  return opened.ok ? await useAndClose(opened.value, use) : opened;
}

/** The same of a file that is open. */
export async function useAndClose<T>(
  file: DiskFile,
  use: (file: DiskFile) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  try {
    return await use(file);
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    file.close();
  }
}

function toEntryInfo(info: DiskInfo): EntryInfo {
  const kind = info.isDirectory ? "directory" : info.isFile ? "file" : "other";
  return { kind, sizeBytes: info.isFile ? info.size : 0, modifiedAt: modifiedAt(info) };
}

function openListing(disk: Disk, path: WorkspacePath) {
  return disk.access.attempt(() => {
    const plain = isPlain(disk, path) ? disk.access.listPlain(path.text) : null;
    if (plain !== null) return success({ segments: path.segments, listing: plain });
    const resolved = findInside(disk, path);
    if (!resolved.ok) return resolved;
    const { directory, name, segments, info } = resolved.value;
    if (!info.isDirectory) return failure({ reason: "not_a_directory" });
    return success({ segments, listing: directory.list(name) });
  });
}

function withDetails({ name, kind }: DirectoryEntry, listing: DiskListing): DirectoryEntry {
  const info = kind === "link" ? null : listing.entryOf(name);
  if (info === null || isForeign(listing.info, info)) return { name, kind }; // of what is mounted nothing is told
  const at = modifiedAt(info);
  return kind === "file" ? { name, kind, sizeBytes: info.size, modifiedAt: at } : { name, kind, modifiedAt: at };
}

/** Opens the regular file at `path` unless it has more than `maxBytes`. */
function openInside(disk: Disk, path: WorkspacePath, maxBytes: number): Outcome<DiskFile> {
  return disk.access.attempt(() => {
    const plain = openPlain(disk, path, "read");
    if (plain !== null) return judge(disk, plain, maxBytes);
    const found = findInside(disk, path);
    if (!found.ok) return found;
    const { directory, name, info } = found.value;
    const refusal = refusalOf(info, maxBytes); // a device is not even opened
    if (refusal !== null) return failure(refusal);
    const opened = directory.openFile(name, info);
    return opened === null ? changedMeanwhile : judge(disk, opened, maxBytes);
  });
}

/**
 * Opens in one call what lies at `path`, where that is possible and no spelling of it can be another name: no link is
 * on the way then, and what the rules say of the path they say of the file. `null` where names have to be looked at.
 */
function openPlain(disk: Disk, path: WorkspacePath, purpose: "read" | "path"): DiskFile | null {
  return isPlain(disk, path) ? disk.access.openPlain(path.text, purpose) : null;
}

function isPlain({ rules }: Disk, { text, segments }: WorkspacePath): boolean {
  return segments.length > 0 && !mayBeOther.test(text) && !isReserved(segments) && !rules.isDenied(segments);
}

/** What in ASCII has further spellings (resolve.ts): 8.3 names, streams, and what Win32 drops of a name. */
const mayBeOther = /[^\x20-\x7e]|~\d|:|[ .](?:\/|$)/;

function refusalOf({ isDirectory, isFile, size }: DiskInfo, limitBytes: number): WorkspaceRefusal | null {
  if (isDirectory) return { reason: "is_directory" };
  if (!isFile) return { reason: "not_a_file" };
  return size > limitBytes ? { reason: "too_large", sizeBytes: size, limitBytes } : null;
}

/** Closes what is refused. */
function judge(disk: Disk, opened: DiskFile, maxBytes: number): Outcome<DiskFile> {
  const isHidden = opened.info.isFile && hasHiddenName(disk, opened);
  const refusal = isHidden ? { reason: "denied", because: "hard_link" } as const : refusalOf(opened.info, maxBytes);
  if (refusal === null) return success(opened);
  opened.close();
  return failure(refusal);
}

/**
 * Whether one of its names (hard links) may be outside, or is one that a rule keeps from the call. Only someone who can
 * already write the workspace makes one.
 */
export function hasHiddenName(disk: Disk, { info }: Pick<DiskFile, "info">): boolean {
  if ((info.nlink ?? 1) < 2) return false;
  const isThere = (segments: readonly string[]): boolean => {
    const there = disk.access.attempt(() => findInside(disk, childPath(rootPath, segments), "keep"));
    return there.ok && isSame(there.value.info, info) && there.value.segments.join("/") === segments.join("/");
  };
  if (!disk.innerLinks.has(info, suggestible.current() && isThere)) return true;
  return !disk.innerLinks.namesOf(info).every((names) => mayReadOnIn([...disk.rules.root, ...names].join("/")));
}

function otherNamesOf({ innerLinks }: Disk, info: DiskInfo | null): readonly string[] {
  return info?.isFile ? innerLinks.namesOf(info).map((names) => names.join("/")) : [];
}
