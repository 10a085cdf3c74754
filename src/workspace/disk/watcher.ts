/**
 * Tells of changes in single directories: by their descriptors where the kernel confines names, else by their paths.
 */
import type { KernelRoots } from "../../kernel/descriptor.ts";
import { Opened } from "./kernel/opened.ts";
import { errorCode } from "./refusal.ts";
import { infoOf } from "./watched_tree.ts";

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

/** Watches these directories, the root first; `null` when one of them has disappeared since they were listed. */
export function openWatcher(directories: readonly string[], kernel: KernelRoots | undefined): Watcher | null {
  return (kernel === undefined ? null : openByDescriptors(directories, kernel)) ?? openByPaths(directories);
}

/** `null` as well where there is no /proc. */
function openByDescriptors([root = "", ...others]: readonly string[], kernel: KernelRoots): Watcher | null {
  const ends: (() => void)[] = [];
  const told: WatchEvent[] = [];
  let wake = Promise.withResolvers<void>();
  let isOpen = true;
  const close = (): void => {
    isOpen = false;
    wake.resolve();
    ends.splice(0).forEach((end) => end());
  };
  try {
    using top = new Opened(kernel.open(root));
    const watch = (path: string): void => {
      using directory = new Opened(top.descriptor.open(path.slice(root.length + 1) || ".", "directory"));
      ends.push(directory.descriptor.watch((changed) => {
        if (changed === null) return close();
        told.push({ kind: changed.change, paths: [`${path}/${changed.name}`] });
        wake.resolve();
      }));
    };
    watch(root);
    for (const path of others) {
      try {
        watch(path);
      } catch (error) {
        if (!unwatched.has(errorCode(error) ?? "")) throw error;
      }
    }
  } catch (error) {
    close();
    if (errorCode(error) === "ENOENT") return null;
    throw error;
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
    if (error instanceof Deno.errors.NotFound && infoOf(directories[0] ?? "")?.isDirectory) return null;
    throw error;
  }
  let isOpen = true;
  return {
    async *events() {
      // closed before the loop began: its resource is gone
      if (isOpen) yield* watcher;
    },
    close() {
      if (isOpen) watcher.close();
      isOpen = false;
    },
  };
}
