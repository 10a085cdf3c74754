/**
 * Watches a disk workspace. Each directory is watched by itself: a recursive watch would follow links and tell of
 * changes outside. When directories appear the watch is made anew, and what came with them is told too. The names of
 * files are remembered, so that a file that appears can be told from one that is replaced.
 * Without the kernel's help it is not told that a link appears: Deno keeps back events whose real path is elsewhere.
 */
import { pause } from "../../lib/pause.ts";
import { type AccessPatterns, createAccessRules } from "../workspace/access_rules.ts";
import { changeDelayMilliseconds, createChangeNotices, maxChangedPaths } from "../workspace/change_notices.ts";
import { isReserved } from "../workspace/path.ts";
import type { KernelRoots } from "../kernel/descriptor.ts";
import type { WatchWorkspace } from "../workspace/watch.ts";
import { forgetDirectory, haveSameFiles, readWatchedTree, type WatchedTree } from "./watched_tree.ts";
import { createTreeWatcher, type TreeWatcher } from "./watcher.ts";

interface DiskWatchOptions {
  /** The workspace's directory. */
  readonly root: string;
  /** Default {@link changeDelayMilliseconds}. */
  readonly coalesceMilliseconds?: number;
  /** Default {@link maxChangedPaths}. */
  readonly maxPaths?: number;
  /** Default {@link maxWatchedDirectories}. */
  readonly maxDirectories?: number;
  /** Default {@link maxRememberedFiles}. */
  readonly maxFiles?: number;
  /** Names that are kept from callers: nothing is told of them. */
  readonly access?: AccessPatterns;
  /** Where given, directories are watched by their descriptors. */
  readonly kernel?: KernelRoots | undefined;
  /** Hears why the watch ended by itself, such as the system's limit of watches. */
  readonly onFailure: (error: unknown) => void;
}

/** Directories beyond this number are not watched: what Linux allows a user without asking. */
const maxWatchedDirectories = 8192;
/** With more files than this, a renamed file counts as one that appears. */
const maxRememberedFiles = 100_000;

/** A way to watch the disk workspace at `root`. It costs nothing until it is used. */
export function createDiskWatch(options: DiskWatchOptions): WatchWorkspace {
  const { coalesceMilliseconds = changeDelayMilliseconds, maxPaths = maxChangedPaths, onFailure, kernel } = options;
  const { maxDirectories = maxWatchedDirectories, maxFiles = maxRememberedFiles } = options;
  const { isDenied } = createAccessRules(options.access);
  return (onChange) => {
    const root = Deno.realPathSync(options.root);
    const look = createTreeWatcher(root, kernel);
    const notices = createChangeNotices({ maxPaths, coalesceMilliseconds, isDenied, onChange });
    const isHidden = (path: string): boolean => {
      const segments = toSegments(root, path);
      return segments === null || isReserved(segments) || isDenied(segments);
    };
    const readTree = (): WatchedTree => readWatchedTree(look, root, { maxDirectories, maxFiles, isHidden });
    let end: () => void = () => {};
    const closed = new AbortController();
    let known = readTree();

    const note = (path: string, kind: Deno.FsEvent["kind"]): void => {
      const info = look.infoOf(path);
      const mayBeAnother = kind !== "modify" && kind !== "access";
      const slash = path.lastIndexOf("/");
      const files = known.get(path.slice(0, slash));
      const name = path.slice(slash + 1);
      const isFile = info?.isFile === true;
      // told by what is there now, not by the kind of the event: replacing a file is a rename too
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
      const watcher = look.open([...watched.keys()]);
      if (watcher === null) return;
      end = watcher.close;
      const now = readTree(); // what appeared before the watch was there
      for (const directory of now.keys()) {
        if (!watched.has(directory)) end();
        if (!isFirst && !known.has(directory)) notices.addAll(namesBelow(look, root, directory));
      }
      // changes between two watches, and beyond the limit, went unseen
      if (!isFirst || now.size === maxDirectories) notices.addUnknown();
      if (!haveSameFiles(known, now)) notices.addListChange();
      known = now;
      for await (const { kind, paths } of watcher.events()) {
        for (const path of paths) {
          if (isHidden(path)) continue;
          notices.add(toSegments(root, path) ?? []);
          note(path, kind);
        }
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
        look.close();
        notices.close(); // something may have been added at the end
      },
    };
  };
}

function* namesBelow({ entriesOf }: TreeWatcher, root: string, directory: string): Generator<readonly string[]> {
  for (const { name } of entriesOf(directory)) yield toSegments(root, `${directory}/${name}`) ?? [];
}

function toSegments(root: string, path: string): readonly string[] | null {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1).split("/") : null;
}
