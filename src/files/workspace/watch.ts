/** The port for notices of changes: what watches a workspace tells which paths changed, some time after they did. */
import { childPath, compareNames, rootPath, type WorkspacePath } from "./path.ts";
import type { Principal } from "../../lib/principal.ts";

/** Changes within a short time, by any process. */
export interface WorkspaceChange {
  /** Entries that appeared, changed or disappeared, each once; a directory that disappeared stands for all in it. */
  readonly paths: readonly WorkspacePath[];
  /** Whether there may be changes besides: too many at once, or in places that are not watched. */
  readonly isPartial: boolean;
  /** Whether files may have appeared or disappeared. */
  readonly isListChanged: boolean;
}

interface WorkspaceWatch {
  /** Ends the watch; nothing is reported afterwards. */
  close(): Promise<void>;
}

/** Starts to watch a workspace. */
export type WatchWorkspace = (onChange: (change: WorkspaceChange) => void) => WorkspaceWatch;

/** Changes within this time are reported together. */
export const changeDelayMilliseconds = 200;
/** More changed paths than this at once are reported as partial. */
const maxChangedPaths = 500;

/** How changes are gathered. */
export interface ChangeGathering {
  /** Default {@link maxChangedPaths}. */
  readonly maxPaths?: number;
  /** Default {@link changeDelayMilliseconds}. */
  readonly coalesceMilliseconds?: number;
}

/** How changes are reported. */
interface ChangeNoticesOptions extends ChangeGathering {
  /** Names that are not reported. */
  readonly isDenied: (segments: readonly string[]) => boolean;
  readonly onChange: (change: WorkspaceChange) => void;
}

/** Gathers changes for a short time and tells them together. */
export function createChangeNotices({ isDenied, onChange, ...gathering }: ChangeNoticesOptions) {
  const { maxPaths = maxChangedPaths, coalesceMilliseconds = changeDelayMilliseconds } = gathering;
  let pending = new Map<string, WorkspacePath>();
  let isPartial = false;
  let isListChanged = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = (): void => {
    const paths = [...pending.values()].sort((a, b) => compareNames(a.text, b.text));
    const change = { paths, isPartial, isListChanged };
    pending = new Map();
    isPartial = false;
    isListChanged = false;
    timer = null;
    onChange(change);
  };
  const schedule = (): void => {
    timer ??= setTimeout(tell, coalesceMilliseconds);
  };
  const add = (segments: readonly string[]): void => {
    if (isDenied(segments)) return;
    const text = segments.join("/");
    if (pending.size < maxPaths) pending.set(text, { text, segments });
    else if (!pending.has(text)) isPartial = true;
    schedule();
  };
  return {
    add,
    addAll(paths: Iterable<readonly string[]>): void {
      for (const segments of paths) add(segments);
    },
    /** Something changed, and it is unknown what. */
    addUnknown(): void {
      isPartial = true;
      schedule();
    },
    /** Files appeared or disappeared; their paths are reported too. */
    addListChange(): void {
      isListChanged = true;
      schedule();
    },
    close(): void {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Is called with a change. */
type ChangeListener = (change: WorkspaceChange) => void;

/** Watches that several listeners share: one begins with its first listener and ends with its last. */
export interface WorkspaceWatches {
  /** Reports changes in the principal's workspace until the returned function is called. */
  watch(principal: Principal, listener: ChangeListener): () => void;
  /** Ends all watches. */
  close(): Promise<void>;
}

/** How {@link createWorkspaceWatches} names and opens watches. */
interface WorkspaceWatchesOptions {
  /** A name for the principal's workspace: principals with one name share one watch. */
  readonly nameOf: (principal: Principal) => string;
  /** How the workspace of this name is watched, which is that of the principal. */
  readonly open: (name: string, principal: Principal) => WatchWorkspace;
  /** Called when a watch cannot begin; its listeners are then not notified. */
  readonly onFailure: (error: unknown) => void;
}

interface SharedWatch {
  readonly listeners: Set<ChangeListener>;
  readonly watch: WorkspaceWatch | null;
}

/** Makes watches; none begins before its first listener. */
export function createWorkspaceWatches({ nameOf, open, onFailure }: WorkspaceWatchesOptions): WorkspaceWatches {
  const shared = new Map<string, SharedWatch>();
  const closing = new Set<Promise<void>>();

  const begin = (name: string, principal: Principal): SharedWatch => {
    const listeners = new Set<ChangeListener>();
    try {
      const watch = open(name, principal)((change) => {
        for (const listener of [...listeners]) listener(change);
      });
      return { listeners, watch };
    } catch (error) {
      onFailure(error);
      return { listeners, watch: null };
    }
  };
  const end = (name: string, { watch }: SharedWatch): void => {
    shared.delete(name);
    if (watch === null) return;
    const closed = watch.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };

  return {
    watch(principal, listener) {
      const name = nameOf(principal);
      const entry = shared.get(name) ?? begin(name, principal);
      shared.set(name, entry);
      const own: ChangeListener = (change) => listener(change); // the same function may listen twice
      entry.listeners.add(own);
      return () => {
        if (entry.listeners.delete(own) && entry.listeners.size === 0) end(name, entry);
      };
    },
    async close() {
      for (const [name, entry] of [...shared]) {
        entry.listeners.clear();
        end(name, entry);
      }
      await Promise.all(closing);
    },
  };
}

/** How often a directory is looked for that is away, or may be. */
const lookMilliseconds = 2_000;

interface WatchedDirectory {
  /** Empty where it is the whole workspace. */
  readonly name: string;
  readonly watch: WatchWorkspace;
  /** What is there now, by its device and inode; `null` while it is away. */
  readonly identity: () => string | null;
}

/**
 * A watch of all directories of a workspace, also while one of them is away and when it is back; of one without a name
 * its own.
 */
export function joinWatches(
  directories: readonly WatchedDirectory[],
  onFailure: (error: unknown) => void,
): WatchWorkspace {
  const [only] = directories;
  if (only?.name === "") return only.watch;
  return (onChange) => {
    const begin = () =>
      directories.flatMap(({ name, watch, identity }) => {
        if (identity() === null) return [];
        const below = ({ segments }: WorkspacePath): WorkspacePath => childPath(rootPath, [name, ...segments]);
        try {
          return [watch((change) => onChange({ ...change, paths: change.paths.map(below) }))];
        } catch (error) {
          onFailure(error); // it cannot be listed, or went away just now
          return [];
        }
      });
    const identities = (): string => directories.map(({ identity }) => identity()).join();
    const ended: Promise<void>[] = [];
    const end = (): void => void ended.push(...running.map((each) => each.close()));
    let known = identities();
    let running = begin();
    const timer = setInterval(() => {
      const now = identities();
      if (now === known) return;
      known = now;
      end();
      running = begin();
      onChange({ paths: [], isPartial: true, isListChanged: true });
    }, lookMilliseconds);
    return {
      async close() {
        clearInterval(timer);
        end();
        await Promise.all(ended);
      },
    };
  };
}
