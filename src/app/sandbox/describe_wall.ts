/** The permission wall in words, for `doctor`. */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { KernelAccess } from "../../files/mod.ts";
import type { ServerPermissions } from "./permissions.ts";

// * Whether the confinement of paths holds against another process that swaps directories for links while a call runs:
// where the kernel resolves names it does. Elsewhere paths are checked and then used, and it holds only where the file
// system helps.

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

interface Wall {
  readonly permissions: ServerPermissions;
  /** The first of `permissions.net`: where the server listens. */
  readonly listenAddresses: readonly string[];
  /** The data directory, in each spelling: given up once the storage is open. */
  readonly storagePaths: readonly string[];
  readonly raceFreedom: RaceFreedom;
  readonly clientMetadataDocuments: boolean;
  /** The company's provider, where people sign in there. */
  readonly issuer: string | null;
}

/** What the server holds while it answers, then what the wall does not cover: a sentence each. */
export function describeWall(
  { permissions, listenAddresses, storagePaths, raceFreedom, clientMetadataDocuments, issuer }: Wall,
): string[] {
  const upstreams = permissions.net.slice(listenAddresses.length);
  const kept = permissions.read.filter((path) => !storagePaths.includes(path));
  const sentences = [
    `tools reach ${
      [upstreams.join(", "), ...kept.length === 0 ? [] : [`the files in ${kept.join(", ")}`]].join(" and ")
    }, and nothing else`,
    `the server also holds ${listenAddresses.join(", ")} to listen on and, until it answers, ${
      storagePaths.join(", ")
    }`,
    permissions.ffi.length === 0
      ? "no environment, subprocess, foreign function, system information, remote code, or creation of links"
      : "no environment, subprocess, system information, remote code, or creation of links; of foreign functions " +
        "the C library's calls on files below the workspace's directory, bound before any other code runs",
  ];
  if (clientMetadataDocuments) {
    sentences.push(
      "the main thread keeps the network to fetch clients' documents, from public addresses only; a broken tool could " +
        "ask for one and put data in its address: CLIENT_METADATA_DOCUMENTS=off closes that",
    );
  }
  if (issuer !== null) {
    sentences.push(
      `the main thread keeps the network to reach ${new URL(issuer).host} and the hosts that its metadata names; ` +
        "a broken tool could send data there",
    );
  }
  sentences.push(
    raceWords(raceFreedom),
    "not covered: links that others made in the workspace, for a tool that bypasses the workspace's own checks; the " +
      "memory and time that a tool uses; what an upstream does with what it is sent",
  );
  return sentences;
}

/** One sentence: how paths are confined, and what to do where they are only checked. */
export function raceWords(freedom: RaceFreedom): string {
  if (!freedom.raceFree) {
    return `paths are checked, not confined by the kernel, because ${freedom.reason}: another process that may write the ` +
      "workspace and swaps directories for links at the right moment can have files outside read, replaced, moved and " +
      "deleted; Linux 5.6 or later with openat2 and the permission for the C library, or a separate file system, covers it";
  }
  return freedom.because === "kernel"
    ? "the kernel resolves each name below the workspace's directory (openat2), without links that " +
      "leave and without other mounts: no other process can make a file tool reach files outside"
    : "the workspace is a separate file system: no contents outside it are read, changed or " +
      "deleted; listings can show names, sizes and times from outside while another process swaps directories for " +
      "links, and it can have a directory made or a name changed there";
}
