/** Opens a SQLite file as a Portcullis database, or says why it cannot. */
import { DatabaseSync } from "node:sqlite";
import { type Problem, UnusableError } from "../lib/result.ts";
import { requireOwnFormat, storedFormat } from "./port.ts";

// What SQLite's error codes mean for an operator (sqlite.org/rescode.html).

/** The primary result code for a lock that another process holds. */
export const busyCode = 5;

/** What to do about a database that is lost. */
export const restoreRemedy = "stop the server, move the data directory away, and run `portcullis restore` on a backup";

/** The primary result code of what node:sqlite threw; `undefined` for any other error. */
export function sqliteCodeOf(error: unknown): number | undefined {
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
export function openSqliteDatabase(
  { path, busyTimeoutMs, checkedBytes }: {
    readonly path: string;
    readonly busyTimeoutMs: number;
    /** Looks for damage in a database up to this size: in one of 256 MB it takes 0.4 s. */
    readonly checkedBytes: number;
  },
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
