/** What an installation keeps: its storage, and the secrets derived from the master key in the data directory. */
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { Clock } from "./lib/clock.ts";
import type { Log } from "./lib/log.ts";
import { failure, type Result, success } from "./lib/result.ts";
import { createSecretBox, type SecretBox } from "./lib/secret_box.ts";
import { StorageFault } from "./lib/storage_fault.ts";
import { bindMasterKey, masterKeyMark } from "./storage/bind_master_key.ts";
import { dataFiles, openDataDirectory } from "./storage/data_directory.ts";
import { openStorage } from "./storage/open_storage.ts";
import type { Storage } from "./storage/port.ts";

/** One installation's lasting state. */
export interface Installation {
  readonly storage: Storage;
  readonly secrets: SecretBox;
}

/** Why an installation cannot be opened, and what to do about it. Neither text holds a secret. */
export interface InstallationProblem {
  readonly problem: string;
  readonly remedy: string;
}

/**
 * Opens what a configuration names, making the data directory and the database on the first start. `log` is for a
 * server, which goes on while its database is lost.
 */
export async function openInstallation(
  config: Config,
  clock: Clock,
  log?: Log,
): Promise<Result<Installation, InstallationProblem>> {
  const keyed = findMasterKey(config);
  if (!keyed.ok) return keyed;
  const opened = await openStorageOf(config, clock, log);
  if (!opened.ok) return opened;
  const storage = opened.value;
  const secrets = createSecretBox(keyed.value);
  let isOpen = false;
  try {
    if (config.previousMasterKey !== undefined) {
      const { moveToMasterKey } = await import("./rotate_master_key.ts"); // hardly ever needed
      await moveToMasterKey({ storage, clock }, { from: createSecretBox(config.previousMasterKey), to: secrets });
    }
    const bound = await bindMasterKey(storage, masterKeyMark(secrets));
    isOpen = bound.ok;
    return bound.ok ? success({ storage, secrets }) : bound;
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    return failure({ problem: error.message, remedy: error.remedy });
  } finally {
    if (!isOpen) await storage.close();
  }
}

/** Opens the storage that a configuration names, whatever its master key. */
export async function openStorageOf(
  config: Config,
  clock: Clock,
  log?: Log,
): Promise<Result<Storage, InstallationProblem>> {
  return await openStorage({
    ...(config.database === undefined ? {} : { location: config.database }),
    sqlitePath: join(config.dataDir, dataFiles.database),
    clock,
    log,
    busyTimeoutMilliseconds: config.storageBusyTimeoutMilliseconds,
    postgresLimits: {
      connections: config.postgresConnections,
      statementTimeoutMilliseconds: config.postgresStatementTimeoutSeconds * 1_000,
    },
  });
}

/** The key from the setting or the data directory; the directory is not touched when nothing of it is needed. */
function findMasterKey(
  { masterKey, database, dataDir }: Config,
): Result<Uint8Array, InstallationProblem> {
  if (masterKey !== undefined && database !== undefined) return success(masterKey);
  const directory = openDataDirectory(dataDir);
  if (directory.ok) return success(masterKey ?? directory.value.masterKey);
  const { path, problem, remedy } = directory.error;
  return failure({ problem: `${path} ${problem}`, remedy });
}
