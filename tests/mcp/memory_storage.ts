/** The protocol layer's storage port in memory. Sessions and tasks are also tested over SQLite. */
import type { McpStorage } from "../../src/mcp/mcp_storage.ts";

/** Makes an empty storage. Values are kept as JSON, as a database would. */
export function createMemoryStorage(): McpStorage {
  const entries = new Map<string, string>();
  let changes = 0;
  return {
    get(key) {
      const text = entries.get(JSON.stringify(key));
      return Promise.resolve(text === undefined ? null : { value: JSON.parse(text) });
    },
    commit({ puts = [], deletes = [] }) {
      changes += 1;
      for (const { key, value } of puts) entries.set(JSON.stringify(key), JSON.stringify(value));
      for (const key of deletes) entries.delete(JSON.stringify(key));
      return Promise.resolve(true);
    },
    changeCount: () => changes,
  };
}
