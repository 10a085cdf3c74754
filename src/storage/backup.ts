/** Copies the data directory as of one moment, while the server runs. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { UnusableError } from "../lib/result.ts";
import { randomId } from "../lib/secrets.ts";
import { faultWords, faultyPath, pathRemedy } from "../lib/system_fault.ts";
import { masterKeyBytes, requireFinishedChange, requirePrivate, syncAndClose } from "./data_directory.ts";
import { dataFiles } from "./mod_settings.ts";
import { exists, parentOf } from "../lib/system_path.ts";
import { requireOwn } from "./sqlite_storage.ts";
import { nodeFs } from "../lib/program.ts";
import { pause } from "../lib/time.ts";

/** SQLite's maximum for one step: with fewer pages the copy restarts whenever another process writes in between. */
const allPages = 2 ** 31 - 1;

/**
 * Writes the database and the master key to `to`, a directory that does not exist or is empty: 0700, files 0600, there
 * all at once or not at all, also where `stopped` resolves. Writers go on meanwhile. Returns the names of the files;
 * throws {@link UnusableError}.
 */
export async function backupDataDirectory(
  options: { readonly from: string; readonly to: string; readonly stopped?: Promise<void> },
): Promise<readonly string[]> {
  const from = resolve(options.from);
  const to = resolve(options.to);
  const source = { database: join(from, dataFiles.database), masterKey: join(from, dataFiles.masterKey) };
  const aside = `${to}.${randomId()}`;
  try {
    for (const path of Object.values(source)) {
      if (!exists(path)) throw new UnusableError(`${path} does not exist`, "name the data directory with --data-dir");
    }
    requireFinishedChange(from); // its two keys would be needed to read the copy
    requirePrivate(from, "700");
    requirePrivate(source.masterKey, "600");
    requireEmpty(to, "name a directory that does not exist");
    mkdirSync(dirname(to), { recursive: true });
    mkdirSync(aside, { mode: 0o700 });
    const copied = copyDatabase(source.database, join(aside, dataFiles.database)).then(() => true);
    if (!await Promise.race([copied, options.stopped ?? copied])) {
      throw new UnusableError("the backup was stopped: nothing is left of it", "run it again");
    }
    copyDurably(source.masterKey, join(aside, dataFiles.masterKey));
    rmSync(to, { recursive: true, force: true }); // empty, as was just seen
    renameDurably(aside, to);
    return Object.values(dataFiles);
  } catch (error) {
    removeUnfinished(aside);
    if (error instanceof UnusableError) throw error;
    const { code, message } = error as Error & { code?: string };
    if (code === "ERR_SQLITE_ERROR") {
      const remedy = "check the disk; if the database is damaged, restore an earlier backup";
      throw new UnusableError(`${source.database} could not be copied (${message})`, remedy, { cause: error });
    }
    const faulty = faultyPath(error) ?? to;
    const path = faulty.startsWith(aside) ? dirname(to) : faulty; // its random name says nothing
    throw unusable(path, error, "choose another place");
  }
}

function unusable(path: string, error: unknown, another: string): UnusableError {
  return new UnusableError(`${path} could not be used: ${faultWords(error)}`, pathRemedy(error, another), {
    cause: error,
  });
}

function requireEmpty(directory: string, remedy: string): void {
  if (exists(directory) && readdirSync(directory).length > 0) {
    throw new UnusableError(`${directory} is not empty`, remedy);
  }
}

/** Errors here are ignored, so that the first one is reported: a place that cannot be used holds nothing of ours. */
function removeUnfinished(...paths: readonly string[]): void {
  try {
    for (const path of paths) rmSync(path, { recursive: true, force: true });
  } catch {
    // as said above
  }
}

/**
 * SQLite's backup reads one snapshot: in WAL mode it neither stops a writer nor is stopped by one. VACUUM INTO would
 * need ATTACH, which Deno refuses without --allow-all.
 */
async function copyDatabase(from: string, to: string): Promise<void> {
  closeSync(openSync(to, "wx", 0o600)); // SQLite keeps the mode of an empty file
  const database = new DatabaseSync(from);
  try {
    database.exec("PRAGMA busy_timeout = 5000");
    requireOwn(database, from);
    await backup(database, to, { rate: allPages });
    await pause(0); // it has held the thread: a signal that came meanwhile is heard
  } finally {
    database.close();
  }
  // The copy's journal mode is the original's: a write-ahead log beside the copy would be left by its first reader.
  const copy = new DatabaseSync(to);
  try {
    copy.prepare("PRAGMA journal_mode = DELETE").get();
    if (!isSound(copy)) { // SQLite copies pages whatever they hold
      throw new UnusableError(`${from} is damaged`, "restore an earlier backup, and check the disk");
    }
  } finally {
    copy.close();
  }
  syncAndClose(Deno.openSync(to, { read: true, write: true }));
}

/**
 * Checks a backup and copies it to `to`, the data directory, which must not exist or be empty. What was revoked, used
 * up or changed since the backup was made is undone.
 */
export function restoreDataDirectory(options: { readonly from: string; readonly to: string }): readonly string[] {
  const from = resolve(options.from);
  const to = resolve(options.to);
  const files = [dataFiles.masterKey, dataFiles.database];
  try {
    requireBackup(from);
    requireEmpty(to, "nothing was changed; stop the server, move it away, and restore again");
    mkdirSync(to, { recursive: true, mode: 0o700 });
    requirePrivate(to, "700");
    // In place, not by renaming a directory: a container's volume cannot be renamed.
    for (const name of files) copyDurably(join(from, name), join(to, `${name}.restoring`));
    for (const name of files) renameDurably(join(to, `${name}.restoring`), join(to, name));
    return files;
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    removeUnfinished(...files.map((name) => join(to, `${name}.restoring`)));
    const another = "name the directory of a backup, and choose the data directory with --data-dir";
    throw unusable(faultyPath(error) ?? to, error, another);
  }
}

function isSound(database: DatabaseSync): boolean {
  const found = database.prepare("PRAGMA integrity_check(1)").get() as { integrity_check: string };
  return found.integrity_check === "ok";
}

/** Refuses what is no backup, or a damaged one. */
function requireBackup(from: string): void {
  const path = join(from, dataFiles.database);
  const keyPath = join(from, dataFiles.masterKey);
  const remedy = "use another backup";
  for (const file of [path, keyPath]) {
    if (!exists(file)) throw new UnusableError(`${file} does not exist`, "name the directory of a backup");
  }
  // For example a plain copy of a running server's directory: part of its data is in the write-ahead log.
  if (exists(`${path}-wal`)) {
    throw new UnusableError(
      `${from} is not a backup: it has a write-ahead log`,
      "make one with `portcullis backup`",
    );
  }
  if (readFileSync(keyPath).byteLength !== masterKeyBytes) {
    throw new UnusableError(`${keyPath} is not a master key`, remedy);
  }
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    requireOwn(database, path);
    if (!isSound(database)) throw new UnusableError(`${path} is damaged`, remedy);
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    throw new UnusableError(`${path} is not a database`, remedy);
  } finally {
    database.close();
  }
}

/** Copies to a new file, 0600, and waits for the disk. */
function copyDurably(from: string, to: string): void {
  const { copyFileSync, constants } = nodeFs();
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  Deno.chmodSync(to, 0o600);
  syncAndClose(Deno.openSync(to, { read: true, write: true }));
}

/** Renames a file or directory, and syncs the directory. */
function renameDurably(from: string, to: string): void {
  Deno.renameSync(from, to);
  if (Deno.build.os === "windows") return; // directories cannot be opened there
  syncAndClose(Deno.openSync(parentOf(to)));
}
