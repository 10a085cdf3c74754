/** What an installation keeps: its storage, and the secrets derived from the master key in the data directory. */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { Clock } from "./lib/clock.ts";
import { failure, type Result, success } from "./lib/result.ts";
import { createSecretBox, type SecretBox } from "./lib/secret_box.ts";
import { bindMasterKey } from "./storage/bind_master_key.ts";
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

/** Opens what a configuration names, making the data directory and the database on the first start. */
export async function openInstallation(
  config: Config,
  clock: Clock,
): Promise<Result<Installation, InstallationProblem>> {
  const keyed = findMasterKey(config);
  if (!keyed.ok) return keyed;
  const { masterKey, sqlitePath } = keyed.value;
  const opened = await openStorage({
    ...(config.database === undefined ? {} : { location: config.database }),
    sqlitePath,
    clock,
    busyTimeoutMilliseconds: config.storageBusyTimeoutMilliseconds,
    postgresLimits: {
      connections: config.postgresConnections,
      statementTimeoutMilliseconds: config.postgresStatementTimeoutSeconds * 1_000,
    },
  });
  if (!opened.ok) return opened;
  const storage = opened.value;
  const secrets = createSecretBox(masterKey);
  const mark = Buffer.from(secrets.authenticate("master-key-mark", "v1")).toString("base64url");
  const bound = await bindMasterKey(storage, mark);
  if (bound.ok) return success({ storage, secrets });
  await storage.close();
  return bound;
}

/** The key from the setting or the data directory; the directory is not touched when nothing of it is needed. */
function findMasterKey(
  { masterKey, database, dataDir }: Config,
): Result<{ readonly masterKey: Uint8Array; readonly sqlitePath: string }, InstallationProblem> {
  const sqlitePath = join(dataDir, dataFiles.database);
  if (masterKey !== undefined && database !== undefined) return success({ masterKey, sqlitePath });
  const directory = openDataDirectory(dataDir);
  if (directory.ok) return success({ masterKey: masterKey ?? directory.value.masterKey, sqlitePath });
  const { path, problem, remedy } = directory.error;
  return failure({ problem: `${path} ${problem}`, remedy });
}
