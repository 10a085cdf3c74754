/** Watches the directories of a joined workspace, also while one of them is away and when it is back. */
import { childPath, rootPath, type WorkspacePath } from "./path.ts";
import type { WatchWorkspace } from "./watch.ts";

/** How often a directory is looked for that is away, or may be. */
const lookMilliseconds = 2_000;

interface WatchedDirectory {
  /** Empty where it is the whole workspace. */
  readonly name: string;
  readonly watch: WatchWorkspace;
  /** What is there now, by its device and inode; `null` while it is away. */
  readonly identity: () => string | null;
}

/** A watch of all; of one without a name its own. */
export function joinWatches(directories: readonly WatchedDirectory[]): WatchWorkspace {
  const [only] = directories;
  if (only?.name === "") return only.watch;
  return (onChange) => {
    const running = new Map<string, { readonly identity: string; readonly watch: ReturnType<WatchWorkspace> }>();
    const closing = new Set<Promise<void>>();
    const begin = (name: string, watch: WatchWorkspace): ReturnType<WatchWorkspace> => {
      const below = ({ segments }: WorkspacePath): WorkspacePath => childPath(rootPath, [name, ...segments]);
      return watch((change) => onChange({ ...change, paths: change.paths.map(below) }));
    };
    /** Whether a directory went away or came back. */
    const look = (): boolean => {
      let hasChanged = false;
      for (const { name, watch, identity } of directories) {
        const [before, now] = [running.get(name), identity()];
        if (now === (before?.identity ?? null)) continue;
        hasChanged = true;
        running.delete(name);
        if (before !== undefined) {
          const closed = before.watch.close().finally(() => closing.delete(closed));
          closing.add(closed);
        }
        if (now !== null) running.set(name, { identity: now, watch: begin(name, watch) });
      }
      return hasChanged;
    };
    look();
    const timer = setInterval(() => {
      if (look()) onChange({ paths: [], isPartial: true, isListChanged: true });
    }, lookMilliseconds);
    return {
      async close() {
        clearInterval(timer);
        await Promise.all([...closing, ...Array.from(running.values(), (each) => each.watch.close())]);
      },
    };
  };
}
