/** Examines a storage for `doctor`, without creating or changing anything. */
import { lstatSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { UnusableError } from "../lib/result.ts";
import { faultWords, pathRemedy } from "../lib/system_fault.ts";
import type { PostgresLocation } from "./database_url.ts";
import { markKey, type SoundStorage } from "./open_storage.ts";
import { encodeKey, type StorageKey } from "./port.ts";
import { describeSqliteFailure, requireOwn, requireSound } from "./sqlite_database.ts";

/**
 * Opens an existing storage, looks for damage and for one entry, and tries a write where it can be rolled back. `null`
 * where there is none yet: the first start creates it. Throws {@link UnusableError}.
 */
export async function examineStorage(
  { location, sqlitePath, lookFor }: {
    readonly location?: PostgresLocation;
    readonly sqlitePath: string;
    readonly lookFor: StorageKey;
  },
): Promise<SoundStorage | null> {
  if (location !== undefined) return await examinePostgres(location, lookFor);
  return exists(sqlitePath) ? examineSqlite(sqlitePath, lookFor) : null;
}

/** An unreachable path is not a missing file: the start would not create it. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new UnusableError(
      `${path} cannot be used: ${faultWords(error)}`,
      pathRemedy(error, "choose another place for the database (DATA_DIR, DATABASE_URL)"),
      { cause: error },
    );
  }
}

/** How long the trial waits for another process's write. */
const busyTimeoutMs = 1_000;

/** Of a database that may be in use. Throws {@link UnusableError} for one that cannot be read, is damaged, or cannot be written. */
function examineSqlite(path: string, lookFor: StorageKey): SoundStorage | null {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.prepare(`PRAGMA busy_timeout = ${busyTimeoutMs}`).get();
    requireOwn(database, path);
    requireSound(database, path, Infinity);
    const { count } = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number };
    if (count === 0) return null;
    const find = database.prepare("SELECT value FROM entry WHERE key = ?");
    const row = find.get(encodeKey(markKey));
    const isFound = find.get(encodeKey(lookFor)) !== undefined;
    database.prepare("BEGIN IMMEDIATE").run();
    database.prepare("ROLLBACK").run();
    return { mark: row === undefined ? null : JSON.parse(String(row["value"])), isFound };
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    const { problem, remedy } = describeSqliteFailure(error, path);
    throw new UnusableError(problem, remedy, { cause: error });
  } finally {
    database?.close();
  }
}

/** Loads the driver, which SQLite does without. Rejects with {@link UnusableError} when the server or the schema cannot be used. */
async function examinePostgres(location: PostgresLocation, lookFor: StorageKey): Promise<SoundStorage | null> {
  const [{ connectPostgres, postgresLimits }, driver] = await Promise.all([
    import("./postgres_connection.ts"),
    import("./postgres_storage.ts"),
  ]);
  const connection = connectPostgres(location, { ...postgresLimits, connections: 1 });
  try {
    return await connection.whenReachable(async () => {
      const { sql } = connection;
      await driver.requireUsableServer(sql);
      if (!await driver.hasSchema(sql, driver.defaultSchema)) return null;
      const find = async (key: StorageKey): Promise<{ readonly value: string } | undefined> => {
        const select = `SELECT value FROM ${driver.defaultSchema}.entry WHERE key = $1`;
        return (await sql.unsafe<{ value: string }[]>(select, [encodeKey(key)]))[0];
      };
      const [row, found] = await Promise.all([find(markKey), find(lookFor)]);
      return { mark: row === undefined ? null : JSON.parse(row.value), isFound: found !== undefined };
    });
  } catch (error) {
    throw driver.toUnusable(error, location);
  } finally {
    await connection.close();
  }
}
