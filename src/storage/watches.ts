/** Watches of keys: a driver reports changed keys, and this calls their watchers. */
import { encodeKeyToRead, type StorageKey } from "./port.ts";

/**
 * The families of entries, by the first part of their keys, that can be watched. Every instance announces changes of
 * these, watched or not, so what is written often, or in bulk, is left out: on PostgreSQL, commits that
 * announce something wait for each other.
 */
const watchedFamilies: ReadonlySet<string> = new Set([
  "approval_rules",
  "call_switches",
  "grant",
  "live_ask",
  "held_call",
  "operator_token",
  "revoked_token",
  "servicenow_link",
  "signing_key",
  "user",
  "mcp_answer",
  "mcp_cancel",
  "mcp_session",
  "mcp_task",
  "mcp_task_inbox",
]);

/** Whether changes of the entry are announced. */
export function isWatchable(key: readonly string[]): boolean {
  return watchedFamilies.has(key[0] ?? "");
}

/**
 * The watches of one opening. `start` begins to look for changes when the first watch begins; what it returns is called
 * when the last one ends.
 */
export function createKeyedWatches(start: () => () => void) {
  const watched = new Map<string, Set<() => void>>();
  let stop: (() => void) | null = null;

  const tellOne = (listeners: ReadonlySet<() => void>): void => {
    for (const listener of [...listeners]) if (listeners.has(listener)) listener();
  };
  return {
    /** What the port promises of `watch()`. */
    watch(key: StorageKey, onChange: () => void): () => void {
      if (!isWatchable(key)) throw new TypeError(`Entries of ${key[0]} cannot be watched: see storage/watches.ts`);
      const keyText = encodeKeyToRead(key);
      if (keyText === null) return () => {}; // nothing is ever stored there
      const own = watched.getOrInsertComputed(keyText, () => new Set());
      const listener = (): void => onChange(); // the same function may watch twice
      own.add(listener);
      stop ??= start();
      return () => {
        own.delete(listener);
        if (own.size === 0 && watched.get(keyText) === own) watched.delete(keyText);
        if (watched.size > 0) return;
        stop?.();
        stop = null;
      };
    },
    /** The entry with this key, as text, has changed. */
    tell(keyText: string): void {
      tellOne(watched.get(keyText) ?? new Set());
    },
    /** Any entry may have changed. */
    tellAll(): void {
      for (const listeners of [...watched.values()]) tellOne(listeners);
    },
    /** Ends all watches. */
    close(): void {
      watched.clear();
      stop?.();
      stop = null;
    },
  };
}
