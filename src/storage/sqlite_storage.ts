/**
 * The storage port on one SQLite file, by node:sqlite. Any number of processes may have the file open at once.
 * `synchronous=FULL`: a code that was redeemed or a token that was revoked stays so through a loss of power.
 */
import { closeAll, type Problem, UnusableError } from "../lib/result.ts";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import { encodeKeyToRead, entryOf, listRange, prepareBatch, requireOwnFormat, storedFormat } from "./port.ts";
import type { Batch, EntryRow, Storage, StorageKey, StoredEntry } from "./port.ts";
import { createKeyedWatches, isWatchable } from "./watches.ts";

/** How long an operation waits for a database file that another process writes. */
const defaultBusyTimeoutMs = 5_000;
const sweepAtOnce = 500;

interface SqliteStorageOptions {
  readonly path: string;
  readonly clock: Clock;
  /** How long an operation waits for another process's write, alone: others go on. */
  readonly busyTimeoutMs?: number | undefined;
  /** Looks for damage first in a database up to this size: in one of 256 MB it takes 0.4 s. Default: in none. */
  readonly checkedBytes?: number;
  /** Says of the open database whether anything may have been committed since it was last asked, cheaper than SQLite does. */
  readonly watchCommits?: ((path: string) => () => boolean) | undefined;
  /** How often a watch polls. Default 100 ms. */
  readonly watchIntervalMs?: number;
}

/** Opens the database, making it with mode 0600 where it is absent. Throws `UnusableError` when it is not ours. */
export function openSqliteStorage(options: SqliteStorageOptions): Storage {
  const database = openSqliteDatabase(options);
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
/**
 * What does not move `changeCount`: the families of the stored audit, and of clients that connect. A server under load
 * writes them often, and what is trusted until it moves never depends on them.
 */
const uncountedFamilies: ReadonlySet<string> = new Set(["audit", "audit_calls", "audit_chain", "connection_steps"]);
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
      const isUnnamed = watchable.length === 0 && entries.some(({ key }) => !uncountedFamilies.has(key[0]));
      if (isUnnamed) insert.run(unnamed);
      if (isUnnamed || watchable.length > 0) trim.run();
      return last();
    },
    /** Tells `watches` of what is added from here on, until the returned function is called. */
    follow(
      intervalMs: number,
      { tell, tellAll }: Pick<ReturnType<typeof createKeyedWatches>, "tell" | "tellAll">,
    ): () => void {
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

// * What SQLite's error codes mean for an operator (sqlite.org/rescode.html).

/** The primary result code for a lock that another process holds. */
const busyCode = 5;

/** What to do about a database that is lost. */
export const restoreRemedy = "stop the server, move the data directory away, and run `portcullis restore` on a backup";

/** The primary result code of what node:sqlite threw; `undefined` for any other error. */
function sqliteCodeOf(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff; // without the extension
}

/** What to do, and what happened, where the message alone does not tell; by the primary result code. */
function describeCode(code: number | undefined, path: string, message: string): readonly [string, string] {
  switch (code) {
    case busyCode:
      return [
        `another process keeps ${path} locked`,
        "end what has it open: a database browser, a backup program, an open transaction",
      ];
    case 8: // SQLITE_READONLY
      return [
        `${path} cannot be written: it is read-only`,
        "mount its disk writable, and let it and its directory belong to the user who runs the server",
      ];
    case 13: // SQLITE_FULL
      return [`the disk of ${path} is full`, "free some space: a running server then continues"];
    case 10: // SQLITE_IOERR
    case 14: // SQLITE_CANTOPEN
      return [
        `the disk of ${path} fails: ${message}`,
        "check the disk, its quota and the system's log: a running server continues once they are well",
      ];
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return [`${path} is damaged: ${message}`, restoreRemedy];
    default:
      return [`${path} cannot be used: ${message}`, restoreRemedy];
  }
}

/** Puts an error of the database at `path` into words. */
export function describeSqliteFailure(error: unknown, path: string): Problem {
  const message = error instanceof Error ? error.message : String(error);
  const [problem, remedy] = describeCode(sqliteCodeOf(error), path, message);
  return { problem, remedy };
}

/** Marks a file as ours (`file` and `PRAGMA application_id` show it): "PCUL". */
const applicationId = 0x5043554c;
const retryMs = 10;
/** SQLite's own measure, below zero in KiB. */
const keptKibibytes = -2_000;
/** The check reads every page, and few of them are soon read again: they would stay in memory. */
const checkedPages = 64;
/** integrity_check takes 4 ms for 1 MB, quick_check 1.2 ms. */
const maxWhollyCheckedBytes = 16 * 2 ** 20;
/** What a start looks through. */
export const maxCheckedBytes = 256 * 2 ** 20;

/** Opens it, making its tables where there are none. Throws {@link UnusableError} for anything but a new file or a database of ours. */
function openSqliteDatabase(
  { path, busyTimeoutMs = defaultBusyTimeoutMs, checkedBytes = 0 }: SqliteStorageOptions,
): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    // SQLite gives its -wal and -shm files the mode of the database, so it is set before SQLite sees the file.
    createIfAbsent(path);
    if (((Deno.statSync(path).mode ?? 0) & 0o777) !== 0o600) Deno.chmodSync(path, 0o600);
    database = new DatabaseSync(path);
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA trusted_schema = OFF`);
    requireOwn(database, path);
    if (checkedBytes > 0) {
      database.exec(`PRAGMA cache_size = ${checkedPages}`);
      requireSound(database, path, checkedBytes);
      database.exec(`PRAGMA cache_size = ${keptKibibytes}`);
    }
    enterWriteAheadLog(database, busyTimeoutMs);
    database.exec("PRAGMA synchronous = FULL");
    createTables(database, path);
    database.exec("PRAGMA busy_timeout = 0"); // from here on, who waits does not keep the thread: createLockQueue
    return database;
  } catch (error) {
    database?.close();
    throw toUnusable(error, path);
  }
}

/**
 * Makes an empty file of mode 0600 where there is none. Never opens one that is there: closing any descriptor of a file
 * drops all the locks that this process holds on it (fcntl(2)), those of SQLite in other threads among them
 * (sqlite.org/howtocorrupt.html §2.2). Throws `EISDIR` for a directory.
 */
function createIfAbsent(path: string): void {
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    if (Deno.statSync(path).isDirectory) throw Object.assign(new Error("It is a directory"), { code: "EISDIR" });
  }
}

function toUnusable(error: unknown, path: string): unknown {
  const { code } = error as { readonly code?: unknown };
  if (error instanceof UnusableError || typeof code !== "string") return error;
  const { problem, remedy } = sqliteCodeOf(error) === undefined
    ? {
      problem: `${path} cannot be opened: ${code}`,
      remedy: "check that it and the files beside it belong to the user who runs this, and that the disk is not full",
    }
    : describeSqliteFailure(error, path);
  return new UnusableError(problem, remedy, { cause: error });
}

/** Throws {@link UnusableError} unless the database is empty, or ours and of our format. */
export function requireOwn(database: DatabaseSync, path: string): void {
  // In this order: another process may make its tables meanwhile, and marks them as ours in the same transaction.
  const { count } = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number };
  const isOwn = readPragma(database, "application_id") === applicationId;
  if (!isOwn && count > 0) {
    throw new UnusableError(`${path} is the database of another program`, "choose another data directory");
  }
  if (isOwn) requireOwnFormat(readPragma(database, "user_version"), path);
}

/** Throws {@link UnusableError} for a database whose pages contradict each other. Large ones are checked in part. */
function requireSound(database: DatabaseSync, path: string, maxBytes: number): void {
  const bytes = readPragma(database, "page_count") * readPragma(database, "page_size");
  if (bytes > maxBytes) return;
  // quick_check does not compare indexes with their tables (sqlite.org/pragma.html).
  const check = bytes > maxWhollyCheckedBytes ? "quick_check" : "integrity_check";
  const [found = "no answer"] = Object.values(database.prepare(`PRAGMA ${check}(1)`).get() ?? {});
  if (found === "ok") return;
  const [detail = "no details"] = String(found).split("\n").filter((line) => !line.startsWith("***"));
  throw new UnusableError(`${path} is damaged: ${detail}`, restoreRemedy);
}

/** The mode stays in the file. Changing it does not wait for other openings as everything else does: so wait here. */
function enterWriteAheadLog(database: DatabaseSync, timeoutMs: number): void {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      database.prepare("PRAGMA journal_mode = WAL").get(); // errors of exec() do not say their code
      return;
    } catch (error) {
      if (sqliteCodeOf(error) !== busyCode || performance.now() > end) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}

function createTables(database: DatabaseSync, path: string): void {
  if (readPragma(database, "user_version") === storedFormat) return;
  database.exec("BEGIN IMMEDIATE");
  requireOwn(database, path); // again: another process may have made it while this one waited
  // With rowids, a search compares keys alone. Without, SQLite reads the whole of each large value whose key it passes
  // (sqlite.org/withoutrowid.html).
  database.exec(`
    CREATE TABLE IF NOT EXISTS entry (
      key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, version TEXT NOT NULL, expires_at INTEGER
    );
    CREATE INDEX IF NOT EXISTS entry_by_expiry ON entry (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE IF NOT EXISTS change (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL);
    PRAGMA application_id = ${applicationId};
    PRAGMA user_version = ${storedFormat};
    COMMIT;
  `);
}

function readPragma(database: DatabaseSync, name: "application_id" | "page_count" | "page_size" | "user_version") {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] as number;
}
