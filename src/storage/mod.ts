/**
 * What every other part keeps: an ordered key-value store with versions, on SQLite in the data directory or on
 * PostgreSQL, behind one port (`Storage`). Only `app` opens it; the others receive the port.
 *
 * - A batch takes effect whole and durably, or not at all. Of several callers exactly one consumes an entry.
 * - Watchers are notified of every change, whichever process made it.
 * - While a database fails, calls are refused fast; it is used again once it answers. A write is not acknowledged after
 *   the database's files were deleted. A database of another format is refused and not changed.
 *
 * It also owns the data directory, the master key's file, and backups of both.
 */
export {
  missingMasterKey,
  openDataDirectory,
  peekMasterKey,
  readDataDirectory,
  requirePrivate,
} from "./data_directory.ts";
export {
  bindMasterKey,
  boundMark,
  masterKeyMark,
  openStorage,
  rebindMasterKey,
  wrongMasterKey,
} from "./open_storage.ts";
export type { OpenStorageOptions, StorageBounds } from "./open_storage.ts";
export type { Batch, Foundation, Put, Storage, StorageKey, StoredEntry, VersionCheck } from "./port.ts";
/** Looks for damage in a database without creating or changing anything: for `doctor`. */
export const loadExamineStorage = (): Promise<typeof import("./examine_storage.ts")> => import("./examine_storage.ts");
/** Copies and restores a data directory. */
export const loadBackup = (): Promise<typeof import("./backup.ts")> => import("./backup.ts");
