/**
 * The storage port on one SQLite file, by node:sqlite. Any number of processes may have the file open at once.
 * `synchronous=FULL`: a code that was redeemed or a token that was revoked stays so through a loss of power.
 */
import { closeAll } from "../lib/result.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import { createKeyedWatches, isCounted, isWatchable, type KeyedWatches } from "./watches.ts";
import { encodeKeyToRead, entryOf, listRange, prepareBatch } from "./port.ts";
import type { Batch, EntryRow, Storage, StorageKey, StoredEntry } from "./port.ts";
import { busyCode, openSqliteDatabase, sqliteCodeOf } from "./sqlite_database.ts";

/** How long an operation waits for a database file that another process writes. */
const defaultBusyTimeoutMs = 5_000;
const sweepAtOnce = 500;

interface SqliteStorageOptions {
  readonly path: string;
  readonly clock: Clock;
  /** How long an operation waits for another process's write, alone: others go on. */
  readonly busyTimeoutMs?: number | undefined;
  /** Looks for damage first in a database up to this size. */
  readonly checkedBytes?: number;
  /** Says of the open database whether anything may have been committed since it was last asked, cheaper than SQLite does. */
  readonly watchCommits?: ((path: string) => () => boolean) | undefined;
  /** How often a watch polls. Default 100 ms. */
  readonly watchIntervalMs?: number;
}

/** Opens the database, making it with mode 0600 where it is absent. Throws `UnusableError` when it is not ours. */
export function openSqliteStorage(options: SqliteStorageOptions): Storage {
  const { path, busyTimeoutMs = defaultBusyTimeoutMs, checkedBytes = 0 } = options;
  const database = openSqliteDatabase({ path, busyTimeoutMs, checkedBytes });
  try {
    return storageOn(database, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

function storageOn(
  database: DatabaseSync,
  { path, clock, busyTimeoutMs = defaultBusyTimeoutMs, watchIntervalMs = 100, watchCommits }: SqliteStorageOptions,
): Storage {
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
  // Moves when another connection commits, in this process or another.
  const dataVersion = database.prepare("PRAGMA data_version");
  // Asked for every call, so without an object and its names. Deno has the method, its type library does not yet.
  (dataVersion as StatementSync & { setReturnArrays(enabled: boolean): void }).setReturnArrays(true);
  // A file system that cannot share memory has no write-ahead log: what an earlier one left says nothing.
  const hasLog = database.prepare("PRAGMA journal_mode").get()?.["journal_mode"] === "wal";
  const always = (): boolean => true;
  let mayHaveChanged = (hasLog ? watchCommits?.(Deno.realPathSync(path)) : undefined) ?? always;
  let hasCommitted = false;
  let seenVersion: unknown;
  let changes = 0;
  let seenNote = -1;
  const changeLog = createChangeLog(database);
  const watches = createKeyedWatches(() => changeLog.follow(watchIntervalMs, watches));

  // Prepared, since errors of exec() do not say their code.
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");
  const [reads, writes] = [createLockQueue(busyTimeoutMs), createLockQueue(busyTimeoutMs)];

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
  const countNote = (note: number, isOwn: boolean): void => {
    if (note !== seenNote) changes += 1;
    hasCommitted ||= isOwn && note !== seenNote;
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
    if (done) countNote(note, true);
    return done;
  };
  const consume = (key: StorageKey): StoredEntry | null => {
    const keyText = encodeKeyToRead(key);
    if (keyText === null) return null;
    let entry: StoredEntry | null = null;
    let note = seenNote;
    const taken = transact(() => {
      entry = readRow(take.get(keyText, clock()));
      if (entry === null) return false;
      note = changeLog.add([{ key, keyText }]);
      return true;
    });
    if (taken) countNote(note, true);
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
          .map((row) => entryOf(row as unknown as EntryRow));
      }),
    commit: (batch) => writes.run(() => apply(batch)),
    consume: (key) => writes.run(() => consume(key)),
    changeCount() {
      try {
        if (!mayHaveChanged()) {
          if (!hasCommitted) return changes;
          mayHaveChanged = always; // where reads miss what was written through shared memory, such as 9p
        }
        hasCommitted = false;
        const [version] = dataVersion.get() as unknown as [number];
        if (version === seenVersion) return changes;
        seenVersion = version;
        countNote(changeLog.last(), false);
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
        await pause(0);
      }
    },
    watch: watches.watch,
    close: () => closeAll(watches.close, reads.close, writes.close, () => database.close()),
  };
}

/** Another process holds the lock. */
function isBusy(error: unknown): boolean {
  return sqliteCodeOf(error) === busyCode;
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
  return row === undefined ? null : entryOf(row as EntryRow);
}

// Which watchable entries changed, and that others did, in a table that every process writes in the transaction of the
// change itself and reads on from where it was. SQLite's transactions follow each other, so the numbers have no gaps;
// the oldest rows go as new ones come, and a watcher that missed some is notified that anything may have changed.

const keptRows = 10_000;
const readAtOnce = 1_000;
/** In place of a key: something changed that cannot be watched. No entry has it. */
const unnamed = "";

/** The log of one connection. */
function createChangeLog(database: DatabaseSync) {
  const insert = database.prepare("INSERT INTO change (key) VALUES (?)");
  const trim = database.prepare(
    `DELETE FROM change WHERE sequence <= (SELECT max(sequence) FROM change) - ${keptRows}`,
  );
  const selectLast = database.prepare("SELECT coalesce(max(sequence), 0) AS last FROM change");
  const selectAfter = database.prepare(
    `SELECT sequence, key FROM change WHERE sequence > ? ORDER BY sequence LIMIT ${readAtOnce}`,
  );
  /** The number of the last note; moves with every counted commit, of this process or another. */
  const last = (): number => (selectLast.get() as { last: number }).last;
  return {
    last,
    /** Notes changed entries, within the transaction that changes them; gives the number of the last note. */
    add(entries: readonly { readonly key: StorageKey; readonly keyText: string }[]): number {
      const watchable = entries.filter(({ key }) => isWatchable(key));
      for (const { keyText } of watchable) insert.run(keyText);
      const isUnnamed = watchable.length === 0 && entries.some(({ key }) => isCounted(key));
      if (isUnnamed) insert.run(unnamed);
      if (isUnnamed || watchable.length > 0) trim.run();
      return last();
    },
    /** Tells `watches` of what is added from here on, until the returned function is called. */
    follow(intervalMs: number, { tell, tellAll }: Pick<KeyedWatches, "tell" | "tellAll">): () => void {
      /** `null` where the disk failed: who watches hears when it is back, and the next look begins where this one did. */
      const attempt = <T>(step: () => T): T | null => {
        try {
          return step();
        } catch {
          return null;
        }
      };
      let seen = attempt(last);
      return systemTimers.every(intervalMs, () => {
        if (seen === null) {
          seen = attempt(last);
          if (seen !== null) tellAll();
          return;
        }
        const after = seen;
        const rows = attempt(() =>
          selectAfter.all(after) as unknown as readonly { readonly sequence: number; readonly key: string }[]
        );
        const first = rows?.[0];
        if (rows === null || first === undefined) return;
        seen = rows.at(-1)?.sequence ?? seen;
        if (first.sequence !== after + 1) return tellAll();
        for (const key of new Set(rows.map((row) => row.key))) tell(key);
      });
    },
  };
}

/** Steps that may wait; one more fails at once. */
const maxWaitingSteps = 1_000;
const firstRetryMs = 1;
const maxRetryMs = 20;

/**
 * Runs steps that need a lock which other processes take too: in their order, each as soon as the lock is free, for up to
 * `timeoutMs`. SQLite's own waiting would block the one thread that serves all callers.
 */
function createLockQueue(timeoutMs: number) {
  const closing = new AbortController();
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  const retry = async <T>(step: () => T, endsAt: number): Promise<T> => {
    for (let delay = firstRetryMs;; delay = Math.min(2 * delay, maxRetryMs)) {
      try {
        return step();
      } catch (error) {
        if (!isBusy(error) || closing.signal.aborted || systemTimers.elapsed() >= endsAt) throw error;
      }
      await pause(delay, closing.signal);
    }
  };
  const others = (): Promise<void> => pause(0, closing.signal); // between two commits, others have their turn
  return {
    /** Runs the step, in this turn of the event loop if the queue is empty. Rejects with what it throws last. */
    run<T>(step: () => T): Promise<T> {
      if (waiting === 0 || waiting >= maxWaitingSteps) {
        try {
          return Promise.resolve(step());
        } catch (error) {
          if (!isBusy(error) || waiting > 0) return Promise.reject(error);
        }
      }
      waiting += 1;
      const endsAt = systemTimers.elapsed() + timeoutMs;
      const done = last.then(() => retry(step, endsAt)).finally(() => waiting -= 1);
      last = done.then(others, others);
      return done;
    },
    /** Runs each step that still waits once more, for better or worse. */
    async close(): Promise<void> {
      closing.abort();
      await last;
    },
  };
}
