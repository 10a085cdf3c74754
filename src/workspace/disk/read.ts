/** Reads files of the disk workspace. Small ones at once: an asynchronous step costs more than the read. */
import { hash } from "node:crypto";
import { close, closeSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { type OpenedFile, openInside } from "./open.ts";
import { toRefusal } from "./refusal.ts";
import type { WorkspacePath } from "../path.ts";
import type { ByteRange, Eventually, FileContent, Outcome, ReadPart } from "../port.ts";

const largestSynchronousRead = 256 * 1024;
const chunkBytes = 1024 * 1024;
const readAsync = promisify(read);
const closeAsync = promisify(close);

/** The content of the regular file at `path`, or the part of it that `range` asks for. */
export function readDiskFile(disk: Disk, path: WorkspacePath, range?: ByteRange): Eventually<Outcome<FileContent>> {
  const { maxReadBytes } = disk.limits;
  const opened = openInside(disk, path, range === undefined ? maxReadBytes : Infinity);
  if (!opened.ok) return opened;
  const file = opened.value;
  const offset = Math.min(range?.offsetBytes ?? 0, file.sizeBytes);
  const length = Math.min(range?.lengthBytes ?? file.sizeBytes, maxReadBytes, file.sizeBytes - offset);
  const bytes = new Uint8Array(length);
  return readPart(file, bytes, offset, (filled) => toContent(file, bytes.subarray(0, filled)));
}

/** Reads from `offset` of the regular file at `path` into `buffer`. */
export function readDiskFileInto(
  disk: Disk,
  path: WorkspacePath,
  buffer: Uint8Array,
  offset: number,
): Eventually<Outcome<ReadPart>> {
  const opened = openInside(disk, path, Infinity);
  if (!opened.ok) return opened;
  const file = opened.value;
  const { sizeBytes } = file;
  const length = Math.max(0, Math.min(buffer.byteLength, disk.limits.maxReadBytes, sizeBytes - offset));
  const bytes = length === buffer.byteLength ? buffer : buffer.subarray(0, length);
  return readPart(file, bytes, offset, (lengthBytes) => ({ lengthBytes, sizeBytes }));
}

/** The content of an opened file from its start, in pieces; the file stays open. */
export async function* readPieces(file: OpenedFile): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < file.sizeBytes;) {
    const wanted = Math.min(chunkBytes, file.sizeBytes - offset);
    const { bytesRead, buffer } = await readAsync(file.descriptor, new Uint8Array(wanted), 0, wanted, offset);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    offset += bytesRead;
  }
}

/** Fills `bytes`, less where the file became shorter, and closes the file. */
function readPart<T>(
  file: OpenedFile,
  bytes: Uint8Array,
  offset: number,
  toValue: (filled: number) => T,
): Eventually<Outcome<T>> {
  const length = bytes.byteLength;
  if (length > largestSynchronousRead) return readLater(file, bytes, offset, toValue);
  try {
    let filled = 0;
    while (filled < length) {
      const count = readSync(file.descriptor, bytes, filled, length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return success(toValue(filled));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    closeSync(file.descriptor);
  }
}

async function readLater<T>(
  file: OpenedFile,
  bytes: Uint8Array,
  offset: number,
  toValue: (filled: number) => T,
): Promise<Outcome<T>> {
  try {
    let filled = 0;
    while (filled < bytes.byteLength) {
      const wanted = Math.min(chunkBytes, bytes.byteLength - filled);
      const { bytesRead } = await readAsync(file.descriptor, bytes, filled, wanted, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return success(toValue(filled));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    await closeAsync(file.descriptor);
  }
}

function toContent({ sizeBytes, modifiedAt, version }: OpenedFile, bytes: Uint8Array): FileContent {
  const isWhole = bytes.byteLength === sizeBytes;
  let sha256: string | null = null;
  return {
    bytes,
    sizeBytes,
    get sha256() {
      return isWhole ? sha256 ??= hash("sha256", bytes) : null; // made when it is asked for
    },
    version,
    modifiedAt,
  };
}
