/** The storage port with its failures counted. */
import type { Storage } from "../storage/port.ts";

/** The same storage; `onError` hears of each operation that the database failed, not of a caller's mistakes. */
export function countStorageErrors(storage: Storage, onError: () => void): Storage {
  const count = (error: unknown): never => {
    if (!(error instanceof TypeError || error instanceof RangeError)) onError();
    throw error;
  };
  return {
    get: (key) => storage.get(key).catch(count),
    list: (prefix, options) => storage.list(prefix, options).catch(count),
    commit: (batch) => storage.commit(batch).catch(count),
    consume: (key) => storage.consume(key).catch(count),
    changeCount() {
      try {
        const counted = storage.changeCount();
        return typeof counted === "number" ? counted : counted.catch(count);
      } catch (error) {
        return count(error);
      }
    },
    sweep: () => storage.sweep().catch(count),
    close: () => storage.close(),
  };
}
