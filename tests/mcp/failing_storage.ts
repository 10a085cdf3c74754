/** A storage that a test can take away for a while, in the ways that databases go. */
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import type { Storage } from "../../src/storage/port.ts";

/** How writes fail: nothing is done, or it is done and the answer lost. */
export type StorageFault = "refused" | "done_but_lost" | null;

/** The storage, and what it does at the moment. */
export interface FailingStorage extends Storage {
  fault: StorageFault;
}

/** Wraps a storage that works. */
export function makeFailing(storage: Storage): FailingStorage {
  return {
    ...storage,
    fault: null,
    async commit(batch) {
      if (this.fault === "refused") throw new StorageUnavailableError("database is locked");
      const done = await storage.commit(batch);
      if (this.fault === "done_but_lost") throw new StorageUnavailableError("connection closed");
      return done;
    },
  };
}
