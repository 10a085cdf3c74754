/** The storage port in memory, without expiry. Sessions and tasks are also tested over SQLite. */
import type { Storage, StorageKey, StoredEntry } from "../../src/storage/port.ts";

/** Makes an empty storage. Values are kept as JSON, as a database would. Several servers on one are a fleet. */
export function createMemoryStorage(): Storage {
  const entries = new Map<string, string>();
  const watches = new Set<{ readonly key: string; readonly onChange: () => void }>();
  let changes = 0;
  const versionOf = (text: string): string => text; // good enough where values differ whenever they are written
  const toEntry = (key: string, text: string): StoredEntry => {
    return { key: JSON.parse(key), value: JSON.parse(text), version: versionOf(text) };
  };
  return {
    get(key) {
      const text = entries.get(JSON.stringify(key));
      return Promise.resolve(text === undefined ? null : toEntry(JSON.stringify(key), text));
    },
    list(prefix, { limit, after = prefix }) {
      const isBelow = (key: StorageKey): boolean =>
        key.length > prefix.length && prefix.every((part, at) => part === key[at]) && key.join("!") > after.join("!");
      const found = Array.from(entries, ([key, text]) => toEntry(key, text))
        .filter(({ key }) => isBelow(key))
        .sort((a, b) => a.key.join("!") < b.key.join("!") ? -1 : 1);
      return Promise.resolve(found.slice(0, limit));
    },
    commit({ checks = [], puts = [], deletes = [] }) {
      const holds = checks.every(({ key, version }) => {
        const text = entries.get(JSON.stringify(key));
        return (text === undefined ? null : versionOf(text)) === version;
      });
      if (!holds) return Promise.resolve(false);
      changes += 1;
      for (const { key, value } of puts) entries.set(JSON.stringify(key), JSON.stringify(value));
      for (const key of deletes) entries.delete(JSON.stringify(key));
      const changed = new Set([...puts.map(({ key }) => key), ...deletes].map((key) => JSON.stringify(key)));
      for (const watch of [...watches]) if (changed.has(watch.key)) queueMicrotask(watch.onChange);
      return Promise.resolve(true);
    },
    watch(key, onChange) {
      const watch = { key: JSON.stringify(key), onChange };
      watches.add(watch);
      return () => void watches.delete(watch);
    },
    changeCount: () => changes,
    async consume(key) {
      const entry = await this.get(key);
      return entry !== null && await this.commit({ deletes: [key] }) ? entry : null;
    },
    sweep: () => Promise.resolve(0),
    close: () => Promise.resolve(),
  };
}
