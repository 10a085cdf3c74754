/**
 * Reads a file of the disk workspace: resolve, open without following or blocking, then check that what was opened is
 * what was found and still is inside. Small files are read at once; an asynchronous step costs more than the read.
 */
import { hash } from "node:crypto";
import { close, closeSync, constants, fstatSync, openSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import { failure, type Result, success } from "../lib/result.ts";
import { toRefusal } from "./disk_refusal.ts";
import { type DiskRoot, isSame, isStillInside, resolveInside } from "./disk_resolve.ts";
import type { WorkspacePath } from "./path.ts";
import type { Eventually, FileContent, WorkspaceRefusal } from "./port.ts";

/** What the disk reader holds itself to. */
export interface DiskReadOptions {
  readonly maxReadBytes: number;
  /** `refuse` keeps files with more than one name from being read: one of the names may be outside. */
  readonly hardLinks: "allow" | "refuse";
}

const largestSynchronousRead = 256 * 1024;
const chunkBytes = 1024 * 1024;
const readAsync = promisify(read);
const closeAsync = promisify(close);

/** The content of the regular file at `path`, unless it is larger than the limit. */
export function readDiskFile(
  root: DiskRoot,
  path: WorkspacePath,
  options: DiskReadOptions,
): Eventually<Result<FileContent, WorkspaceRefusal>> {
  const opened = openInside(root, path, options);
  if (!opened.ok) return opened;
  const { descriptor, size, modifiedAt } = opened.value;
  if (size > largestSynchronousRead) return readLater(descriptor, size, modifiedAt);
  try {
    const bytes = new Uint8Array(size);
    let filled = 0;
    while (filled < size) {
      const count = readSync(descriptor, bytes, filled, size - filled, null);
      if (count === 0) break; // the file became shorter
      filled += count;
    }
    return success(toContent(bytes.subarray(0, filled), modifiedAt));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    closeSync(descriptor);
  }
}

interface OpenedFile {
  readonly descriptor: number;
  readonly size: number;
  readonly modifiedAt: number;
}

function openInside(
  root: DiskRoot,
  path: WorkspacePath,
  { maxReadBytes, hardLinks }: DiskReadOptions,
): Result<OpenedFile, WorkspaceRefusal> {
  const resolved = resolveInside(root, path);
  if (!resolved.ok) return resolved;
  if (!resolved.value.found) return failure({ reason: "not_found" });
  const { info, path: absolute } = resolved.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  if (info.size > maxReadBytes) return failure({ reason: "too_large", sizeBytes: info.size, limitBytes: maxReadBytes });
  let descriptor: number | null = null;
  try {
    // O_NONBLOCK: should a pipe have taken the file's place by now, opening it returns instead of waiting for a writer
    descriptor = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const status = fstatSync(descriptor);
    // between any two steps another process may swap a directory or the file; what was opened must be what was found
    const unchanged = status.isFile() && isSame(info, status.dev, status.ino) && isStillInside(root, absolute) &&
      isSame(Deno.lstatSync(absolute), status.dev, status.ino);
    if (!unchanged) return refuse(descriptor, { reason: "denied", because: "changed_while_opening" });
    if (hardLinks === "refuse" && status.nlink > 1) {
      return refuse(descriptor, { reason: "denied", because: "hard_link" });
    }
    if (status.size > maxReadBytes) {
      return refuse(descriptor, { reason: "too_large", sizeBytes: status.size, limitBytes: maxReadBytes });
    }
    return success({ descriptor, size: status.size, modifiedAt: status.mtimeMs });
  } catch (error) {
    const refusal = toRefusal(error);
    return descriptor === null ? failure(refusal) : refuse(descriptor, refusal);
  }
}

function refuse(descriptor: number, refusal: WorkspaceRefusal): Result<never, WorkspaceRefusal> {
  closeSync(descriptor);
  return failure(refusal);
}

async function readLater(
  descriptor: number,
  size: number,
  modifiedAt: number,
): Promise<Result<FileContent, WorkspaceRefusal>> {
  try {
    const bytes = new Uint8Array(size);
    let filled = 0;
    while (filled < size) {
      const { bytesRead } = await readAsync(descriptor, bytes, filled, Math.min(chunkBytes, size - filled), null);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return success(toContent(bytes.subarray(0, filled), modifiedAt));
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    await closeAsync(descriptor);
  }
}

function toContent(bytes: Uint8Array, modifiedAt: number): FileContent {
  return { bytes, sha256: hash("sha256", bytes), modifiedAt };
}
