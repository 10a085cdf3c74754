/** A copy of the data directory that is of one moment, taken while the server runs. */
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { randomBytes } from "node:crypto";
import { failure, type Result, success } from "../lib/result.ts";
import { type DataDirectoryProblem, exposure, unfinishedChange } from "./data_directory.ts";
import { dataFiles } from "./data_files.ts";
import { copyDurably, renameDurably, syncFile } from "./durable_file.ts";
import { requireOwn } from "./open_sqlite_database.ts";
import { UnusableStorageError } from "./unusable_storage.ts";

/**
 * Writes the database and the master key to `to`, a directory that does not exist or is empty: 0700, files 0600, there
 * all at once or not at all. Writers go on meanwhile. Gives the names of the files.
 */
export function backupDataDirectory(
  options: { readonly from: string; readonly to: string },
): Result<readonly string[], DataDirectoryProblem> {
  const from = resolve(options.from);
  const to = resolve(options.to);
  const source = { database: join(from, dataFiles.database), masterKey: join(from, dataFiles.masterKey) };
  for (const path of Object.values(source)) {
    if (!existsSync(path)) {
      return failure({ path, problem: "does not exist", remedy: "name the data directory with --data-dir" });
    }
  }
  const unfinished = unfinishedChange(from); // its two keys would be needed to read the copy
  if (unfinished !== null) return failure(unfinished);
  const exposed = exposure(from, "700") ?? exposure(source.masterKey, "600");
  if (exposed !== null) return failure(exposed);
  if (existsSync(to) && readdirSync(to).length > 0) {
    return failure({ path: to, problem: "is not empty", remedy: "name a directory that does not exist" });
  }
  const aside = `${to}.${randomBytes(8).toString("hex")}`;
  try {
    mkdirSync(dirname(to), { recursive: true });
    mkdirSync(aside, { mode: 0o700 });
    copyDatabase(source.database, join(aside, dataFiles.database));
    copyDurably(source.masterKey, join(aside, dataFiles.masterKey));
    rmSync(to, { recursive: true, force: true }); // empty, as was just seen
    renameDurably(aside, to);
    return success(Object.values(dataFiles));
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (error instanceof UnusableStorageError) {
      return failure({ path: from, problem: `holds no usable database: ${error.message}`, remedy: error.remedy });
    }
    const { code = "unknown error", message } = error as Error & { code?: string };
    if (code === "ERR_SQLITE_ERROR") {
      const remedy = "check the disk; if the database is damaged, restore an earlier backup";
      return failure({ path: source.database, problem: `could not be copied (${message})`, remedy });
    }
    return failure({ path: to, problem: `could not be written (${code})`, remedy: "choose another place" });
  }
}

/** VACUUM INTO reads one snapshot: in WAL mode it neither stops a writer nor is stopped by one. */
function copyDatabase(from: string, to: string): void {
  closeSync(openSync(to, "wx", 0o600)); // VACUUM INTO takes an empty file, and leaves its mode
  const database = new DatabaseSync(from);
  try {
    database.exec("PRAGMA busy_timeout = 5000");
    requireOwn(database, from);
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
  syncFile(to);
}
