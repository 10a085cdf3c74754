/**
 * The storage port on one SQLite file, by node:sqlite. Any number of processes may have the file open at once.
 * `synchronous=FULL`: a code that was redeemed or a token that was revoked stays so through a loss of power.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Clock, systemTimers } from "../lib/time.ts";
import { createKeyedWatches, isCounted, isWatchable, type KeyedWatches } from "./watches.ts";
import {
  type Batch,
  decodeKey,
  defaultBusyTimeoutMs,
  encodeKeyToRead,
  listRange,
  type Storage,
  type StorageKey,
  type StoredEntry,
} from "./port.ts";
import { parseStoredJson } from "../lib/system_fault.ts";
import { createLockQueue } from "./sqlite_lock_queue.ts";
import { openSqliteDatabase, sqliteCode, sqliteCodeOf } from "./sqlite_database.ts";
import { prepareBatch } from "./prepare_batch.ts";

// * Which watchable entries changed, and that others did, in a table that every process writes in the transaction of the change itself and
// reads on from where it was. SQLite's transactions follow each other, so the numbers have no gaps; the oldest rows go
// as new ones come, and who missed them is told that anything may have changed.

const keptRows = 10_000;
const readAtOnce = 1_000;
/** In place of a key: something changed that cannot be watched. No entry has it. */
const unnamed = "";

/** The log of one connection. */
interface SqliteChangeLog {
  /** The number of the last note; moves with every counted commit, of this process or another. */
  last(): number;
  /** Notes changed entries, within the transaction that changes them; gives the number of the last note. */
  add(entries: readonly { readonly key: StorageKey; readonly keyText: string }[]): number;
  /** Tells `watches` of what is added from here on, until the returned function is called. */
  follow(options: FollowOptions, watches: Pick<KeyedWatches, "tell" | "tellAll">): () => void;
}

interface FollowOptions {
  readonly intervalMs: number;
  /** Moves with every commit, and costs less than to ask SQLite; `null` where there is no such number. */
  readonly commitCount: (() => number) | null;
}

interface ChangeLogRow {
  readonly sequence: number;
  readonly key: string;
}

export function createSqliteChangeLog(database: DatabaseSync): SqliteChangeLog {
  const insert = database.prepare("INSERT INTO change (key) VALUES (?)");
  const trim = database.prepare(
    `DELETE FROM change WHERE sequence <= (SELECT max(sequence) FROM change) - ${keptRows}`,
  );
  const selectLast = database.prepare("SELECT coalesce(max(sequence), 0) AS last FROM change");
  const selectAfter = database.prepare(
    `SELECT sequence, key FROM change WHERE sequence > ? ORDER BY sequence LIMIT ${readAtOnce}`,
  );
  const last = (): number => (selectLast.get() as { last: number }).last;
  return {
    last,
    add(entries) {
      const watchable = entries.filter(({ key }) => isWatchable(key));
      for (const { keyText } of watchable) insert.run(keyText);
      const isUnnamed = watchable.length === 0 && entries.some(({ key }) => isCounted(key));
      if (isUnnamed) insert.run(unnamed);
      if (isUnnamed || watchable.length > 0) trim.run();
      return last();
    },
    follow({ intervalMs, commitCount }, { tell, tellAll }) {
      const begin = (): number | null => {
        try {
          return last();
        } catch {
          return null; // the disk failed: who watches hears when it is back
        }
      };
      const readOn = (after: number): readonly ChangeLogRow[] | null => {
        try {
          return selectAfter.all(after) as unknown as readonly ChangeLogRow[];
        } catch {
          return null; // likewise: the next look begins where this one did
        }
      };
      let seen = begin();
      let readAt: number | null = null;
      return systemTimers.every(intervalMs, () => {
        if (seen === null) {
          seen = begin();
          if (seen !== null) tellAll();
          return;
        }
        const count = commitCount?.() ?? null;
        if (count !== null && count === readAt) return;
        const rows = readOn(seen);
        readAt = rows === null || rows.length === readAtOnce ? null : count;
        const first = rows?.[0];
        if (rows === null || first === undefined) return;
        const isWhole = first.sequence === seen + 1;
        seen = rows.at(-1)?.sequence ?? seen;
        if (!isWhole) return tellAll();
        for (const key of new Set(rows.map((row) => row.key))) tell(key);
      });
    },
  };
}

const sweepAtOnce = 500;

export interface SqliteStorageOptions {
  readonly path: string;
  readonly clock: Clock;
  /** How long an operation waits for another process's write, alone: others go on. */
  readonly busyTimeoutMs?: number;
  /** For a server: looks for damage first. */
  readonly checks?: boolean;
  /** Finds a way to notice commits that is cheaper than asking SQLite; see `WatchCommits` of files/kernel/kernel.ts. */
  readonly watchCommits?: ((path: string) => (() => number) | null) | undefined;
  /** How often a watch polls. Default 100 ms. */
  readonly watchIntervalMs?: number;
}

type ReturnsArrays = StatementSync & { setReturnArrays(enabled: boolean): void };

interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: string;
}

/** Opens the database, making it with mode 0600 where it is absent. Throws `UnusableError` when it is not ours. */
export function openSqliteStorage(options: SqliteStorageOptions): Storage {
  const { path, clock, busyTimeoutMs = defaultBusyTimeoutMs, watchIntervalMs = 100, checks = false } = options;
  const database = openSqliteDatabase({ path, busyTimeoutMs, checks });
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
  const commitCount = options.watchCommits?.(path) ?? null;
  // Moves when another connection commits, in this process or another.
  const dataVersion = database.prepare("PRAGMA data_version");
  // Asked for every call where there is no cheaper way, so without an object and its names. Deno has the method, its type library does not yet.
  (dataVersion as ReturnsArrays).setReturnArrays(true);
  let seenVersion: unknown;
  let changes = 0;
  let seenNote = -1;
  const changeLog = createSqliteChangeLog(database);
  const watches = createKeyedWatches(() => changeLog.follow({ intervalMs: watchIntervalMs, commitCount }, watches));

  // Prepared, since errors of exec() do not say their code.
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");
  const isBusy = (error: unknown): boolean => sqliteCodeOf(error) === sqliteCode.busy;
  const waiting = { isBusy, timeoutMs: busyTimeoutMs, timers: systemTimers };
  const [reads, writes] = [createLockQueue(waiting), createLockQueue(waiting)];

  /** Runs `step` as one transaction, which it rolls back by returning `false`. */
  const transact = (step: () => boolean): boolean => {
    begin.run();
    try {
      const done = step();
      (done ? commit : rollback).run();
      return done;
    } catch (error) {
      if (database.isTransaction) rollBack(rollback);
      throw error;
    }
  };
  /** Of a commit of the audit's, the log has no note. */
  const countNote = (note: number): void => {
    if (note !== seenNote) changes += 1;
    seenNote = note;
  };
  const apply = (batch: Batch): boolean => {
    const { checks, puts, deletes, impossible } = prepareBatch(batch);
    if (impossible) return false;
    const now = clock();
    let note = seenNote;
    const done = transact(() => {
      const holds = checks.every(({ keyText, version }) => {
        const row = selectVersion.get(keyText, now) as { version: string } | undefined;
        return (row?.version ?? null) === version;
      });
      if (!holds) return false;
      for (const { keyText, json, expiresAt } of puts) upsert.run(keyText, json, crypto.randomUUID(), expiresAt);
      for (const { keyText } of deletes) remove.run(keyText);
      note = changeLog.add([...puts, ...deletes]);
      return true;
    });
    if (done) countNote(note);
    return done;
  };
  const consume = (key: StorageKey): StoredEntry | null => {
    const keyText = encodeKeyToRead(key);
    if (keyText === null) return null;
    let entry: StoredEntry | null = null;
    let note = seenNote;
    const takeOut = (): boolean => {
      entry = readRow(take.get(keyText, clock()));
      return entry !== null;
    };
    const taken = transact(() => {
      if (!takeOut()) return false;
      note = changeLog.add([{ key, keyText }]);
      return true;
    });
    if (taken) countNote(note);
    return entry;
  };

  return {
    get: (key) =>
      reads.run(() => {
        const keyText = encodeKeyToRead(key);
        return keyText === null ? null : readRow(selectOne.get(keyText, clock()));
      }),
    list: (prefix, options) =>
      reads.run(() => {
        const range = listRange(prefix, options);
        if (range === null) return [];
        return selectRange.all(range.start, range.end, clock(), options.limit)
          .map((row) => entryOf(row as unknown as Row));
      }),
    commit: (batch) => writes.run(() => apply(batch)),
    consume: (key) => writes.run(() => consume(key)),
    changeCount() {
      try {
        const version = commitCount === null ? (dataVersion.get() as unknown as [number])[0] : commitCount();
        if (version === seenVersion) return changes;
        seenVersion = version;
        countNote(changeLog.last());
      } catch (error) {
        changes += 1; // what was noticed is not noticed again
        if (!isBusy(error)) throw error; // otherwise another process may be writing; the read that follows waits
      }
      return changes;
    },
    async sweep(now) {
      // In pieces: all callers share the thread.
      for (let total = 0;;) {
        const count = Number((await writes.run(() => removeExpired.run(now))).changes);
        total += count;
        if (count < sweepAtOnce) return total;
        await new Promise((resolve) => setTimeout(resolve));
      }
    },
    watch: watches.watch,
    async close() {
      watches.close();
      reads.close();
      writes.close();
      await Promise.resolve(); // what that settled is answered before
      database.close();
    },
  };
}

/** What made it necessary is what matters, not that this fails too. */
function rollBack(rollback: StatementSync): void {
  try {
    rollback.run();
  } catch {
    // SQLite has rolled it back by itself, or does so when the database is opened next
  }
}

function readRow(row: unknown): StoredEntry | null {
  return row === undefined ? null : entryOf(row as Row);
}

function entryOf(row: Row): StoredEntry {
  return { key: decodeKey(row.key), value: parseStoredJson(row.value), version: row.version };
}
