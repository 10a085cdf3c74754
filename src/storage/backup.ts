/** A copy of the data directory that is of one moment, taken while the server runs. */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { randomBytes } from "node:crypto";
import { UnusableError } from "../lib/problem.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { faultWords, faultyPath, pathRemedy } from "../lib/system_fault.ts";
import { type DataDirectoryProblem, exposure, unfinishedChange } from "./data_directory.ts";
import { exists } from "../lib/system_path.ts";
import { dataFiles } from "./data_files.ts";
import { copyDurably, renameDurably, syncFile } from "./durable_file.ts";
import { requireOwn } from "./open_database.ts";

/** The most that SQLite takes as one step: fewer pages would begin anew whenever another process writes in between. */
const allPages = 2 ** 31 - 1;

/**
 * Writes the database and the master key to `to`, a directory that does not exist or is empty: 0700, files 0600, there
 * all at once or not at all. Writers go on meanwhile. Returns the names of the files.
 */
export async function backupDataDirectory(
  options: { readonly from: string; readonly to: string },
): Promise<Result<readonly string[], DataDirectoryProblem>> {
  const from = resolve(options.from);
  const to = resolve(options.to);
  const source = { database: join(from, dataFiles.database), masterKey: join(from, dataFiles.masterKey) };
  const aside = `${to}.${randomBytes(8).toString("hex")}`;
  try {
    for (const path of Object.values(source)) {
      if (!exists(path)) {
        return failure({ path, problem: "does not exist", remedy: "name the data directory with --data-dir" });
      }
    }
    const unfinished = unfinishedChange(from); // its two keys would be needed to read the copy
    if (unfinished !== null) return failure(unfinished);
    const exposed = exposure(from, "700") ?? exposure(source.masterKey, "600");
    if (exposed !== null) return failure(exposed);
    if (exists(to) && readdirSync(to).length > 0) {
      return failure({ path: to, problem: "is not empty", remedy: "name a directory that does not exist" });
    }
    mkdirSync(dirname(to), { recursive: true });
    mkdirSync(aside, { mode: 0o700 });
    await copyDatabase(source.database, join(aside, dataFiles.database));
    copyDurably(source.masterKey, join(aside, dataFiles.masterKey));
    rmSync(to, { recursive: true, force: true }); // empty, as was just seen
    renameDurably(aside, to);
    return success(Object.values(dataFiles));
  } catch (error) {
    removeUnfinished(aside);
    if (error instanceof UnusableError) {
      return failure({ path: from, problem: `holds no usable database: ${error.message}`, remedy: error.remedy });
    }
    const { code, message } = error as Error & { code?: string };
    if (code === "ERR_SQLITE_ERROR") {
      const remedy = "check the disk; if the database is damaged, restore an earlier backup";
      return failure({ path: source.database, problem: `could not be copied (${message})`, remedy });
    }
    const remedy = pathRemedy(error, "choose another place");
    const faulty = faultyPath(error) ?? to;
    const path = faulty.startsWith(aside) ? dirname(to) : faulty; // its random name says nothing
    return failure({ path, problem: `could not be used: ${faultWords(error)}`, remedy });
  }
}

/** Leaves the first error as the one that is told. */
function removeUnfinished(aside: string): void {
  try {
    rmSync(aside, { recursive: true, force: true });
  } catch {
    // a place that cannot be used holds nothing of ours
  }
}

/**
 * SQLite's backup reads one snapshot: in WAL mode it neither stops a writer nor is stopped by one. VACUUM INTO would need
 * ATTACH, which Deno refuses without --allow-all.
 */
async function copyDatabase(from: string, to: string): Promise<void> {
  closeSync(openSync(to, "wx", 0o600)); // SQLite keeps the mode of an empty file
  const database = new DatabaseSync(from);
  try {
    database.exec("PRAGMA busy_timeout = 5000");
    requireOwn(database, from);
    await backup(database, to, { rate: allPages });
  } finally {
    database.close();
  }
  leaveWriteAheadLog(to);
  syncFile(to);
}

/** The copy's journal mode is the original's: a write-ahead log beside the copy would be left by its first reader. */
function leaveWriteAheadLog(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.prepare("PRAGMA journal_mode = DELETE").get();
  } finally {
    database.close();
  }
}
