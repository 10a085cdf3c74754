/** Observes a storage: counts its failures, and makes a span for each operation. */
import { isCallersMistake } from "../lib/system_fault.ts";
import { errorType, inSpan, noTracer, type SpanAttributes, type Tracer } from "../lib/tracer.ts";
import type { Batch, PostgresLocation, Storage, StorageKey } from "../storage/mod.ts";

interface StorageObservers {
  /** Called for each operation that the database failed, not of a caller's mistakes. */
  readonly onError?: () => void;
  readonly tracer?: Tracer;
  /** From `parseDatabaseUrl`; SQLite without it. */
  readonly location?: PostgresLocation | undefined;
}

/** The same storage. Spans name a record's family, never its key: some keys are names, some are hashes of secrets. */
export function observeStorage(storage: Storage, observers: StorageObservers): Storage {
  const { onError = () => {}, tracer = noTracer } = observers;
  const attributes = databaseAttributes(observers.location);
  const count = (error: unknown): never => {
    if (!isCallersMistake(error)) onError();
    throw error;
  };
  const observe = <T>(operation: string, family: string | undefined, run: () => Promise<T>, size = 1): Promise<T> => {
    if (!tracer.exports) return run().catch(count);
    const start = {
      name: family === undefined ? operation : `${operation} ${family}`,
      kind: "client",
      attributes: {
        ...attributes,
        "db.operation.name": operation,
        ...(family === undefined ? {} : { "db.collection.name": family }),
        ...(size > 1 ? { "db.operation.batch.size": size } : {}),
      },
    } as const;
    return inSpan(tracer, start, run, errorType).catch(count);
  };
  return {
    get: (key) => observe("get", key[0], () => storage.get(key)),
    list: (prefix, options) => observe("list", prefix[0], () => storage.list(prefix, options)),
    commit(batch) {
      const keys = writtenKeys(batch);
      return observe("commit", familyOf(keys), () => storage.commit(batch), keys.length);
    },
    consume: (key) => observe("consume", key[0], () => storage.consume(key)),
    // On every request and a few microseconds: without a span.
    changeCount() {
      try {
        const counted = storage.changeCount();
        return typeof counted === "number" ? counted : counted.catch(count);
      } catch (error) {
        return count(error);
      }
    },
    watch: (key, onChange) => storage.watch(key, onChange),
    sweep: (now) => observe("sweep", undefined, () => storage.sweep(now)),
    close: () => storage.close(),
  };
}

/** By OpenTelemetry's conventions; the database's address, never its user or password. */
function databaseAttributes(location: PostgresLocation | undefined): SpanAttributes {
  if (location === undefined) return { "db.system.name": "sqlite" };
  return { "db.system.name": "postgresql", "server.address": location.host, "server.port": location.port };
}

function writtenKeys({ puts = [], deletes = [] }: Batch): readonly StorageKey[] {
  return [...puts.map(({ key }) => key), ...deletes];
}

/** The one family of all keys, if there is just one. */
function familyOf(keys: readonly StorageKey[]): string | undefined {
  const family = keys[0]?.[0];
  return keys.every((key) => key[0] === family) ? family : undefined;
}
