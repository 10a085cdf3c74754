/** The workspace on a disk: one directory, opened once by its real path. */
import { listDiskDirectory } from "./disk_list.ts";
import { readDiskFile } from "./disk_read.ts";
import { toRefusal } from "./disk_refusal.ts";
import { type DiskRoot, lstatOrNull } from "./disk_resolve.ts";
import { createStaging, sweepStaging } from "./disk_staging.ts";
import { writeDiskFile } from "./disk_write.ts";
import { defaultWorkspaceLimits, type Workspace, type WorkspaceLimits } from "./port.ts";

/** Settings of a disk workspace. */
export interface DiskWorkspaceOptions {
  /** The directory. It is created, for its owner alone (0700), when it is not there; it may be given as a link. */
  readonly root: string;
  readonly limits?: Partial<WorkspaceLimits>;
  /**
   * Whether files with several names (hard links) may be read. A name inside may belong to a file outside, but only
   * someone who can already write the workspace's directory makes one. Default `refuse`; package stores such as pnpm's
   * need `allow`. Writing never changes the other names: the new content is a new file.
   */
  readonly hardLinks?: "allow" | "refuse";
  /** Unguessable names for unfinished files. Default `crypto.randomUUID`. */
  readonly randomId?: () => string;
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
  const readOptions = { maxReadBytes: limits.maxReadBytes, hardLinks: options.hardLinks ?? "refuse" };
  const writeOptions = { staging, maxWriteBytes: limits.maxWriteBytes };
  return {
    limits,
    read: (path) => readDiskFile(root, path, readOptions),
    write: (path, bytes) => writeDiskFile(root, path, bytes, writeOptions),
    list: (path) => listDiskDirectory(root, path, limits),
    close() {
      staging.close();
      return Promise.resolve();
    },
  };
}

function openRoot(directory: string): DiskRoot {
  // asked for only when it is needed: a server that may not write can still read
  if (lstatOrNull(directory) === null) Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = Deno.realPathSync(directory);
  const info = Deno.lstatSync(path);
  if (!info.isDirectory) throw new Error(`The workspace ${path} is not a directory`);
  if (path === "/") throw new Error("The workspace cannot be the root of the file system");
  return { path, device: info.dev, inode: info.ino };
}
