/** Settings of the storage, and the names of its files. */
import { parseDatabaseUrl } from "./database_url.ts";
import { optional, parseMasterKey, parseText, required, type ValuesOf } from "../lib/settings.ts";

/** Settings under the heading Storage. */
export const storageSettings = {
  dataDir: required({
    env: "DATA_DIR",
    flag: "data-dir",
    default: "~/.portcullis",
    parse: parseText,
    help: "directory for the database and the master key",
  }),
  database: optional({
    env: "DATABASE_URL",
    parse: parseDatabaseUrl,
    secret: true,
    help: "PostgreSQL database instead of SQLite in DATA_DIR; TLS to other machines unless sslmode=disable",
  }),
  masterKey: optional({
    env: "MASTER_KEY",
    parse: parseMasterKey,
    secret: true,
    help:
      "key for everything sealed and signed, instead of master.key in DATA_DIR; the same for every instance on one database",
  }),
  previousMasterKey: optional({
    env: "MASTER_KEY_PREVIOUS",
    parse: parseMasterKey,
    secret: true,
    help: "the MASTER_KEY before this one; what it sealed is sealed again at the next start",
  }),
};

export type StorageSettings = ValuesOf<typeof storageSettings>;

/** The names of the files in a data directory, and in a backup of one. */
export const dataFiles = { database: "portcullis.db", masterKey: "master.key" } as const;

const sideFiles = ["", "-wal", "-shm"] as const;

/** The files that an open database has. */
export function databaseFiles(databasePath: string): readonly string[] {
  return sideFiles.map((suffix) => `${databasePath}${suffix}`);
}

const belowFile = "/in-place";

/**
 * What may be looked at to learn whether a database's files are there, by code that may not look at the files: names
 * below them, where nothing can ever be. The answer is "not a directory" where the file is there, else "no such file".
 */
export function presencePaths(databasePath: string): readonly string[] {
  return databaseFiles(databasePath).map((path) => `${path}${belowFile}`);
}

export function isPresencePath(path: string): boolean {
  return sideFiles.some((suffix) => path.endsWith(`${dataFiles.database}${suffix}${belowFile}`));
}
