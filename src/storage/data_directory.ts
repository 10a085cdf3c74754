/**
 * The data directory: the database and the master key, for their owner alone. A user who can read it is the owner of
 * the installation, so it is refused when others could.
 */
import { dataFiles } from "./mod_settings.ts";
import { nodeFs } from "../lib/program.ts";
import { exists, parentOf, pathBelow } from "../lib/system_path.ts";
import { randomBytes, randomId } from "../lib/secrets.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { faultWords, pathRemedy } from "../lib/system_fault.ts";

/** Copies to a new file, 0600, and waits for the disk. */
export function copyDurably(from: string, to: string): void {
  const { copyFileSync, constants } = nodeFs();
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  Deno.chmodSync(to, 0o600);
  syncFile(to);
}

/** Syncs the file to the disk. */
export function syncFile(path: string): void {
  sync(Deno.openSync(path, { read: true, write: true }));
}

/** Renames a file or directory, and syncs the directory. */
export function renameDurably(from: string, to: string): void {
  Deno.renameSync(from, to);
  if (Deno.build.os === "windows") return; // directories cannot be opened there
  sync(Deno.openSync(parentOf(to)));
}

function sync(file: Deno.FsFile): void {
  try {
    file.syncSync();
  } finally {
    file.close();
  }
}

/** The directory's contents. */
interface DataDirectory {
  readonly databasePath: string;
  /** 32 random bytes, made once. */
  readonly masterKey: Uint8Array;
}

/** Why the directory cannot be used, and what to do about it. */
export interface DataDirectoryProblem {
  readonly path: string;
  readonly problem: string;
  readonly remedy: string;
}

/** The next master key, while everything is sealed again under it. */
const nextMasterKeyFile = "master.key.next";

export const masterKeyBytes = 32;

/** Creates what is missing (directory 0700, key 0600) and checks what exists. */
export function openDataDirectory(path: string): Result<DataDirectory, DataDirectoryProblem> {
  const found = readDataDirectory(path);
  if (!found.ok || found.value.masterKey !== null) return found as Result<DataDirectory, DataDirectoryProblem>;
  try {
    makeMasterKey(pathBelow(path, dataFiles.masterKey));
  } catch (error) {
    return cannotBeUsed(path, error);
  }
  return openDataDirectory(path);
}

/** The same without creating a key: `null` if there is none. A new key would open nothing of an existing database. */
export function readDataDirectory(
  path: string,
  { changesMasterKey = false }: { readonly changesMasterKey?: boolean } = {},
): Result<Omit<DataDirectory, "masterKey"> & { readonly masterKey: Uint8Array | null }, DataDirectoryProblem> {
  const databasePath = pathBelow(path, dataFiles.database);
  try {
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
    const openToOthers = exposure(path, "700");
    if (openToOthers !== null) return failure(openToOthers);
    const unfinished = changesMasterKey ? null : unfinishedChange(path);
    if (unfinished !== null) return failure(unfinished);
    const masterKey = peekMasterKey(path);
    return masterKey.ok ? success({ databasePath, masterKey: masterKey.value }) : masterKey;
  } catch (error) {
    return cannotBeUsed(path, error);
  }
}

/** The key in the directory, checked, or `null`. Creates nothing. */
export function peekMasterKey(directory: string): Result<Uint8Array | null, DataDirectoryProblem> {
  const path = pathBelow(directory, dataFiles.masterKey);
  try {
    if (!exists(path)) return success(null);
    const openToOthers = exposure(path, "600");
    if (openToOthers !== null) return failure(openToOthers);
    const masterKey = Deno.readFileSync(path);
    return masterKey.byteLength === masterKeyBytes
      ? success(masterKey)
      : failure({ path, problem: "is not a master key", remedy: "restore it from a backup" });
  } catch (error) {
    return cannotBeUsed(directory, error);
  }
}

/** The database exists, and its master key does not. */
export function missingMasterKey(directory: string): DataDirectoryProblem {
  return {
    path: pathBelow(directory, dataFiles.masterKey),
    problem: "is missing, and the database was written with it",
    remedy: "put master.key back, from the first instance or a backup: without it, nothing sealed opens again",
  };
}

function cannotBeUsed(path: string, error: unknown): Result<never, DataDirectoryProblem> {
  return failure({
    path,
    problem: `cannot be used: ${faultWords(error)}`,
    remedy: pathRemedy(error, "choose another with --data-dir (DATA_DIR)"),
  });
}

/** A change of the master key that was interrupted: some records open under the one key, some under the other. */
export function unfinishedChange(directory: string): DataDirectoryProblem | null {
  const path = pathBelow(directory, nextMasterKeyFile);
  return exists(path)
    ? {
      path,
      problem: "is left of a change of the master key",
      remedy: "run `portcullis keys rotate-master` again to finish it",
    }
    : null;
}

/** Whether others than the owner can reach what lies at `path`; `null` when they cannot, or on Windows, which has no modes. */
export function exposure(path: string, mode: "600" | "700"): DataDirectoryProblem | null {
  if (Deno.build.os === "windows") return null;
  const { mode: found, uid } = Deno.lstatSync(path);
  if (found === null || (found & 0o077) === 0) return null;
  const own = ownUserId();
  const isForeign = own !== null && own !== uid;
  const remedy = isForeign
    ? `it belongs to user ${uid}, and this runs as ${own}: chown it, or set DATA_DIR to a directory below it, which is then made`
    : own === null
    ? `chmod ${mode} ${path}, which belongs to user ${uid}; if the server runs as another, chown it, or set DATA_DIR to a directory below it, which is then made`
    : `chmod ${mode} ${path}`;
  return { path, problem: "can be read or changed by other users", remedy };
}

/** The server's worker has no permission to ask for its user. */
function ownUserId(): number | null {
  try {
    return Deno.uid();
  } catch {
    return null;
  }
}

/** The next key: what an interrupted rotation left, or a new one. */
export function prepareNextMasterKey(directory: string): Uint8Array {
  const path = pathBelow(directory, nextMasterKeyFile);
  if (!exists(path)) makeMasterKey(path);
  return Deno.readFileSync(path);
}

/** Replaces the master key by the next one, in one step. */
export function adoptNextMasterKey(directory: string): void {
  renameDurably(pathBelow(directory, nextMasterKeyFile), pathBelow(directory, dataFiles.masterKey));
}

/** Writes the key aside and links it into place: of two processes that start at once, both read the same whole key. */
function makeMasterKey(keyPath: string): void {
  const aside = `${keyPath}.${randomId()}`;
  const file = Deno.openSync(aside, { write: true, createNew: true, mode: 0o600 });
  try {
    file.writeSync(randomBytes(masterKeyBytes));
    file.syncSync();
  } finally {
    file.close();
  }
  try {
    Deno.linkSync(aside, keyPath);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    Deno.removeSync(aside);
  }
}
