/** Watches of workspaces that several listeners share: one begins with its first listener and ends with its last. */
import type { Principal } from "../../lib/principal.ts";
import type { WatchWorkspace, WorkspaceChange, WorkspaceWatch } from "./watch.ts";

/** Is called with a change. */
type ChangeListener = (change: WorkspaceChange) => void;

export interface WorkspaceWatches {
  /** Tells of changes in the workspace that the principal uses, until the returned function is called. */
  watch(principal: Principal, listener: ChangeListener): () => void;
  /** Ends all watches. */
  close(): Promise<void>;
}

export interface WorkspaceWatchesOptions {
  /** A name for the principal's workspace: those that share it share its watch. */
  readonly nameOf: (principal: Principal) => string;
  /** How the workspace of this name is watched. */
  readonly open: (name: string) => WatchWorkspace;
  /** Hears why a watch could not begin; its listeners are then told of nothing. */
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

  const begin = (name: string): SharedWatch => {
    const listeners = new Set<ChangeListener>();
    try {
      const watch = open(name)((change) => {
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
      const entry = shared.get(name) ?? begin(name);
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
