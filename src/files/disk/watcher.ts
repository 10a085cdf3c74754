/**
 * Tells of changes in single directories: by their descriptors where the kernel confines names, else by their paths.
 */
import type { KernelRoots } from "../kernel/descriptor.ts";
import type { DiskAccess } from "./directory.ts";
import { createKernelAccess } from "./kernel_directory.ts";
import { errorCode } from "./refusal.ts";

/** What became of the entries at these paths. */
type WatchEvent = Pick<Deno.FsEvent, "kind" | "paths">;

interface Watcher {
  /** Ends when the watcher is closed, which it also is when it has missed something. */
  events(): AsyncIterable<WatchEvent>;
  /** May be called several times. */
  close(): void;
}

/** Other file systems, links in the place of a directory, and directories that may not be read are not watched. */
const unwatched = new Set(["EXDEV", "ELOOP", "ENOTDIR", "EACCES", "EPERM", "ENAMETOOLONG"]);

/** Looks at a tree, links themselves, and watches its directories. */
export interface TreeWatcher {
  /** What is in a directory; none when it is gone by now. */
  entriesOf(directory: string): readonly LookedEntry[];
  /** What is at the path, or `null` when it is gone by now or not for us to see. */
  infoOf(path: string): Omit<LookedEntry, "name"> | null;
  /** Watches these directories, the root first; `null` when one of them has disappeared since they were listed. */
  open(directories: readonly string[]): Watcher | null;
  close(): void;
}

interface LookedEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
}

/** For the tree below the real path of a directory. */
export function createTreeWatcher(root: string, kernel: KernelRoots | undefined): TreeWatcher {
  if (kernel === undefined) return pathWatcher;
  const access = createKernelAccess(kernel, root);
  const below = (path: string): string => path.slice(root.length + 1) || ".";
  return {
    entriesOf: (directory) =>
      orNone(() => {
        using listing = access.root()?.list(below(directory));
        return Array.from(listing?.entries() ?? [], ({ name, kind }) => {
          return { name, isFile: kind === "file", isDirectory: kind === "directory" };
        });
      }),
    infoOf(path) {
      const opened = access.openPlain?.(below(path), "status", true) ?? null;
      opened?.close();
      return opened?.info ?? null;
    },
    open: (directories) => openByDescriptors(directories, access, below),
    close: access.close,
  };
}

const pathWatcher: TreeWatcher = {
  entriesOf: (directory) =>
    orNone(() => {
      const entries = [...Deno.readDirSync(directory)];
      // a name that is not UTF-8 reaches nothing
      return entries.filter(({ name }) =>
        !name.includes("\ufffd") || pathWatcher.infoOf(`${directory}/${name}`) !== null
      );
    }),
  infoOf(path) {
    try {
      return Deno.lstatSync(path);
    } catch {
      return null; // there is nothing to tell of it
    }
  },
  open: openByPaths,
  close: () => {},
};

function orNone(look: () => readonly LookedEntry[]): readonly LookedEntry[] {
  try {
    return look();
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

function openByDescriptors(
  directories: readonly string[],
  access: DiskAccess,
  below: (path: string) => string,
): Watcher | null {
  const ends: (() => void)[] = [];
  const told: WatchEvent[] = [];
  let wake = Promise.withResolvers<void>();
  let isOpen = true;
  const close = (): void => {
    isOpen = false;
    wake.resolve();
    ends.splice(0).forEach((end) => end());
  };
  for (const path of directories) {
    try {
      const end = access.watch?.(below(path), (changed) => {
        if (changed === null) return close();
        told.push({ kind: changed.change, paths: [`${path}/${changed.name}`] });
        wake.resolve();
      });
      if (end !== undefined) ends.push(end);
    } catch (error) {
      const code = errorCode(error) ?? "";
      const isRoot = path === directories[0];
      if (!isRoot && unwatched.has(code)) continue;
      close();
      if (code !== "ENOENT") throw error;
      return isRoot && access.root() !== null ? openByPaths(directories) : null; // there is no /proc
    }
  }
  return {
    async *events() {
      while (isOpen) {
        await wake.promise;
        wake = Promise.withResolvers();
        yield* told.splice(0);
      }
    },
    close,
  };
}

function openByPaths(directories: readonly string[]): Watcher | null {
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs([...directories], { recursive: false });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && pathWatcher.infoOf(directories[0] ?? "")?.isDirectory) return null;
    throw error;
  }
  let isOpen = true;
  const close = (): void => {
    if (isOpen) watcher.close();
    isOpen = false;
  };
  return {
    async *events() {
      try {
        // closed before the loop began: its resource is gone
        if (isOpen) yield* watcher;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // Deno's word for a name that is not UTF-8
        close();
      }
    },
    close,
  };
}
