/**
 * Watches a disk workspace. Each directory is watched by itself: a recursive watch would follow links and tell of
 * changes outside. When directories appear the watch is made anew, and what came with them is told too.
 * That a link appears is not told: Deno keeps back events whose real path is elsewhere.
 */
import { type AccessPatterns, createAccessRules } from "./access_rules.ts";
import { createChangeNotices } from "./change_notices.ts";
import { isReserved } from "./path.ts";
import type { WatchWorkspace } from "./watch.ts";

/** Settings of the watch. */
export interface DiskWatchOptions {
  /** The workspace's directory. */
  readonly root: string;
  /** Changes within this time are told together. Default 200. */
  readonly coalesceMilliseconds?: number;
  /** More changed paths than this at once are told as partial. Default 500. */
  readonly maxPaths?: number;
  /** Directories beyond this number are not watched. Default 8,192, what Linux allows a user without asking. */
  readonly maxDirectories?: number;
  /** Names that are kept from callers: nothing is told of them. */
  readonly access?: AccessPatterns;
  /** Hears why the watch ended by itself, such as the system's limit of watches. */
  readonly onFailure: (error: unknown) => void;
}

/** A way to watch the disk workspace at `root`. It costs nothing until it is used. */
export function createDiskWatch(options: DiskWatchOptions): WatchWorkspace {
  const { coalesceMilliseconds = 200, maxPaths = 500, maxDirectories = 8192, onFailure } = options;
  const { isDenied } = createAccessRules(options.access);
  return (onChange) => {
    const root = Deno.realPathSync(options.root);
    const notices = createChangeNotices({ maxPaths, coalesceMilliseconds, isDenied, onChange });
    let end: () => void = () => {};
    const closed = new AbortController();

    const watchUntilDirectoriesChange = async (known: ReadonlySet<string> | null): Promise<ReadonlySet<string>> => {
      const directories = new Set(listDirectories(root, maxDirectories));
      const watcher = openWatcher(root, directories);
      if (watcher === null) return directories;
      end = watcher.close;
      // what appeared before the watch was there
      for (const directory of listDirectories(root, maxDirectories)) {
        if (!directories.has(directory)) end();
        if (known !== null && !known.has(directory)) notices.addAll(namesBelow(root, directory));
      }
      // nobody saw what happened between two watches, nor what happens beyond the limit
      if (known !== null || directories.size === maxDirectories) notices.addUnknown();
      for await (const { paths } of watcher.events()) {
        for (const path of paths) {
          const segments = toSegments(root, path);
          if (segments === null || isReserved(segments)) continue;
          notices.add(segments);
          if (isDirectory(path) && !directories.has(path)) end();
        }
      }
      return directories;
    };
    const running = (async () => {
      let known: ReadonlySet<string> | null = null;
      while (!closed.signal.aborted) {
        known = await watchUntilDirectoriesChange(known);
        // where directories appear in masses, one new watch for many of them
        await pause(coalesceMilliseconds, closed.signal);
      }
    })().catch((error) => {
      end();
      onFailure(error);
    });
    return {
      async close() {
        closed.abort();
        notices.close();
        end();
        await running;
        notices.close(); // something may have been added at the end
      },
    };
  };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });
}

interface Watcher {
  events(): AsyncGenerator<Deno.FsEvent>;
  /** May be called several times. */
  close(): void;
}

/** Watches these directories; `null` when one of them has disappeared since they were listed. */
function openWatcher(root: string, directories: ReadonlySet<string>): Watcher | null {
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs([...directories], { recursive: false });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && isDirectory(root)) return null;
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

/** The directories of the tree, the root first; links are not followed. */
function listDirectories(root: string, limit: number): string[] {
  const directories = [root];
  for (let index = 0; index < directories.length && directories.length < limit; index++) {
    const directory = directories[index] ?? root;
    for (const { name, isDirectory } of entriesOf(directory)) {
      const path = `${directory}/${name}`;
      if (!isDirectory || isReserved(toSegments(root, path) ?? []) || !isReadable(path)) continue;
      if (directories.length < limit) directories.push(path);
    }
  }
  return directories;
}

function* namesBelow(root: string, directory: string): Generator<readonly string[]> {
  for (const { name } of entriesOf(directory)) yield toSegments(root, `${directory}/${name}`) ?? [];
}

function entriesOf(directory: string): Iterable<Deno.DirEntry> {
  try {
    return Deno.readDirSync(directory);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return []; // gone by now
    throw error;
  }
}

function toSegments(root: string, path: string): readonly string[] | null {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1).split("/") : null;
}

/** What may not be read cannot be watched, nor be read by anyone who would want to know. */
function isReadable(directory: string): boolean {
  try {
    Deno.readDirSync(directory);
    return true;
  } catch {
    return false;
  }
}

function isDirectory(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false; // gone by now, or not for us to see
  }
}
