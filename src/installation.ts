/** What an installation keeps: its storage, and the secrets derived from the master key in the data directory. */
import type { Config } from "./config/config.ts";
import type { Clock } from "./lib/clock.ts";
import { failure, type Result, success } from "./lib/result.ts";
import { createSecretBox, type SecretBox } from "./lib/secret_box.ts";
import { openDataDirectory } from "./storage/data_directory.ts";
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
  const directory = openDataDirectory(config.dataDir);
  if (!directory.ok) {
    const { path, problem, remedy } = directory.error;
    return failure({ problem: `${path} ${problem}`, remedy });
  }
  const { databasePath, masterKey } = directory.value;
  const storage = await openStorage({
    ...(config.database === undefined ? {} : { location: config.database }),
    sqlitePath: databasePath,
    clock,
  });
  return storage.ok ? success({ storage: storage.value, secrets: createSecretBox(masterKey) }) : storage;
}
