/**
 * The storage port on one SQLite file, by node:sqlite. Any number of processes may have the file open at once.
 * `synchronous=FULL`: a code that was redeemed or a token that was revoked stays so through a loss of power.
 */
import { randomUUID } from "node:crypto";
import type { StatementSync } from "node:sqlite";
import type { Clock } from "../lib/clock.ts";
import { decodeKey, encodeKeyToRead } from "./key_text.ts";
import { createKeyedWatches } from "./keyed_watches.ts";
import { listRange } from "./list_range.ts";
import { openSqliteDatabase } from "./open_sqlite_database.ts";
import type { Batch, Storage, StorageKey, StoredEntry } from "./port.ts";
import { prepareBatch } from "./prepare_batch.ts";
import { createSqliteChangeLog } from "./sqlite_change_log.ts";
import { isWatchable } from "./watched_families.ts";

const sweepAtOnce = 500;

/** What {@link openSqliteStorage} takes. */
export interface SqliteStorageOptions {
  readonly path: string;
  readonly clock: Clock;
  /** How long a write waits for another process's; the whole process waits with it. Default 5 s. */
  readonly busyTimeoutMilliseconds?: number;
  /** How often changes are looked for while somebody watches. Default 100 ms. */
  readonly watchIntervalMilliseconds?: number;
}

type ReturnsArrays = StatementSync & { setReturnArrays(enabled: boolean): void };

interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: string;
}

/** Opens the database, making it with mode 0600 where it is absent. Throws `UnusableStorageError` when it is not ours. */
export function openSqliteStorage(options: SqliteStorageOptions): Storage {
  const { path, clock, busyTimeoutMilliseconds = 5_000, watchIntervalMilliseconds = 100 } = options;
  const database = openSqliteDatabase({ path, busyTimeoutMilliseconds });
  const live = "(expires_at IS NULL OR expires_at > ?)";
  const selectOne = database.prepare(`SELECT key, value, version FROM entry WHERE key = ? AND ${live}`);
  const selectRange = database.prepare(
    `SELECT key, value, version FROM entry WHERE key > ? AND key < ? AND ${live} ORDER BY key LIMIT ?`,
  );
  const selectVersion = database.prepare(`SELECT version FROM entry WHERE key = ? AND ${live}`);
  const upsert = database.prepare(
    `INSERT INTO entry (key, value, version, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`,
  );
  const remove = database.prepare("DELETE FROM entry WHERE key = ?");
  const take = database.prepare(`DELETE FROM entry WHERE key = ? AND ${live} RETURNING key, value, version`);
  const removeExpired = database.prepare(
    `DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE expires_at <= ? LIMIT ${sweepAtOnce})`,
  );
  // Moves when another connection commits, in this process or another; our own commits are counted beside it.
  const dataVersion = database.prepare("PRAGMA data_version");
  // Asked for every call, so without an object and its names. Deno has the method, its type library does not yet.
  (dataVersion as ReturnsArrays).setReturnArrays(true);
  let seenDataVersion: unknown;
  let changes = 0;
  const changeLog = createSqliteChangeLog(database);
  const watches = createKeyedWatches(() => changeLog.follow(watchIntervalMilliseconds, watches));

  /** Runs `step` as one transaction, which it takes back by returning `false`. */
  const transact = (step: () => boolean): boolean => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const done = step();
      database.exec(done ? "COMMIT" : "ROLLBACK");
      return done;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
  const apply = (batch: Batch): boolean => {
    const { checks, puts, deletes, impossible } = prepareBatch(batch);
    if (impossible) return false;
    const now = clock();
    const done = transact(() => {
      const holds = checks.every(({ keyText, version }) => {
        const row = selectVersion.get(keyText, now) as { version: string } | undefined;
        return (row?.version ?? null) === version;
      });
      if (!holds) return false;
      for (const { keyText, json, expiresAt } of puts) upsert.run(keyText, json, randomUUID(), expiresAt);
      for (const { keyText } of deletes) remove.run(keyText);
      changeLog.add([...puts, ...deletes]);
      return true;
    });
    if (done && puts.length + deletes.length > 0) changes += 1;
    return done;
  };
  const consume = (key: StorageKey): StoredEntry | null => {
    const keyText = encodeKeyToRead(key);
    if (keyText === null) return null;
    let entry: StoredEntry | null = null;
    const takeOut = (): boolean => {
      entry = readRow(take.get(keyText, clock()));
      return entry !== null;
    };
    const taken = !isWatchable(key) ? takeOut() : transact(() => {
      if (!takeOut()) return false;
      changeLog.add([{ key, keyText }]);
      return true;
    });
    if (taken) changes += 1;
    return entry;
  };

  return {
    get: (key) =>
      attempt(() => {
        const keyText = encodeKeyToRead(key);
        return keyText === null ? null : readRow(selectOne.get(keyText, clock()));
      }),
    list: (prefix, options) =>
      attempt(() => {
        const range = listRange(prefix, options);
        if (range === null) return [];
        return selectRange.all(range.start, range.end, clock(), options.limit)
          .map((row) => entryOf(row as unknown as Row));
      }),
    commit: (batch) => attempt(() => apply(batch)),
    consume: (key) => attempt(() => consume(key)),
    changeCount: () => {
      const [found] = dataVersion.get() as unknown as [number];
      if (found !== seenDataVersion) changes += 1;
      seenDataVersion = found;
      return changes;
    },
    async sweep() {
      // In pieces: the thread is everybody's.
      for (let total = 0;;) {
        const count = Number(removeExpired.run(clock()).changes);
        total += count;
        if (count < sweepAtOnce) return total;
        await new Promise((resolve) => setTimeout(resolve));
      }
    },
    watch: watches.watch,
    close: () =>
      attempt(() => {
        watches.close();
        database.close();
      }),
  };
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
