/** Examines a SQLite database that may be in use. */
import { DatabaseSync } from "node:sqlite";
import { UnusableError } from "../lib/result.ts";
import { type AbsentStorage, markKey, type SoundStorage } from "./open_storage.ts";
import { encodeKey, type StorageKey } from "./port.ts";
import { describeSqliteFailure, requireOwn, requireSound } from "./sqlite_database.ts";

/** How long the trial waits for another process's write. */
const busyTimeoutMs = 1_000;

/** Throws {@link UnusableError} for one that cannot be read, is damaged, or cannot be written. */
export function examineSqlite(path: string, lookFor: StorageKey): SoundStorage | AbsentStorage {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.prepare(`PRAGMA busy_timeout = ${busyTimeoutMs}`).get();
    requireOwn(database, path);
    requireSound(database, path, Infinity);
    const { count } = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number };
    if (count === 0) return { kind: "absent" };
    const find = database.prepare("SELECT value FROM entry WHERE key = ?");
    const row = find.get(encodeKey(markKey));
    const isFound = find.get(encodeKey(lookFor)) !== undefined;
    database.prepare("BEGIN IMMEDIATE").run();
    database.prepare("ROLLBACK").run();
    return { kind: "sound", mark: row === undefined ? null : JSON.parse(String(row["value"])), isFound };
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    const { problem, remedy } = describeSqliteFailure(error, path);
    throw new UnusableError(problem, remedy, { cause: error });
  } finally {
    database?.close();
  }
}
