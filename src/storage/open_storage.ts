/** Opens the storage that the settings ask for. */
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { DatabaseLocation } from "./database_url.ts";
import type { Storage } from "./port.ts";
import type { PostgresLimits } from "./postgres_connection.ts";
import { UnusableStorageError } from "./unusable_storage.ts";

/** What {@link openStorage} takes. */
export interface OpenStorageOptions {
  /** From `parseDatabaseUrl`; without it the SQLite file is used. */
  readonly location?: DatabaseLocation;
  /** Where the SQLite file lies, or is made. */
  readonly sqlitePath: string;
  readonly clock: Clock;
  /** How long an operation waits for a file that another process writes. */
  readonly busyTimeoutMilliseconds?: number;
  /** Limits of the PostgreSQL driver; what is left out keeps its default. */
  readonly postgresLimits?: Partial<PostgresLimits>;
}

/** Why the storage cannot be opened, and what to do about it. Neither text holds a password. */
export interface StorageProblem {
  readonly problem: string;
  readonly remedy: string;
}

/** Drivers are loaded when they are asked for: most installations need one. */
export async function openStorage(options: OpenStorageOptions): Promise<Result<Storage, StorageProblem>> {
  const { location, sqlitePath, clock, busyTimeoutMilliseconds = 5_000, postgresLimits: limits = {} } = options;
  try {
    if (location?.kind === "postgres") {
      const { openPostgresStorage } = await import("./postgres.ts");
      return success(await openPostgresStorage({ location, clock, limits }));
    }
    if (location?.kind === "deno_kv") {
      const { openDenoKvStorage } = await import("./deno_kv.ts");
      return success(await openDenoKvStorage({ ...location, clock, busyTimeoutMilliseconds }));
    }
    const { openSqliteStorage } = await import("./sqlite.ts");
    return success(openSqliteStorage({ path: sqlitePath, clock, busyTimeoutMilliseconds }));
  } catch (error) {
    if (!(error instanceof UnusableStorageError)) throw error;
    return failure({ problem: error.message, remedy: error.remedy });
  }
}
