/**
 * Drafts in the staging directory, in a directory of their own: they outlive the process. One that has a draft open
 * holds a lock on its file, which the kernel drops however the process ends.
 */
import { stagingDirectoryName } from "../workspace/path.ts";
import {
  type DiskAccess,
  type DiskDirectory,
  type DiskFile,
  type DiskLock,
  errorCode,
  isForeign,
  isSame,
} from "./directory.ts";
import { sha256Of } from "../../lib/sha256.ts";
import type { WorkspaceLimits } from "../workspace/port.ts";

// The staging directory in the workspace's root.

/** The staging directory; `null` where something else has its name, such as a link that would take writes outside. */
export function existingDirectory(access: DiskAccess): DiskDirectory | null {
  const root = access.root();
  const info = root?.statusOf(stagingDirectoryName);
  if (!root || !info?.isDirectory || isForeign(root.status(), info)) return null;
  return root.enter(stagingDirectoryName);
}

/** The same, made when there is none. */
export function ensureDirectory(access: DiskAccess): DiskDirectory | null {
  const existing = existingDirectory(access);
  if (existing !== null) return existing;
  access.root()?.makeDirectory(stagingDirectoryName, 0o700);
  return existingDirectory(access);
}

const draftsDirectoryName = "drafts";
/** Each is lost to another process that removes the file. */
const maxAttempts = 10;

export interface OpenedDraft {
  readonly name: string;
  /** What is written goes to its end. */
  readonly file: DiskFile;
  readonly lock: DiskLock;
}

/** A name for a draft's file that no id can choose. */
export function draftName(id: string): string {
  return sha256Of(id).toHex();
}

/** Opens a draft, which is made when it is missing; `null` while another has it open. */
export function openDraftFile(staging: DiskDirectory, name: string, isNew: boolean): OpenedDraft | null {
  staging.makeDirectory(draftsDirectoryName, 0o700);
  const drafts = enterDrafts(staging);
  let isEmptied = !isNew;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    createIfMissing(drafts, name);
    const lock = drafts.openLock(name, false);
    if (lock === null) continue; // another process has swept it
    let opened: OpenedDraft | null = null;
    try {
      if (!tryLock(lock)) return null;
      const there = drafts.statusOf(name);
      const isOurs = there !== null && isSame(there, lock.info);
      if (isOurs && (isEmptied || there.size === 0)) return opened = { name, file: drafts.openToAppend(name), lock };
      if (isOurs) drafts.removeFile(name);
      isEmptied = true;
    } finally {
      if (opened === null) lock.close();
    }
  }
  return null;
}

/** The directory of the drafts, which is there. */
export function enterDrafts(staging: DiskDirectory): DiskDirectory {
  if (staging.statusOf(draftsDirectoryName)?.isDirectory !== true) {
    throw Object.assign(new Error("the drafts are no directory"), { code: "ESTALE" });
  }
  return staging.enter(draftsDirectoryName);
}

/** Makes a draft of a staged file again, which a process that died was about to put in place. */
export function restoreDraft(staging: DiskDirectory, staged: string, name: string): void {
  staging.makeDirectory(draftsDirectoryName, 0o700);
  if (!staging.renameNew(staged, enterDrafts(staging), name)) staging.removeTree(staged);
}

/** Windows keeps the one who has locked a file from writing it by another handle; one process writes there. */
function tryLock(lock: DiskLock): boolean {
  return Deno.build.os === "windows" || lock.tryLock();
}

function createIfMissing(drafts: DiskDirectory, name: string): void {
  try {
    drafts.createFile(name).close(); // not by the lock: its mode is that of the file to be
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/**
 * Removes the drafts for which nothing has come for too long, and where there are too many the oldest that are not
 * open. Gives the sizes of the others.
 */
export function sweepDraftFiles(
  access: DiskAccess,
  { draftKeepMs, maxDrafts }: WorkspaceLimits,
  now: number,
): ReadonlyMap<string, number> {
  return access.step(() => {
    const staging = existingDirectory(access);
    if (staging?.statusOf(draftsDirectoryName)?.isDirectory !== true) return new Map();
    const drafts = staging.enter(draftsDirectoryName);
    using listing = drafts.list(".");
    const found = Array.from(listing.entries(), ({ name }) => ({ name, info: drafts.statusOf(name) }))
      .flatMap(({ name, info }) => info === null ? [] : [{ name, size: info.size, at: info.mtime?.getTime() ?? 0 }])
      .sort((one, other) => other.at - one.at);
    const kept = new Map<string, number>();
    for (const { name, size, at } of found) {
      const isWanted = at + draftKeepMs > now && kept.size < maxDrafts;
      if (isWanted || !removeIdle(drafts, name)) kept.set(name, size);
    }
    return kept;
  });
}

/** Removes a draft unless it is open. */
function removeIdle(drafts: DiskDirectory, name: string): boolean {
  const lock = drafts.openLock(name, false);
  if (lock === null) return true;
  try {
    if (!tryLock(lock)) return false;
    drafts.removeTree(name);
    return true;
  } finally {
    lock.close();
  }
}
