/** The workspace on a disk: one directory, opened once by its real path. */
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { pathRemedy, systemFaultWords } from "../../lib/system_fault.ts";
import { systemTimers } from "../../lib/time/timers.ts";
import { failure, success } from "../../lib/result.ts";
import { type AccessPatterns, createAccessRules } from "../access_rules.ts";
import type { Disk } from "./context.ts";
import { listDiskDirectory } from "./list.ts";
import { makeDiskDirectory } from "./make_directory.ts";
import { moveDiskEntry } from "./move.ts";
import { createDirectoryNames } from "./names.ts";
import { createDiskQuota } from "./quota.ts";
import { readDiskFile, readDiskFileInto } from "./read.ts";
import { toRefusal } from "./refusal.ts";
import { removeDiskEntry } from "./remove.ts";
import { type DiskRoot, lstatOrNull, realPathOf } from "./entry.ts";
import { findInside, isStillInside } from "./resolve.ts";
import { createDirectoryScans } from "./scan.ts";
import { createStaging, sweepStaging } from "./staging.ts";
import { copyDiskFile, writeDiskFile } from "./write.ts";
import { createKeyedMutex } from "../keyed_mutex.ts";
import type { WorkspacePath } from "../path.ts";
import { UnusableWorkspaceError } from "../unusable_workspace.ts";
import { defaultWorkspaceLimits, type EntryInfo, type Outcome, type Workspace, type WorkspaceLimits } from "../port.ts";

export interface DiskWorkspaceOptions {
  /** The directory. It is created, for its owner alone (0700), when it is not there; it may be given as a link. */
  readonly root: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  /**
   * Whether files with several names (hard links) may be read. A name inside may belong to a file outside, but only
   * someone who can already write the workspace's directory makes one. Default `refuse`; package stores such as pnpm's
   * need `allow`. Writing never changes the other names: the new content is a new file.
   */
  readonly hardLinks?: "allow" | "refuse";
  /** Unguessable names for unfinished files. Default `crypto.randomUUID`. */
  readonly randomId?: () => string;
  readonly clock?: Clock;
}

/** Opens the workspace and sweeps what dead processes left; throws when the directory cannot be made or used. */
export function openDiskWorkspace(options: DiskWorkspaceOptions): Workspace {
  const root = openRoot(options.root);
  const limits = { ...defaultWorkspaceLimits, ...options.limits };
  const staging = createStaging(root, options.randomId ?? (() => crypto.randomUUID()));
  try {
    sweepStaging(root);
  } catch (error) {
    toRefusal(error); // a workspace that cannot be written is still good for reading; anything else is a bug
  }
  const clock = options.clock ?? systemClock;
  const disk: Disk = {
    root,
    limits,
    rules: createAccessRules(options.access),
    hardLinks: options.hardLinks ?? "refuse",
    scans: createDirectoryScans({ clock }),
    names: createDirectoryNames(clock),
    staging,
    quota: createDiskQuota(root, limits, systemTimers.elapsed),
    writers: createKeyedMutex(),
  };
  return {
    limits,
    read: (path, range) => readDiskFile(disk, path, range),
    readInto: (path, buffer, offset) => readDiskFileInto(disk, path, buffer, offset),
    stat: (path) => statDiskEntry(disk, path),
    list: (path, listOptions) => listDiskDirectory(disk, path, listOptions),
    write: (path, bytes, writeOptions) => writeDiskFile(disk, path, bytes, writeOptions),
    copy: (from, to, copyOptions) => copyDiskFile(disk, from, to, copyOptions),
    move: (from, to, moveOptions) => moveDiskEntry(disk, from, to, moveOptions),
    remove: (path, removeOptions) => removeDiskEntry(disk, path, removeOptions),
    makeDirectory: (path) => makeDiskDirectory(disk, path),
    close() {
      staging.close();
      return Promise.resolve();
    },
  };
}

function statDiskEntry(disk: Disk, path: WorkspacePath): Outcome<EntryInfo> {
  const found = findInside(disk, path);
  if (!found.ok) return failure(found.error);
  const { info, path: absolute } = found.value;
  // another process may have swapped a directory for a link while the path was walked
  try {
    if (!isStillInside(disk, absolute)) return failure({ reason: "denied", because: "changed_while_opening" });
  } catch (error) {
    return failure(toRefusal(error)); // it is gone since
  }
  const kind = info.isDirectory ? "directory" : info.isFile ? "file" : "other";
  return success({ kind, sizeBytes: info.isFile ? info.size : 0, modifiedAt: info.mtime?.getTime() ?? 0 });
}

function openRoot(directory: string): DiskRoot {
  try {
    // asked for only when it is needed: a server that may not write can still read
    if (lstatOrNull(directory) === null) Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = realPathOf(directory);
    const info = Deno.lstatSync(path);
    if (!info.isDirectory) throw new UnusableWorkspaceError(`the workspace ${path} is not a directory`, another);
    if (path === "/") throw new UnusableWorkspaceError("the workspace cannot be the root of the file system", another);
    return { path, device: info.dev, inode: info.ino };
  } catch (error) {
    const words = systemFaultWords(error);
    if (words === null) throw error;
    const problem = `the workspace ${directory} cannot be used: ${words}`;
    throw new UnusableWorkspaceError(problem, pathRemedy(error, another), { cause: error });
  }
}

const another = "choose another with --workspace (WORKSPACE_DIR)";
