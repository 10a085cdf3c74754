/** `keys rotate-master`: a new master key in the data directory, and everything moved to it. */
import {
  adoptNextMasterKey,
  boundMark,
  hasUnfinishedChange,
  loadSqliteDatabase,
  masterKeyMark,
  missingMasterKey,
  prepareNextMasterKey,
  readDataDirectory,
} from "../storage/mod.ts";
import type { Clock } from "../lib/time.ts";
import { createSecretBox } from "../lib/secrets.ts";
import { UnusableError } from "../lib/result.ts";
import { pathBelow } from "../lib/system_path.ts";
import { openStorageOf } from "./installation.ts";
import { moveToMasterKey, type ResealedCounts } from "./move_to_master_key.ts";
import { dataFiles, type StorageSettings } from "../storage/mod_settings.ts";

/**
 * `keys rotate-master`: for an installation whose key is in its data directory, while nothing else runs there. Throws
 * {@link UnusableError}.
 */
export async function rotateMasterKey(settings: StorageSettings, clock: Clock): Promise<ResealedCounts> {
  if (settings.masterKey !== undefined) {
    throw new UnusableError(
      "the master key is in MASTER_KEY, where only you can change it",
      "stop every server, set MASTER_KEY_PREVIOUS to the key as it is and MASTER_KEY to a new one, start",
    );
  }
  const key = readDataDirectory(settings.dataDir, { changesMasterKey: true });
  if (key === null) throw missingMasterKey(settings.dataDir);
  const databasePath = pathBelow(settings.dataDir, dataFiles.database);
  const { isSqliteInUse } = await loadSqliteDatabase(); // with SQLite
  if (settings.database === undefined && isSqliteInUse(databasePath)) {
    throw new UnusableError(`${databasePath} is in use`, "stop the server and every other command first");
  }
  const storage = await openStorageOf(settings, clock);
  try {
    const from = createSecretBox(key);
    const bound = await boundMark(storage);
    const isOurs = bound === null || bound === masterKeyMark(from);
    // Made only for a database of ours: a next key that is left keeps everything else from opening the installation.
    const to = isOurs || hasUnfinishedChange(settings.dataDir)
      ? createSecretBox(prepareNextMasterKey(settings.dataDir))
      : null;
    if (to === null || (!isOurs && bound !== masterKeyMark(to))) {
      const problem = "the database was written with another master key than this directory has";
      throw new UnusableError(problem, "copy master.key from the first instance, or from the backup");
    }
    const moved = await moveToMasterKey({ storage, clock }, { from, to });
    adoptNextMasterKey(settings.dataDir);
    return moved ?? { signingKeys: 0, links: 0 };
  } finally {
    await storage.close();
  }
}
