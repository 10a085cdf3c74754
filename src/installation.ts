/** What lies in the data directory, opened: the database and the secrets derived from the master key. */
import type { Config } from "./config/config.ts";
import type { Clock } from "./lib/clock.ts";
import { type Result, success } from "./lib/result.ts";
import { createSecretBox, type SecretBox } from "./lib/secret_box.ts";
import { type DataDirectoryProblem, openDataDirectory } from "./storage/data_directory.ts";
import type { Storage } from "./storage/port.ts";
import { openSqliteStorage } from "./storage/sqlite.ts";

export type { DataDirectoryProblem };

/** One installation's lasting state. */
export interface Installation {
  readonly storage: Storage;
  readonly secrets: SecretBox;
}

/** Opens the data directory of a configuration, making it on the first start. */
export function openInstallation(config: Config, clock: Clock): Result<Installation, DataDirectoryProblem> {
  const directory = openDataDirectory(config.dataDir);
  if (!directory.ok) return directory;
  const { databasePath, masterKey } = directory.value;
  return success({
    storage: openSqliteStorage({ path: databasePath, clock }),
    secrets: createSecretBox(masterKey),
  });
}
