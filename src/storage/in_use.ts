/** Whether a process has a SQLite database open. */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * Asks for the file alone, which is refused for as long as any other connection to it exists, idle ones included
 * (write-ahead log, `locking_mode`).
 */
export function isSqliteInUse(path: string): boolean {
  if (!existsSync(path)) return false;
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE");
    database.exec("BEGIN EXCLUSIVE; COMMIT");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
