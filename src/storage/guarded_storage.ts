/**
 * A driver behind two circuits, one for reads and one for writes: a full disk is no reason to refuse what only reads.
 * What the database fails rejects with `StorageUnavailableError`, soon; the log says once that it is away, why, and
 * what to do, and once that it is back.
 */
import type { Problem } from "../lib/problem.ts";
import type { Log } from "../lib/log.ts";
import { StorageUnavailableError } from "../lib/storage_unavailable.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import { type Circuit, createCircuit, isCallersMistake } from "./circuit.ts";
import type { Storage, StorageKey } from "./port.ts";

/** Written to find out whether anything can be written. */
const probeKey: StorageKey = ["health", "write"];
/** Until an operator has put it right. */
const lostRetryAfterSeconds = 60;

interface GuardOptions {
  /** Puts a driver's error into words. */
  readonly describe: (error: unknown) => Problem;
  readonly log?: Log | undefined;
  readonly timers?: Timers;
  /** See `CircuitOptions`. */
  readonly hangMs?: number;
}

/** A storage that fails fast. */
export interface GuardedStorage extends Storage {
  /** Refuses all writes from here on: what is written now would be lost. */
  refuseWrites(problem: Problem): void;
}

export function guardStorage(storage: Storage, options: GuardOptions): GuardedStorage {
  const { describe, log, timers = systemTimers, hangMs } = options;
  const toFailure = (error: unknown): StorageUnavailableError => {
    const { problem, remedy } = describe(error);
    return new StorageUnavailableError(problem, { remedy, cause: error });
  };
  const circuit = (operations: "reads" | "writes", probe: () => Promise<unknown>): Circuit =>
    createCircuit({
      probe,
      toFailure,
      timers,
      ...(hangMs === undefined ? {} : { hangMs }),
      onOpen: ({ message, remedy }) =>
        log?.write("error", "storage_unavailable", { operations, problem: message, remedy }),
      onClose: () => log?.write("info", "storage_available", { operations }),
    });
  const reads = circuit("reads", () => storage.get(probeKey));
  const writes = circuit("writes", () => storage.commit({ puts: [{ key: probeKey, value: true }] }));
  return {
    get: (key) => reads.run(() => storage.get(key)),
    list: (prefix, listOptions) => reads.run(() => storage.list(prefix, listOptions)),
    commit: (batch) => writes.run(() => storage.commit(batch)),
    consume: (key) => writes.run(() => storage.consume(key)),
    changeCount() {
      if (reads.isOpen) return reads.run(async () => await storage.changeCount());
      try {
        const counted = storage.changeCount();
        return typeof counted === "number" ? counted : reads.run(() => counted);
      } catch (error) {
        if (isCallersMistake(error)) throw error;
        return reads.run(() => Promise.reject(error));
      }
    },
    watch: storage.watch,
    sweep: (now) => writes.run(() => storage.sweep(now)),
    close: () => storage.close(),
    refuseWrites({ problem, remedy }) {
      writes.breakForGood(
        new StorageUnavailableError(problem, { remedy, retryAfterSeconds: lostRetryAfterSeconds }),
      );
    },
  };
}
