/**
 * What every other part keeps: an ordered key-value store with versions, on SQLite in the data directory or on
 * PostgreSQL, behind one port (`Storage`). Only `app` opens it; the others receive the port.
 *
 * Promises: a batch takes effect whole, durably, or not at all; of several callers exactly one consumes an entry; every
 * change that is watched is told, whichever process made it; a database that fails is refused fast and used again by
 * itself; a write whose files were taken away is never acknowledged; a database of another format is left as it is.
 * It also owns the data directory, the master key's file, and backups of both.
 */
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
