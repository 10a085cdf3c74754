/**
 * Watches a disk workspace. Each directory is watched by itself: a recursive watch would follow links and tell of
 * changes outside. When directories appear the watch is made anew, and what came with them is told too.
 * That a link appears is not told: Deno keeps back events whose real path is elsewhere.
 */
import { compareNames, isReserved, type WorkspacePath } from "./path.ts";
import type { WatchWorkspace, WorkspaceChange } from "./watch.ts";

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
}

/** A way to watch the disk workspace at `root`. It costs nothing until it is used. */
export function createDiskWatch(options: DiskWatchOptions): WatchWorkspace {
  const { coalesceMilliseconds = 200, maxPaths = 500, maxDirectories = 8192 } = options;
  return (onChange) => {
    const root = Deno.realPathSync(options.root);
    const notices = createNotices(maxPaths, coalesceMilliseconds, onChange);
    let watcher: Deno.FsWatcher | null = null;
    let isClosed = false;

    const watchUntilDirectoriesChange = async (known: ReadonlySet<string> | null): Promise<ReadonlySet<string>> => {
      const directories = new Set(listDirectories(root, maxDirectories));
      const live = watcher = Deno.watchFs([...directories], { recursive: false });
      // what appeared before the watch was there
      for (const directory of listDirectories(root, maxDirectories)) {
        if (!directories.has(directory)) live.close();
        if (known !== null && !known.has(directory)) notices.addAll(namesBelow(root, directory));
      }
      if (directories.size === maxDirectories) notices.addUnknown();
      try {
        for await (const { paths } of live) {
          for (const path of paths) {
            const segments = toSegments(root, path);
            if (segments === null || isReserved(segments)) continue;
            notices.add(segments);
            if (isDirectory(path) && !directories.has(path)) live.close();
          }
        }
      } catch (error) {
        if (!(error instanceof Deno.errors.BadResource)) throw error; // closed before the loop began
      }
      return directories;
    };
    const running = (async () => {
      let known: ReadonlySet<string> | null = null;
      while (!isClosed) known = await watchUntilDirectoriesChange(known);
    })();
    return {
      async close() {
        isClosed = true;
        notices.close();
        watcher?.close();
        await running;
      },
    };
  };
}

interface Notices {
  add(segments: readonly string[]): void;
  addAll(paths: Iterable<readonly string[]>): void;
  addUnknown(): void;
  close(): void;
}

function createNotices(
  maxPaths: number,
  coalesceMilliseconds: number,
  onChange: (change: WorkspaceChange) => void,
): Notices {
  let pending = new Map<string, WorkspacePath>();
  let isPartial = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = (): void => {
    const paths = [...pending.values()].sort((a, b) => compareNames(a.text, b.text));
    const change = { paths, isPartial };
    pending = new Map();
    isPartial = false;
    timer = null;
    onChange(change);
  };
  const schedule = (): void => {
    timer ??= setTimeout(tell, coalesceMilliseconds);
  };
  const add = (segments: readonly string[]): void => {
    const text = segments.join("/");
    if (pending.size < maxPaths) pending.set(text, { text, segments });
    else if (!pending.has(text)) isPartial = true;
    schedule();
  };
  return {
    add,
    addAll(paths) {
      for (const segments of paths) add(segments);
    },
    addUnknown() {
      isPartial = true;
      schedule();
    },
    close() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** The directories of the tree, the root first; links are not followed. */
function listDirectories(root: string, limit: number): string[] {
  const directories = [root];
  for (let index = 0; index < directories.length && directories.length < limit; index++) {
    const directory = directories[index] ?? root;
    for (const { name, isDirectory } of entriesOf(directory)) {
      if (!isDirectory || isReserved(toSegments(root, `${directory}/${name}`) ?? [])) continue;
      if (directories.length < limit) directories.push(`${directory}/${name}`);
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

function isDirectory(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false; // gone by now, or not for us to see
  }
}
