/** The workspace on a disk: one directory, opened once by its real path. */
import { resolve } from "node:path";
import type { Disk } from "./context.ts";
import { readingOf } from "./read.ts";
import { type Result, UnusableError } from "../../lib/result.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { pathRemedy, systemFaultWords } from "../../lib/system_fault.ts";
import { exists } from "../../lib/system_path.ts";
import { type AccessPatterns, type AccessRules, createAccessRules } from "../workspace/access_rules.ts";
import type { KernelRoots } from "../kernel/descriptor.ts";
import { createPathRoots, realPathOf } from "./checked_path.ts";
import { createDiskAccess, type DiskAccess, toRefusal } from "./directory.ts";
import { makeDiskDirectory, moveDiskEntry } from "./move.ts";
import { createDirectoryNames, createDirectoryScans } from "./scan.ts";
import { createDiskQuota, createInnerLinks } from "./tree.ts";
import { removeDiskEntry, withRoom } from "./remove.ts";
import { createStaging, sweepStaging } from "./staging.ts";
import { createDiskTrash } from "./disk_trash.ts";
import {
  defaultWorkspaceLimits,
  type TrashLimits,
  type Workspace,
  type WorkspaceLimits,
  type WorkspaceRefusal,
} from "../workspace/port.ts";
import { hasTrash } from "./trash_directory.ts";
import { createWorkspaceTrash } from "./workspace_trash.ts";
import { copyDiskFile, receiveDiskFile, writeDiskFile } from "./write.ts";
import { createKeyedMutex } from "../workspace/change.ts";

export interface DiskWorkspaceOptions {
  /** The directory. It is created, for its owner alone (0700), when it is not there; it may be given as a link. */
  readonly root: string;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  /** After how many milliseconds names of files that have several are looked for again. Default 5,000. */
  readonly recountLinksAfter?: number;
  /** Where given, the kernel confines names; otherwise paths are checked before and after each use. */
  readonly kernel?: KernelRoots | undefined;
  /** What is kept of what changes replace; for no time: what was kept is dropped. Default: nothing. */
  readonly trash?: TrashLimits;
  /** Unguessable names for unfinished files. Default `crypto.randomUUID`. */
  readonly randomId?: () => string;
  readonly clock?: Clock;
}

/** Opens the workspace and sweeps what dead processes left; throws when the directory cannot be made or used. */
export function openDiskWorkspace(options: DiskWorkspaceOptions): Workspace {
  const rules = createAccessRules(options.access);
  const { path, access } = openRoot(options, rules);
  const limits = { ...defaultWorkspaceLimits, ...options.limits };
  const randomId = options.randomId ?? (() => crypto.randomUUID());
  const staging = createStaging(access, randomId);
  try {
    sweepStaging(access);
  } catch (error) {
    toRefusal(error); // a workspace that cannot be written is still good for reading; anything else is a bug
  }
  const clock = options.clock ?? systemClock;
  const opened = options.trash === undefined
    ? null
    : createDiskTrash({ ...options.trash, access, staging, clock, randomId });
  const trash = opened !== null && opened.keepMs > 0 ? opened : null;
  const disk: Disk = {
    path,
    access,
    limits,
    rules,
    innerLinks: createInnerLinks(access, limits, options.recountLinksAfter),
    scans: createDirectoryScans(clock),
    names: createDirectoryNames(clock),
    staging,
    quota: createDiskQuota(access, limits),
    trash,
    change: null,
    writers: createKeyedMutex(),
  };
  if (opened !== null && hasTrash(access)) void opened.tidy(clock());
  const close = async (): Promise<void> => {
    await opened?.close();
    staging.close();
    access.close();
  };
  return workspaceWith(disk, close, [...new Set([path, resolve(options.root)])]);
}

/** The workspace whose operations are steps of the disk's current change, or else separate changes. */
function workspaceWith(disk: Disk, close: () => Promise<void>, directories: readonly string[]): Workspace {
  const { trash, limits, innerLinks: { settle } } = disk;
  const changing = (): Disk => trash === null || disk.change !== null ? disk : { ...disk, change: trash.begin(null) };
  const settled = async <T>(outcome: Promise<T>): Promise<T> => {
    const whole = await outcome;
    if (trash?.isOverfull) await trash.tidy();
    return whole;
  };
  const made = <T, R extends WorkspaceRefusal>(change: (own: Disk) => Promise<Result<T, R>>): Promise<Result<T, R>> => {
    const own = changing();
    return withRoom(own, () => settled(change(own)));
  };
  return {
    directories,
    limits,
    ...readingOf(disk),
    write: (path, bytes, writeOptions) =>
      made(async (own) => await settle(() => writeDiskFile(own, path, bytes, writeOptions))),
    receive: (path, content, receiveOptions) => settled(receiveDiskFile(changing(), path, content, receiveOptions)),
    copy: (from, to, copyOptions) => made(async (own) => await settle(() => copyDiskFile(own, from, to, copyOptions))),
    move: (from, to, moveOptions) => made((own) => moveDiskEntry(own, from, to, moveOptions)),
    remove: (path, removeOptions) => settled(removeDiskEntry(changing(), path, removeOptions)),
    makeDirectory: (path) => made((own) => makeDiskDirectory(own, path)),
    trash: trash === null ? null : createWorkspaceTrash(disk, trash, changing),
    begin: (by, onChange) =>
      workspaceWith({ ...disk, change: trash?.begin(by, onChange) ?? null }, () => Promise.resolve(), directories),
    close,
  };
}

function openRoot(
  { root: directory, kernel }: DiskWorkspaceOptions,
  rules: AccessRules,
): { readonly path: string; readonly access: DiskAccess } {
  try {
    // asked for only when it is needed: a server that may not write can still read
    if (!exists(directory)) Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = realPathOf(directory);
    if (!Deno.lstatSync(path).isDirectory) {
      throw new UnusableError(`the workspace ${path} is not a directory`, another);
    }
    if (Deno.build.os !== "windows") Deno.openSync(path).close(); // an error now, not at each call of an agent
    if (path === "/") throw new UnusableError("the workspace cannot be the root of the file system", another);
    const access = createDiskAccess(path, kernel ?? createPathRoots(rules));
    return { path, access };
  } catch (error) {
    const words = systemFaultWords(error);
    if (words === null) throw error;
    const problem = `the workspace ${directory} cannot be used: ${words}`;
    throw new UnusableError(problem, pathRemedy(error, another), { cause: error });
  }
}

const another = "choose another with --workspace (WORKSPACE_DIR)";
