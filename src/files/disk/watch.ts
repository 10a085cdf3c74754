/**
 * Watches a disk workspace. Each directory is watched separately: a recursive watch would follow links and report
 * changes outside. When directories appear the watch is renewed, and their contents are reported too. The names of
 * files are remembered, so that a file that appears can be told from one that is replaced.
 * Without the kernel's help new links are not noticed: Deno withholds events whose real path is elsewhere.
 */
import type { KernelRoots, ListedName } from "../kernel/descriptor.ts";
import { createDiskAccess, type DiskAccess, type DiskInfo, type DiskListing, errorCode } from "./directory.ts";
import { createPathRoots } from "./checked_path.ts";
import { pause } from "../../lib/time.ts";
import { type AccessPatterns, createAccessRules } from "../workspace/access_rules.ts";
import {
  changeDelayMilliseconds,
  type ChangeGathering,
  createChangeNotices,
  type WatchWorkspace,
} from "../workspace/watch.ts";
import { isReserved } from "../workspace/path.ts";

interface DiskWatchOptions extends ChangeGathering {
  /** The workspace's directory. */
  readonly root: string;
  /** Default {@link maxRememberedFiles}. */
  readonly maxFiles?: number;
  /** Names that are hidden from callers: their changes are not reported. */
  readonly access?: AccessPatterns;
  /** Where given, directories are watched by their descriptors. */
  readonly kernel?: KernelRoots | undefined;
  /** Called with the reason when the watch fails, such as the system's limit of watches. */
  readonly onFailure: (error: unknown) => void;
}

/** Directories beyond this number are not watched: what Linux allows a user without asking. */
const maxWatchedDirectories = 8192;
/** With more files than this, a renamed file counts as one that appears. */
const maxRememberedFiles = 100_000;

/** A way to watch the disk workspace at `root`. It costs nothing until it is used. */
export function createDiskWatch(options: DiskWatchOptions): WatchWorkspace {
  const { coalesceMilliseconds = changeDelayMilliseconds, maxFiles = maxRememberedFiles, onFailure, kernel } = options;
  const rules = createAccessRules(options.access);
  const { isDenied } = rules;
  return (onChange) => {
    const root = Deno.realPathSync(options.root);
    const access = createDiskAccess(root, kernel ?? createPathRoots(rules));
    const notices = createChangeNotices({ ...options, isDenied, onChange });
    const isHidden = (path: string): boolean => isReserved(path.split("/")) || isDenied(path.split("/"));
    const readTree = (): WatchedTree => readWatchedTree(access, { maxFiles, isHidden });
    let end: () => void = () => {};
    const closed = new AbortController();
    let known = readTree();

    const note = (path: string, kind: Deno.FsEvent["kind"]): void => {
      const [directory, name] = splitPath(path);
      const info = infoOf(access, directory, name);
      const mayBeAnother = kind !== "modify" && kind !== "access";
      const files = known.get(directory);
      const isFile = info?.isFile === true;
      // by what is there now, not by the kind of event: replacing a file is a rename too
      if (files === null ? mayBeAnother : files !== undefined && files.has(name) !== isFile) notices.addListChange();
      if (isFile) files?.add(name);
      else files?.delete(name);
      // even if a directory of this name is there: it may be another one, with the same inode, that is not watched yet
      if (known.has(path) && (mayBeAnother || info?.isDirectory !== true)) {
        if (forgetDirectory(known, path)) notices.addListChange();
        if (kind === "rename") end(); // it may live on outside, and must not be watched there
      }
      if (info?.isDirectory && !known.has(path)) end();
    };
    const watchUntilDirectoriesChange = async (isFirst: boolean): Promise<void> => {
      const watched = isFirst ? known : readTree();
      const watcher = openWatcher(root, access, [...watched.keys()]);
      if (watcher === null) return;
      end = watcher.close;
      const now = readTree(); // what appeared before the watch was there
      for (const directory of now.keys()) {
        if (!watched.has(directory)) end();
        if (isFirst || known.has(directory)) continue;
        notices.add(directory.split("/")); // it came while no watch was there
        for (const { name } of entriesOf(access, directory)) notices.add([...directory.split("/"), name]);
      }
      // changes between two watches, and beyond the limit, went unseen
      if (!isFirst || now.size === maxWatchedDirectories) notices.addUnknown();
      if (!haveSameFiles(known, now)) notices.addListChange();
      known = now;
      for await (const { kind, path } of watcher.events()) {
        if (isHidden(path)) continue;
        notices.add(path.split("/"));
        note(path, kind);
      }
    };
    const running = (async () => {
      for (let isFirst = true; !closed.signal.aborted; isFirst = false) {
        await watchUntilDirectoriesChange(isFirst);
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
        access.close();
        notices.close(); // something may have been added at the end
      },
    };
  };
}

/** Its directory, empty for the root, and its name. */
function splitPath(path: string): readonly [string, string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
}

function pathIn(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

/** The names of the files in each directory, the root (an empty path) first; `null` where there are too many to remember. */
type WatchedTree = Map<string, Set<string> | null>;

/** How far to look. */
interface WatchedTreeLimits {
  /** More names of files than this are not remembered. */
  readonly maxFiles: number;
  /** Paths that are not reported. */
  readonly isHidden: (path: string) => boolean;
}

/** The tree as it is now; links are not followed. */
function readWatchedTree(access: DiskAccess, { maxFiles, isHidden }: WatchedTreeLimits): WatchedTree {
  const tree: WatchedTree = new Map();
  const pending = [""];
  let fileCount = 0;
  for (let path = pending.shift(); path !== undefined && tree.size < maxWatchedDirectories; path = pending.shift()) {
    let entries: readonly ListedName[];
    try {
      entries = entriesOf(access, path);
    } catch (error) {
      if (path === "") throw error;
      continue; // what may not be read cannot be watched, nor be read by anyone who would want to know
    }
    const visible = entries.filter(({ name }) => !isHidden(pathIn(path, name)));
    const files = visible.filter(({ kind }) => kind === "file").map(({ name }) => name);
    fileCount += files.length;
    tree.set(path, fileCount > maxFiles ? null : new Set(files));
    for (const { name, kind } of visible) if (kind === "directory") pending.push(pathIn(path, name));
  }
  return tree;
}

/** Whether both are known to hold the same files. */
function haveSameFiles(one: WatchedTree, other: WatchedTree): boolean {
  for (const path of new Set([...one.keys(), ...other.keys()])) {
    const [left, right] = [one, other].map((tree) => tree.has(path) ? tree.get(path) ?? null : new Set<string>());
    if (left === null || right === null || left?.symmetricDifference(right ?? left).size !== 0) return false;
  }
  return true;
}

/** Takes a directory with all below it out of the tree, and says whether there may have been files in it. */
function forgetDirectory(tree: WatchedTree, path: string): boolean {
  let hadFiles = false;
  for (const [each, files] of [...tree]) {
    if (each !== path && !each.startsWith(`${path}/`)) continue;
    hadFiles ||= files === null || files.size > 0;
    tree.delete(each);
  }
  return hadFiles;
}

/** What `read` finds in a directory, whose listing is closed then. The bundler would drop a `using` here. */
function fromListing<T>(access: DiskAccess, directory: string, read: (listing: DiskListing | undefined) => T): T {
  const listing = access.step(() => access.root()?.list(directory || "."));
  try {
    return read(listing);
  } finally {
    listing?.[Symbol.dispose]();
  }
}

/** What is in a directory, links themselves; nothing when it is gone by now. */
function entriesOf(access: DiskAccess, directory: string): readonly ListedName[] {
  try {
    return fromListing(access, directory, (listing) => [...listing?.entries() ?? []]);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** What an entry is; `null` when it is gone by now or not for us to see. */
function infoOf(access: DiskAccess, directory: string, name: string): DiskInfo | null {
  try {
    return fromListing(access, directory, (listing) => listing?.entryOf(name) ?? null);
  } catch {
    return null; // nothing to report
  }
}

/** What became of the entry at a path. */
interface WatchEvent {
  readonly kind: Deno.FsEvent["kind"];
  readonly path: string;
}

interface Watcher {
  /** Ends when the watcher is closed, which it also is when it has missed something. */
  events(): AsyncIterable<WatchEvent>;
  /** May be called several times. */
  close(): void;
}

/** Other file systems, links that replaced a directory, and unreadable directories are not watched. */
const unwatched = new Set(["EXDEV", "ELOOP", "ENOTDIR", "EACCES", "EPERM", "ENAMETOOLONG"]);

/** Watches these directories, the root first; `null` when one of them has disappeared since they were listed. */
function openWatcher(root: string, access: DiskAccess, directories: readonly string[]): Watcher | null {
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
      const end = access.watch(path || ".", (changed) => {
        if (changed === null) return close();
        told.push({ kind: changed.change, path: pathIn(path, changed.name) });
        wake.resolve();
      });
      ends.push(end);
    } catch (error) {
      const code = errorCode(error) ?? "";
      const isRoot = path === "";
      if (code === "ENOSYS") return openByPaths(root, access, directories);
      if (!isRoot && unwatched.has(code)) continue;
      close();
      if (code !== "ENOENT") throw error;
      return isRoot && access.root() !== null ? openByPaths(root, access, directories) : null; // there is no /proc
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

function openByPaths(root: string, access: DiskAccess, directories: readonly string[]): Watcher | null {
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs(directories.map((path) => path === "" ? root : `${root}/${path}`), { recursive: false });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && isRootThere(access)) return null;
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
        if (!isOpen) return; // closed before the loop began: its resource is gone
        for await (const { kind, paths } of watcher) {
          for (const path of paths) if (path.startsWith(`${root}/`)) yield { kind, path: path.slice(root.length + 1) };
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // Deno's word for a name that is not UTF-8
        close();
      }
    },
    close,
  };
}

function isRootThere(access: DiskAccess): boolean {
  try {
    return access.root() !== null;
  } catch {
    return false;
  }
}
