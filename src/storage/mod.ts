/** The storage: open it by the settings, then read, commit and watch entries through its port. */
export {
  adoptNextMasterKey,
  type DataDirectoryProblem,
  exposure,
  missingMasterKey,
  openDataDirectory,
  peekMasterKey,
  prepareNextMasterKey,
  readDataDirectory,
  unfinishedChange,
} from "./data_directory.ts";
export type { PostgresLocation } from "./database_url.ts";
export {
  type AbsentStorage,
  bindMasterKey,
  boundMark,
  masterKeyMark,
  openStorage,
  type OpenStorageOptions,
  rebindMasterKey,
  type StorageBounds,
  wrongMasterKey,
} from "./open_storage.ts";
export type { Batch, Put, Storage, StorageKey, StoredEntry, VersionCheck } from "./port.ts";
export const loadExamineStorage = (): Promise<typeof import("./examine_storage.ts")> => import("./examine_storage.ts");
export const loadSqliteDatabase = (): Promise<typeof import("./sqlite_database.ts")> => import("./sqlite_database.ts");
export const loadBackup = (): Promise<typeof import("./backup.ts")> => import("./backup.ts");
