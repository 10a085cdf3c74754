/**
 * Writes a file of the disk workspace: the content goes to a staged file and reaches the disk; then, without giving
 * up control in between, the target is resolved and checked again and the staged file renamed onto it. Readers and a
 * power cut see the old content or the new, and a hard link to a file outside is left alone.
 */
import { hash } from "node:crypto";
import { closeSync, fchmodSync, fdatasync, write } from "node:fs";
import { promisify } from "node:util";
import { failure, type Result, success } from "../lib/result.ts";
import { toRefusal } from "./disk_refusal.ts";
import { absolutePath, type DiskRoot, isSame, isStillInside, lstatOrNull, resolveInside } from "./disk_resolve.ts";
import { removeIfThere, type StagedFile, type Staging } from "./disk_staging.ts";
import { newNameProblem, type WorkspacePath } from "./path.ts";
import type { WorkspaceRefusal, WrittenFile } from "./port.ts";

/** What the disk writer works with. */
export interface DiskWriteOptions {
  readonly staging: Staging;
  readonly maxWriteBytes: number;
}

const permissionBits = 0o777; // not set-user-id and its kin: they vouch for the old content
const writeBits = 0o222;
const writeAsync = promisify(write);
const fdatasyncAsync = promisify(fdatasync);

/** Replaces or creates the file at `path`, with the directories that lead to it. */
export async function writeDiskFile(
  root: DiskRoot,
  path: WorkspacePath,
  bytes: Uint8Array,
  { staging, maxWriteBytes }: DiskWriteOptions,
): Promise<Result<WrittenFile, WorkspaceRefusal>> {
  if (bytes.byteLength > maxWriteBytes) {
    return failure({ reason: "too_large", sizeBytes: bytes.byteLength, limitBytes: maxWriteBytes });
  }
  const target = findTarget(root, path); // before the first byte is written
  if (!target.ok) return target;
  const staged = staging.create();
  if (!staged.ok) return staged;
  let isRenamed = false;
  try {
    await fill(staged.value, bytes, target.value.mode);
    const created = commit(root, path, staged.value);
    isRenamed = created.ok;
    if (!created.ok) return created;
    return success({ sizeBytes: bytes.byteLength, sha256: hash("sha256", bytes), created: created.value });
  } catch (error) {
    return failure(toRefusal(error));
  } finally {
    if (!isRenamed) removeIfThere(staged.value.path);
  }
}

interface Target {
  /** The names of the directory that is there, and those still to be made below it, the file's own last. */
  readonly directory: readonly string[];
  readonly missing: readonly string[];
  /** Permission bits to keep, or `null` for a new file. */
  readonly mode: number | null;
}

function findTarget(root: DiskRoot, path: WorkspacePath): Result<Target, WorkspaceRefusal> {
  const resolved = resolveInside(root, path);
  if (!resolved.ok) return resolved;
  if (!resolved.value.found) {
    const { segments, missing } = resolved.value;
    for (const name of missing) {
      const rule = newNameProblem(name);
      if (rule !== null) return failure({ reason: "bad_name", rule });
    }
    return success({ directory: segments, missing, mode: null });
  }
  const { info, segments } = resolved.value;
  if (info.isDirectory) return failure({ reason: "is_directory" });
  if (!info.isFile) return failure({ reason: "not_a_file" });
  const mode = info.mode === null ? null : info.mode & permissionBits;
  // a rename needs no permission on the file itself; someone who took the write bits away meant it
  if (mode !== null && (mode & writeBits) === 0) return failure({ reason: "denied", because: "read_only" });
  return success({ directory: segments.slice(0, -1), missing: segments.slice(-1), mode });
}

async function fill({ descriptor }: StagedFile, bytes: Uint8Array, mode: number | null): Promise<void> {
  try {
    let written = 0;
    while (written < bytes.byteLength) {
      const { bytesWritten } = await writeAsync(descriptor, bytes, written, bytes.byteLength - written, null);
      written += bytesWritten;
    }
    if (mode !== null) fchmodSync(descriptor, mode);
    await fdatasyncAsync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames the staged file onto the target; says whether that made a new file. Nothing else runs in between. */
function commit(root: DiskRoot, path: WorkspacePath, staged: StagedFile): Result<boolean, WorkspaceRefusal> {
  const target = findTarget(root, path); // again: it may have changed while the content was written
  if (!target.ok) return target;
  const { directory, missing, mode } = target.value;
  const parents = [...directory];
  for (const name of missing.slice(0, -1)) {
    parents.push(name);
    Deno.mkdirSync(absolutePath(root, parents));
  }
  const parent = absolutePath(root, parents);
  const info = lstatOrNull(parent);
  if (info === null || !info.isDirectory || info.dev !== root.device || !isStillInside(root, parent)) {
    return failure({ reason: "denied", because: "changed_while_opening" });
  }
  const final = `${parent}/${missing[missing.length - 1]}`;
  const content = Deno.lstatSync(staged.path);
  Deno.renameSync(staged.path, final);
  const after = lstatOrNull(final);
  if (after === null || !isSame(after, content.dev, content.ino) || !isStillInside(root, final)) {
    return failure({ reason: "denied", because: "changed_while_opening" });
  }
  return success(mode === null);
}
