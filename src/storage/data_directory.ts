/**
 * The data directory: the database and the master key, for their owner alone. A user who can read it is the owner of
 * the installation, so it is refused when others could. What cannot be used is thrown as an {@link UnusableError}.
 */
import { dataFiles } from "./mod_settings.ts";
import { exists, pathBelow } from "../lib/system_path.ts";
import { randomBytes, randomId } from "../lib/secrets.ts";
import { UnusableError } from "../lib/result.ts";
import { faultWords, pathRemedy } from "../lib/system_fault.ts";

/** The next master key, which an earlier version kept while it sealed everything again. */
const nextMasterKeyFile = "master.key.next";

export const masterKeyBytes = 32;

/** Creates what is missing (directory 0700, key 0600), checks what exists, and gives the key: 32 random bytes, made once. */
export function openDataDirectory(path: string): Uint8Array {
  const found = readDataDirectory(path);
  if (found !== null) return found;
  usable(path, () => makeMasterKey(pathBelow(path, dataFiles.masterKey)));
  return openDataDirectory(path);
}

/** The same without creating a key: `null` if there is none. A new key would open nothing of an existing database. */
export function readDataDirectory(path: string): Uint8Array | null {
  return usable(path, () => {
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
    requirePrivate(path, "700");
    requireFinishedChange(path);
    return peekMasterKey(path);
  });
}

/** The key in the directory, checked, or `null`. Creates nothing. */
export function peekMasterKey(directory: string): Uint8Array | null {
  const path = pathBelow(directory, dataFiles.masterKey);
  return usable(directory, () => {
    if (!exists(path)) return null;
    requirePrivate(path, "600");
    const masterKey = Deno.readFileSync(path);
    if (masterKey.byteLength === masterKeyBytes) return masterKey;
    throw new UnusableError(`${path} is not a master key`, "restore it from a backup");
  });
}

/** The database exists, and its master key does not. */
export function missingMasterKey(directory: string): UnusableError {
  return new UnusableError(
    `${pathBelow(directory, dataFiles.masterKey)} is missing, and the database was written with it`,
    "put master.key back, from the first instance or a backup: without it, nothing sealed opens again",
  );
}

function usable<T>(path: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof UnusableError) throw error;
    const remedy = pathRemedy(error, "choose another with --data-dir (DATA_DIR)");
    throw new UnusableError(`${path} cannot be used: ${faultWords(error)}`, remedy, { cause: error });
  }
}

/** Refuses where a change of the master key was interrupted: some records open under the one key, some under the other. */
export function requireFinishedChange(directory: string): void {
  const next = pathBelow(directory, nextMasterKeyFile);
  if (!exists(next)) return;
  throw new UnusableError(
    `${next} is left of a change of the master key`,
    "set MASTER_KEY_PREVIOUS to what `base64 master.key` prints, rename this file to master.key, and start",
  );
}

/** Refuses what others than the owner can reach; on Windows, which has no modes, nothing. */
export function requirePrivate(path: string, mode: "600" | "700"): void {
  if (Deno.build.os === "windows") return;
  const { mode: found, uid } = Deno.lstatSync(path);
  if (found === null || (found & 0o077) === 0) return;
  throw new UnusableError(
    `${path} can be read or changed by other users`,
    `chmod ${mode} ${path}, which belongs to user ${uid}; if the server runs as another, chown it, or set DATA_DIR to a ` +
      "directory below it, which is then made",
  );
}

/** Writes the key aside and links it into place: of two processes that start at once, both read the same whole key. */
function makeMasterKey(keyPath: string): void {
  const aside = `${keyPath}.${randomId()}`;
  const file = Deno.openSync(aside, { write: true, createNew: true, mode: 0o600 });
  try {
    syncAndClose(file, () => file.writeSync(randomBytes(masterKeyBytes)));
    Deno.linkSync(aside, keyPath);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    Deno.removeSync(aside);
  }
}

/** Writes, waits for the disk, and closes the file or directory, whichever of these fails. */
export function syncAndClose(file: Deno.FsFile, write = (): unknown => undefined): void {
  try { // no `using`: Deno's bundler drops one whose variable is used once
    write();
    file.syncSync();
  } finally {
    file.close();
  }
}
