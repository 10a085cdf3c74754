/**
 * The storage port on one SQLite file, by node:sqlite. Any number of processes may have the file open at once.
 * `synchronous=FULL`: a code that was redeemed or a token that was revoked stays so through a loss of power.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import type { Clock } from "../lib/clock.ts";
import { decodeKey, encodeKey, endOfPrefix } from "./key_text.ts";
import type { Batch, Storage, StoredEntry } from "./port.ts";

const schemaVersion = 1;
const busyTimeoutMilliseconds = 5_000;

interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: string;
}

/** Opens the database, making it with mode 0600 where it is absent. Throws when it is not one of ours. */
export function openSqliteStorage(options: { readonly path: string; readonly clock: Clock }): Storage {
  const { path, clock } = options;
  // SQLite gives its -wal and -shm files the mode of the database, so the mode is set before SQLite sees the file.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMilliseconds}`);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  migrate(database, path);

  const live = "(expires_at IS NULL OR expires_at > ?)";
  const selectOne = database.prepare(`SELECT key, value, version FROM entry WHERE key = ? AND ${live}`);
  const selectRange = database.prepare(
    `SELECT key, value, version FROM entry WHERE key > ? AND key < ? AND ${live} ORDER BY key LIMIT ?`,
  );
  const upsert = database.prepare(
    `INSERT INTO entry (key, value, version, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`,
  );
  const remove = database.prepare("DELETE FROM entry WHERE key = ?");
  const take = database.prepare(`DELETE FROM entry WHERE key = ? AND ${live} RETURNING key, value, version`);
  const removeExpired = database.prepare("DELETE FROM entry WHERE expires_at <= ?");
  // Moves when another connection commits, in this process or another; our own commits are counted beside it.
  const dataVersion = database.prepare("PRAGMA data_version");
  let ownCommits = 0;

  const apply = (batch: Batch): boolean => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const holds = (batch.checks ?? []).every(({ key, version }) => {
        const row = selectOne.get(encodeKey(key), clock()) as unknown as Row | undefined;
        return (row?.version ?? null) === version;
      });
      if (!holds) {
        database.exec("ROLLBACK");
        return false;
      }
      for (const { key, value, expiresAt } of batch.puts ?? []) {
        upsert.run(encodeKey(key), JSON.stringify(value), randomUUID(), expiresAt ?? null);
      }
      for (const key of batch.deletes ?? []) remove.run(encodeKey(key));
      database.exec("COMMIT");
      ownCommits += 1;
      return true;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };

  return {
    get: (key) => attempt(() => readRow(selectOne.get(encodeKey(key), clock()))),
    list: (prefix, { limit, after }) =>
      attempt(() => {
        const start = encodeKey(after ?? prefix);
        return selectRange.all(start, endOfPrefix(prefix), clock(), limit).map((row) => entryOf(row as unknown as Row));
      }),
    commit: (batch) => attempt(() => apply(batch)),
    consume: (key) =>
      attempt(() => {
        const entry = readRow(take.get(encodeKey(key), clock()));
        if (entry !== null) ownCommits += 1;
        return entry;
      }),
    changeCount: () => readDataVersion(dataVersion) * 2 ** 32 + ownCommits,
    sweep: () => attempt(() => Number(removeExpired.run(clock()).changes)),
    close: () => attempt(() => database.close()),
  };
}

function migrate(database: DatabaseSync, path: string): void {
  const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (found > schemaVersion) {
    throw new Error(`${path} was written by a newer version of Portcullis (schema ${found}); upgrade this one`);
  }
  // `IF NOT EXISTS`: two processes may make a new file at the same time.
  database.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS entry (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, version TEXT NOT NULL, expires_at INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS entry_by_expiry ON entry (expires_at) WHERE expires_at IS NOT NULL;
    PRAGMA user_version = ${schemaVersion};
    COMMIT;
  `);
}

function readDataVersion(statement: StatementSync): number {
  return (statement.get() as { data_version: number }).data_version;
}

function readRow(row: unknown): StoredEntry | null {
  return row === undefined ? null : entryOf(row as Row);
}

function entryOf(row: Row): StoredEntry {
  return { key: decodeKey(row.key), value: JSON.parse(row.value), version: row.version };
}

/** The port is asynchronous, SQLite is not: what it throws becomes a rejection. */
function attempt<T>(step: () => T): Promise<T> {
  try {
    return Promise.resolve(step());
  } catch (error) {
    return Promise.reject(error);
  }
}
