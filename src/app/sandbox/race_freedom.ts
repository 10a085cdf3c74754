/**
 * Whether the confinement of paths holds against another process that swaps directories for links while a call runs:
 * where the kernel resolves names it does. Elsewhere paths are checked and then used, and it holds only where the file
 * system helps.
 */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { KernelAccess } from "../../files/kernel/kernel.ts";

/**
 * `kernel`: openat2 resolves each name below the workspace's directory. `own_mount`: the workspace is a whole file
 * system, and what is opened is checked to be on it.
 */
export type RaceFreedom =
  | { readonly raceFree: true; readonly because: "kernel" | "own_mount" }
  | {
    readonly raceFree: false;
    /** Why the kernel does not resolve names. */
    readonly reason: string;
  };

/**
 * The inode of the root directory, by the type that statfs(2) gives. A directory of a file system that is mounted by
 * itself is no root: what lies beside it has the same device number. XFS has several roots, so it is not told apart.
 */
const rootInodes = new Map([
  [0xef53, 2], // ext2, ext3, ext4
  [0x01021994, 1], // tmpfs
  [0x9123683e, 256], // btrfs, where each subvolume has its own device number
]);

/** Looks at a workspace directory, given by its real path. */
export function raceFreedomOf(workspaceDir: string, kernel: KernelAccess): RaceFreedom {
  if (kernel.available) return { raceFree: true, because: "kernel" };
  const { reason } = kernel;
  const root = statSync(workspaceDir, { throwIfNoEntry: false });
  if (root === undefined || statSync(dirname(workspaceDir)).dev === root.dev) return { raceFree: false, reason };
  const isWhole = rootInodes.get(statfsSync(workspaceDir).type) === root.ino;
  return isWhole ? { raceFree: true, because: "own_mount" } : { raceFree: false, reason };
}
