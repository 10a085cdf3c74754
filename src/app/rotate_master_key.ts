/** `keys rotate-master`: a new master key in the data directory, and everything moved to it. */
import {
  adoptNextMasterKey,
  boundMark,
  loadSqliteDatabase,
  masterKeyMark,
  missingMasterKey,
  prepareNextMasterKey,
  readDataDirectory,
  unfinishedChange,
} from "../storage/mod.ts";
import type { Clock } from "../lib/time.ts";
import { createSecretBox } from "../lib/secrets.ts";
import { failure, type Problem, type Result, success } from "../lib/result.ts";
import { openStorageOf } from "./installation.ts";
import { moveToMasterKey, type ResealedCounts } from "./move_to_master_key.ts";
import type { StorageSettings } from "../storage/mod_settings.ts";

/** `keys rotate-master`: for an installation whose key is in its data directory, while nothing else runs there. */
export async function rotateMasterKey(
  settings: StorageSettings,
  clock: Clock,
): Promise<Result<ResealedCounts, Problem>> {
  if (settings.masterKey !== undefined) {
    const remedy = "stop every server, set MASTER_KEY_PREVIOUS to the key as it is and MASTER_KEY to a new one, start";
    return failure({ problem: "the master key is in MASTER_KEY, where only you can change it", remedy });
  }
  const directory = readDataDirectory(settings.dataDir, { changesMasterKey: true });
  const key = directory.ok ? directory.value.masterKey : null;
  if (!directory.ok || key === null) {
    const { path, problem, remedy } = directory.ok ? missingMasterKey(settings.dataDir) : directory.error;
    return failure({ problem: `${path} ${problem}`, remedy });
  }
  const { databasePath } = directory.value;
  const { isSqliteInUse } = await loadSqliteDatabase(); // with SQLite
  if (settings.database === undefined && isSqliteInUse(databasePath)) {
    return failure({ problem: `${databasePath} is in use`, remedy: "stop the server and every other command first" });
  }
  const opened = await openStorageOf(settings, clock);
  if (!opened.ok) return opened;
  const storage = opened.value;
  try {
    const from = createSecretBox(key);
    const bound = await boundMark(storage);
    const isOurs = bound === null || bound === masterKeyMark(from);
    // Made only for a database of ours: a next key that is left keeps everything else from opening the installation.
    const to = isOurs || unfinishedChange(settings.dataDir) !== null
      ? createSecretBox(prepareNextMasterKey(settings.dataDir))
      : null;
    if (to === null || (!isOurs && bound !== masterKeyMark(to))) {
      const problem = "the database was written with another master key than this directory has";
      return failure({ problem, remedy: "copy master.key from the first instance, or from the backup" });
    }
    const moved = await moveToMasterKey({ storage, clock }, { from, to });
    adoptNextMasterKey(settings.dataDir);
    return success(moved ?? { signingKeys: 0, links: 0 });
  } finally {
    await storage.close();
  }
}
