/** The way back from {@link ./backup_data_directory.ts}. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UnusableError } from "../lib/problem.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { faultWords, faultyPath, pathRemedy } from "../lib/system_fault.ts";
import { type DataDirectoryProblem, exposure, masterKeyBytes } from "./data_directory.ts";
import { exists } from "../lib/system_path.ts";
import { dataFiles } from "./data_files.ts";
import { copyDurably, renameDurably } from "./durable_file.ts";
import { requireOwn } from "./open_database.ts";

/**
 * Checks a backup and copies it to `to`, the data directory, which must not exist or be empty. What was revoked, used
 * up or changed since the backup was made is as it was then.
 */
export function restoreDataDirectory(
  options: { readonly from: string; readonly to: string },
): Result<readonly string[], DataDirectoryProblem> {
  const from = resolve(options.from);
  const to = resolve(options.to);
  const files = [dataFiles.masterKey, dataFiles.database];
  try {
    const problem = findProblem(from);
    if (problem !== null) return failure(problem);
    if (exists(to) && readdirSync(to).length > 0) {
      const remedy = "nothing was changed; stop the server, move it away, and restore again";
      return failure({ path: to, problem: "is not empty", remedy });
    }
    mkdirSync(to, { recursive: true, mode: 0o700 });
    const exposed = exposure(to, "700");
    if (exposed !== null) return failure(exposed);
    // In place, not by renaming a directory: a container's volume cannot be renamed.
    for (const name of files) copyDurably(join(from, name), join(to, `${name}.restoring`));
    for (const name of files) renameDurably(join(to, `${name}.restoring`), join(to, name));
    return success(files);
  } catch (error) {
    removeUnfinished(to, files);
    const path = faultyPath(error) ?? to;
    const remedy = pathRemedy(error, "name the directory of a backup, and choose the data directory with --data-dir");
    return failure({ path, problem: `could not be used: ${faultWords(error)}`, remedy });
  }
}

/** Leaves the first error as the one that is told. */
function removeUnfinished(directory: string, files: readonly string[]): void {
  try {
    for (const name of files) rmSync(join(directory, `${name}.restoring`), { force: true });
  } catch {
    // a directory that cannot be used holds nothing of ours
  }
}

/** What keeps a backup from being used, or `null`. */
function findProblem(from: string): DataDirectoryProblem | null {
  const path = join(from, dataFiles.database);
  const keyPath = join(from, dataFiles.masterKey);
  const remedy = "use another backup";
  for (const file of [path, keyPath]) {
    if (!exists(file)) return { path: file, problem: "does not exist", remedy: "name the directory of a backup" };
  }
  // The copy of a running server's directory, say: part of its data is in the log, and would be lost.
  if (exists(`${path}-wal`)) {
    return { path: from, problem: "is not a backup: it has a write-ahead log", remedy: "make one with `backup`" };
  }
  if (readFileSync(keyPath).byteLength !== masterKeyBytes) {
    return { path: keyPath, problem: "is not a master key", remedy };
  }
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    requireOwn(database, path);
    const found = database.prepare("PRAGMA integrity_check(1)").get() as { integrity_check: string };
    return found.integrity_check === "ok" ? null : { path, problem: "is damaged", remedy };
  } catch (error) {
    if (error instanceof UnusableError) return { path, problem: error.message, remedy: error.remedy };
    return { path, problem: "is not a database", remedy };
  } finally {
    database.close();
  }
}
