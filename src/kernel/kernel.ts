/** Whether this isolate can have names resolved by the kernel, and the way to do so. */
import { createCommitWatch, type WatchCommits } from "./commit_watch.ts";
import type { KernelRoots } from "./descriptor.ts";
import { createFreeSpaceReader, type ReadFreeSpace } from "./free_space.ts";
import { KernelError, loadLibc } from "./libc.ts";
import { openFlags } from "./numbers.ts";
import { createKernelRoots } from "./opened_descriptor.ts";

/** How files are confined here. */
export type KernelAccess =
  | {
    readonly available: true;
    readonly roots: KernelRoots;
    readonly watchCommits: WatchCommits;
    readonly freeSpace: ReadFreeSpace;
  }
  | {
    readonly available: false;
    /** In words, as it follows "because". */
    readonly reason: string;
  };

/** Loads the library and tries the call that everything depends on. Afterwards the permission is not needed. */
export function loadKernel(): KernelAccess {
  const { os, arch } = Deno.build;
  if (os !== "linux") return unavailable("only Linux has openat2");
  if (!Object.hasOwn(openFlags, arch)) return unavailable(`it was not made for ${arch}`);
  const libc = loadLibc();
  if (typeof libc === "string") return unavailable(libc);
  const roots = createKernelRoots(libc, arch);
  try {
    roots.open("/").close();
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    return unavailable(`the system refuses openat2 (${error.code}): Linux before 5.6, or a seccomp profile`);
  }
  return { available: true, roots, watchCommits: createCommitWatch(libc), freeSpace: createFreeSpaceReader(libc) };
}

function unavailable(reason: string): KernelAccess {
  return { available: false, reason };
}
