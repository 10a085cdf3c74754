/** Opens the storage that the settings ask for. */
import { type Problem, UnusableError } from "../lib/problem.ts";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Log } from "../lib/log.ts";
import type { DatabaseLocation } from "./database_url.ts";
import { type GuardedStorage, guardStorage } from "./guarded_storage.ts";
import type { PostgresLimits } from "./connection.ts";
import type { WatchPresenceOptions } from "./presence.ts";
import type { SqliteStorageOptions } from "./sqlite_storage.ts";

export interface OpenStorageOptions {
  /** From `parseDatabaseUrl`; without it the SQLite file is used. */
  readonly location?: DatabaseLocation;
  /** Where the SQLite file lies, or is made. */
  readonly sqlitePath: string;
  readonly clock: Clock;
  /** Is told when the database is lost and when it is back; for those that go on meanwhile. */
  readonly log?: Log | undefined;
  readonly bounds?: StorageBounds;
  readonly watches?: DatabaseWatches | undefined;
}

/** What the kernel's port knows of a SQLite file. */
interface DatabaseWatches {
  readonly watchCommits?: SqliteStorageOptions["watchCommits"];
  readonly watchPlace?: WatchPresenceOptions["watchPlace"];
}

/** Bounds of the drivers; what is left out keeps its default. */
export interface StorageBounds {
  /** How long an operation waits for a file that another process writes. */
  readonly busyTimeoutMs?: number;
  readonly postgres?: Partial<PostgresLimits>;
}

/** A network's database without an answer for so long is asked whether it is there at all. */
const hangMs = 1_000;

/** Drivers are loaded when they are asked for: most installations need one. */
export async function openStorage(options: OpenStorageOptions): Promise<Result<GuardedStorage, Problem>> {
  const { location, sqlitePath, clock, log, watches, bounds: { busyTimeoutMs, postgres = {} } = {} } = options;
  const busy = busyTimeoutMs === undefined ? {} : { busyTimeoutMs };
  try {
    if (location?.kind === "postgres") {
      const { describePostgresFailure, openPostgresStorage } = await import("./postgres_storage.ts");
      const onWait = (): void =>
        log?.write("warn", "waiting_for_database", { host: location.host, port: location.port });
      const storage = await openPostgresStorage({ location, clock, limits: postgres, onWait });
      const describe = (error: unknown): Problem => describePostgresFailure(error, location);
      return success(guardStorage(storage, { describe, log, hangMs }));
    }
    if (location?.kind === "deno_kv") {
      const { openDenoKvStorage } = await import("./deno_kv_storage.ts");
      const storage = await openDenoKvStorage({ path: location.url, clock, ...busy });
      return success(guardStorage(storage, {
        describe: (error) => ({
          problem: `Deno KV cannot be used: ${error instanceof Error ? error.message : String(error)}`,
          remedy: "check the database that DATABASE_URL names",
        }),
        log,
        hangMs,
      }));
    }
    return success(await openGuardedSqlite({ path: sqlitePath, clock, ...busy }, log, watches));
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return failure(error);
  }
}

/** With a log, the database is a server's: it is looked for damage, and its files are watched. */
async function openGuardedSqlite(
  options: SqliteStorageOptions,
  log: Log | undefined,
  { watchCommits, watchPlace }: DatabaseWatches = {},
): Promise<GuardedStorage> {
  const { path } = options;
  const [{ openSqliteStorage }, { describeSqliteFailure, restoreRemedy }] = await Promise.all([
    import("./sqlite_storage.ts"),
    import("./failure.ts"),
  ]);
  const storage = openSqliteStorage({ ...options, watchCommits, checks: log !== undefined });
  const guarded = guardStorage(storage, { describe: (error) => describeSqliteFailure(error, path), log });
  if (log === undefined) return guarded;
  const { watchPresence } = await import("./presence.ts");
  try {
    const onGone = (gone: string): void => {
      const problem = `${gone} was deleted, moved or replaced under the running server`;
      guarded.refuseWrites({ problem, remedy: `put it back if you can; ${restoreRemedy}` });
    };
    const stopWatching = watchPresence(path, onGone, { watchPlace });
    const close = (): Promise<void> => {
      stopWatching();
      return guarded.close();
    };
    return { ...guarded, close };
  } catch (error) {
    log.write("warn", "database_presence_not_watched", { error: String(error) });
    return guarded;
  }
}
