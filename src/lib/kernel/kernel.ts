/** Whether this isolate can have names resolved by the kernel, and the way to do so. */
import { confineRoots, cPath, createKernelRoots, KernelError, pathMax } from "./descriptor.ts";
import type { KernelRoots, WatchCommits } from "./descriptor.ts";
import { type Libc, loadLibc, openFlags } from "./libc.ts";

/** How files are confined here. */
export type KernelAccess =
  | {
    readonly available: true;
    readonly roots: KernelRoots;
    readonly watchPlace: WatchPlace;
    readonly watchCommits: WatchCommits;
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
export function loadKernel(): KernelAccess {
  const { os, arch } = Deno.build;
  if (os !== "linux") return unavailable("only Linux has openat2");
  if (!Object.hasOwn(openFlags, arch)) return unavailable(`it was not made for ${arch}`);
  const libc = loadLibc();
  if (typeof libc === "string") return unavailable(libc);
  const { roots, watchCommits } = createKernelRoots(libc, arch);
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
    watchPlace: createPlaceWatch(roots),
    watchCommits,
    freeSpace: createFreeSpaceReader(libc),
    returnFreedMemory: () => void libc.trimLater?.(0n),
  });
}

function unavailable(reason: string): KernelAccess {
  return { available: false, reason };
}

/** Loads the library, and gives up the permission: what is left opens these, by their real paths, and what is below. */
export function loadWorkspaceKernel(directories: readonly string[]): KernelAccess {
  const loaded = loadKernel();
  Deno.permissions.revokeSync({ name: "ffi" });
  return loaded.available ? { ...loaded, roots: confineRoots(loaded.roots, directories) } : loaded;
}

// How full a file system is, by statfs(2), which needs no permission to read anything there.

/** In bytes. */
export interface FreeSpace {
  /** What a process without special rights may still use. */
  readonly free: number;
  readonly total: number;
}

/** Of the file system that holds `path`, an absolute one, or would; `null` where the system does not tell. */
type ReadFreeSpace = (path: string) => FreeSpace | null;

// `struct statfs` in words of 64 bits, the same on x86-64 and ARM: f_type, f_bsize, f_blocks, f_bfree, f_bavail.
const [blockSize, blocks, available] = [1, 2, 4];
const structWords = 32; // more than its 15
const slash = 0x2f;

/**
 * Binds the question to the library. Code that gets it learns two numbers of a file system, and nothing of files: of a
 * path that is not there the file system that would hold it.
 */
function createFreeSpaceReader(libc: Libc): ReadFreeSpace {
  // Made before other code runs, which may replace what makes a buffer by what makes a smaller one.
  const words = new BigUint64Array(structWords);
  const bytes = new Uint8Array(pathMax);
  const toNumber = Number;
  const bytesAt = (index: number): number => toNumber((words[index] ?? 0n) * (words[blockSize] ?? 0n));
  return (path) => {
    cPath(path, bytes);
    let end = 0;
    while (bytes[end] !== 0) end++;
    while (libc.statfs(bytes, words) !== 0) { // then of the directory above
      if (bytes[0] !== slash || end <= 1) return null;
      for (let isName = true; isName && end > 1; bytes[end] = 0) isName = bytes[--end] !== slash;
    }
    return { free: bytesAt(available), total: bytesAt(blocks) };
  };
}

/**
 * Returns a function that says whether the file at `path`, no link, is the one that was there. Code that gets it learns
 * of a file only that it has gone from its place.
 */
type WatchPlace = (path: string) => () => boolean;

/** Notices that a file was deleted, moved or replaced, through the C library, without Deno's permissions. */
function createPlaceWatch(roots: KernelRoots): WatchPlace {
  return (path) => {
    /** `null`: it cannot be seen now. */
    const look = (): string | null => {
      try {
        const status = roots.statusOf(path);
        return status === null ? "gone" : `${status.dev} ${status.ino}`;
      } catch (error) {
        return error instanceof KernelError && error.code === "ENOTDIR" ? "gone" : null;
      }
    };
    const before = look();
    return () => {
      const now = look();
      return before === null || before === "gone" || now === null || now === before;
    };
  };
}
