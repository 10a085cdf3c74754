/** Opens the storage that the settings ask for. */
import { failure, type Problem, type Result, success, UnusableError } from "../lib/result.ts";
import type { Clock } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import type { PostgresLocation } from "./database_url.ts";
import { guardStorage } from "./guarded_storage.ts";
import type { PostgresLimits } from "./postgres_connection.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Storage, StorageKey } from "./port.ts";

export interface OpenStorageOptions {
  /** From `parseDatabaseUrl`; without it the SQLite file is used. */
  readonly location?: PostgresLocation;
  /** Where the SQLite file lies, or is made. */
  readonly sqlitePath: string;
  readonly clock: Clock;
  /** Notified when the database is lost and when it is back. */
  readonly log?: Log | undefined;
  readonly bounds?: StorageBounds;
  /** Says whether a database's file is the one that was there: `WatchPlace` of files/kernel/kernel.ts. */
  readonly watchPlace?: ((path: string) => () => boolean) | undefined;
}

/** Bounds of the drivers, each with a default. */
export interface StorageBounds {
  /** How long an operation waits for another process's lock. */
  readonly busyTimeoutMs?: number;
  readonly postgres?: Partial<PostgresLimits>;
}

/** A network database that has not answered for this long is probed. */
const hangMs = 1_000;

/** Loads a driver on demand: an installation needs one. */
export async function openStorage(options: OpenStorageOptions): Promise<Result<Storage, Problem>> {
  const { location, clock, log, bounds: { postgres = {} } = {} } = options;
  try {
    if (location === undefined) return success(await openGuardedSqlite(options));
    const { describePostgresFailure, openPostgresStorage } = await import("./postgres_storage.ts");
    const onWait = (): void => log?.write("warn", "waiting_for_database", { host: location.host, port: location.port });
    const storage = await openPostgresStorage({ location, clock, limits: postgres, onWait });
    const describe = (error: unknown): Problem => describePostgresFailure(error, location);
    return success(guardStorage(storage, { describe, log, hangMs }));
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return failure(error);
  }
}

/** With a log the caller is a server: the database is checked for damage, and its files are watched. */
async function openGuardedSqlite(
  { sqlitePath: path, clock, log, bounds: { busyTimeoutMs } = {}, watchPlace }: OpenStorageOptions,
): Promise<Storage> {
  const [{ openSqliteStorage }, { describeSqliteFailure, restoreRemedy }, { watchPresence }] = await Promise.all([
    import("./sqlite_storage.ts"),
    import("./sqlite_database.ts"),
    import("./sqlite_presence.ts"),
  ]);
  const describe = (error: unknown): Problem => describeSqliteFailure(error, path);
  const storage = openSqliteStorage({ path, clock, busyTimeoutMs, checks: log !== undefined });
  if (log === undefined) return guardStorage(storage, { describe });
  const presence = watchPresence(path, watchPlace);
  const findLoss = (): Problem | null => {
    const gone = presence.look();
    if (gone === null) return null;
    const problem = `${gone} was deleted, moved or replaced under the running server`;
    return { problem, remedy: `put it back if you can; ${restoreRemedy}` };
  };
  const guarded = guardStorage(storage, { describe, findLoss, log });
  const close = async (): Promise<void> => {
    await guarded.close();
    presence.close();
  };
  return { ...guarded, close };
}

// * Ties a database to the master key that it was first used with. An instance that made a key of its own, or a restored
// database without its key, would otherwise start, refuse every token, and seal new records that the others cannot open.

export const markKey: StorageKey = ["installation", "master_key_mark"];

/** A database and a key that do not belong together. */
export const wrongMasterKey: Problem = {
  problem: "the database was written with another master key than this instance has",
  remedy: "give every instance the same master key: copy master.key from the first one, or from the backup",
};

/** Identifies the master key without revealing it. */
export function masterKeyMark(secrets: SecretBox): string {
  return secrets.authenticate("master-key-mark", "v1");
}

/** The mark of the database's master key; `null` before the first start. */
export async function boundMark(storage: Storage): Promise<unknown> {
  return (await storage.get(markKey))?.value ?? null;
}

/** Binds the database to another key: the last step of a rotation. */
export async function rebindMasterKey(storage: Storage, mark: string): Promise<void> {
  await storage.commit({ puts: [{ key: markKey, value: mark }] });
}

/** `mark` is derived from the key and does not reveal it. Leaves the mark on a database that has none. */
export async function bindMasterKey(storage: Storage, mark: string): Promise<Result<null, Problem>> {
  for (;;) {
    const found = await storage.get(markKey);
    if (found === null) {
      const marked = await storage.commit({
        checks: [{ key: markKey, version: null }],
        puts: [{ key: markKey, value: mark }],
      });
      if (marked) return success(null);
      continue; // another instance was first
    }
    if (found.value === mark) return success(null);
    return failure(wrongMasterKey);
  }
}

/** A usable storage. */
export interface SoundStorage {
  readonly kind: "sound";
  /** The mark of its master key; `null` before the first start. */
  readonly mark: unknown;
  /** Whether the requested entry exists. */
  readonly isFound: boolean;
}

/** Nothing exists yet: the first start creates it. */
export interface AbsentStorage {
  readonly kind: "absent";
}
