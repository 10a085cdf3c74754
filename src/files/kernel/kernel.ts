/** Whether this isolate can have names resolved by the kernel, and the way to do so. */
import { createCommitWatch, type WatchCommits } from "./commit_watch.ts";
import type { KernelRoots } from "./descriptor.ts";
import { createFreeSpaceReader, type ReadFreeSpace } from "./free_space.ts";
import { KernelError, loadLibc } from "./libc.ts";
import { openFlags } from "./numbers.ts";
import { createKernelRoots } from "./opened_descriptor.ts";
import { createPlaceWatch, type WatchPlace } from "./place_watch.ts";
import type { ScreenerKeeper } from "./screening.ts";

/** How files are confined here. */
export type KernelAccess =
  | {
    readonly available: true;
    readonly roots: KernelRoots;
    readonly watchCommits: WatchCommits;
    readonly watchPlace: WatchPlace;
    readonly freeSpace: ReadFreeSpace;
    /** Has the C library return what the process has freed. V8's compilers leave it some 16 MB after the first load. */
    readonly returnFreedMemory: () => void;
  }
  | {
    readonly available: false;
    /** In words, as it follows "because". */
    readonly reason: string;
  };

/** Says nothing of the system: the files would be confined less for as long as the process runs. */
const passing: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Loads the library and tries the calls that everything depends on. Throws where that fails for a reason that passes.
 * Afterwards the permission is not needed.
 */
export function loadKernel(keeper: ScreenerKeeper | null = null): KernelAccess {
  const { os, arch } = Deno.build;
  if (os !== "linux") return unavailable("only Linux has openat2");
  if (!Object.hasOwn(openFlags, arch)) return unavailable(`it was not made for ${arch}`);
  const libc = loadLibc();
  if (typeof libc === "string") return unavailable(libc);
  const roots = createKernelRoots(libc, arch, keeper);
  const trials = { openat2: () => roots.open("/").close(), statx: () => void roots.statusOf("/") };
  for (const [call, attempt] of Object.entries(trials)) {
    try {
      attempt();
    } catch (error) {
      if (!(error instanceof KernelError) || passing.has(error.code)) throw error;
      return unavailable(`the system refuses ${call} (${error.code}): Linux before 5.6, or a seccomp profile`);
    }
  }
  return Object.freeze<KernelAccess>({
    available: true,
    roots,
    watchCommits: createCommitWatch(libc),
    watchPlace: createPlaceWatch(libc),
    freeSpace: createFreeSpaceReader(libc),
    returnFreedMemory: () => void libc.trimLater?.(0n),
  });
}

function unavailable(reason: string): KernelAccess {
  return { available: false, reason };
}
