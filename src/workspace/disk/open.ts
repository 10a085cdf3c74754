/**
 * Opens a file of the disk workspace for reading: resolve, open without following or blocking, then check that what
 * was opened is what was found and still is inside.
 */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { failure, success } from "../../lib/result.ts";
import type { Disk } from "./context.ts";
import { toRefusal } from "./refusal.ts";
import { isSame } from "./entry.ts";
import { findInside, isStillInside } from "./resolve.ts";
import type { WorkspacePath } from "../path.ts";
import type { Outcome, WorkspaceRefusal } from "../port.ts";

/** A file that its user closes. */
export interface OpenedFile {
  readonly descriptor: number;
  readonly sizeBytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Changes whenever the content does. */
  readonly version: string;
  readonly mode: number;
}

/** Opens the regular file at `path` unless it has more than `maxBytes`. */
export function openInside(disk: Disk, path: WorkspacePath, maxBytes: number): Outcome<OpenedFile> {
  const found = findInside(disk, path);
  if (!found.ok) return found;
  const { info, path: absolute } = found.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  if (info.size > maxBytes) return failure({ reason: "too_large", sizeBytes: info.size, limitBytes: maxBytes });
  let descriptor: number | null = null;
  try {
    // O_NONBLOCK: should a pipe have taken the file's place by now, opening it returns instead of waiting for a writer
    descriptor = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const status = fstatSync(descriptor);
    // between any two steps another process may swap a directory or the file; what was opened must be what was found
    const unchanged = status.isFile() && isSame(info, status.dev, status.ino) && isStillInside(disk, absolute) &&
      isSame(Deno.lstatSync(absolute), status.dev, status.ino);
    if (!unchanged) return refuse(descriptor, { reason: "denied", because: "changed_while_opening" });
    if (disk.hardLinks === "refuse" && status.nlink > 1) {
      return refuse(descriptor, { reason: "denied", because: "hard_link" });
    }
    if (status.size > maxBytes) {
      return refuse(descriptor, { reason: "too_large", sizeBytes: status.size, limitBytes: maxBytes });
    }
    return success({
      descriptor,
      sizeBytes: status.size,
      modifiedAt: status.mtimeMs,
      version: versionOf(info),
      mode: status.mode,
    });
  } catch (error) {
    const refusal = toRefusal(error);
    return descriptor === null ? failure(refusal) : refuse(descriptor, refusal);
  }
}

/** Changes whenever the content does: every write here makes a new inode, and others change size or times. */
export function versionOf(info: Deno.FileInfo): string {
  return [info.ino, info.size, info.mtime?.getTime(), info.ctime?.getTime()].join("-");
}

function refuse(descriptor: number, refusal: WorkspaceRefusal): Outcome<never> {
  closeSync(descriptor);
  return failure(refusal);
}
