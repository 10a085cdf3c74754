/**
 * Settings of the storage, and the names of its files. `app` reads them before the rest of storage is loaded; the
 * sandbox derives from the names what the server's worker may see.
 */
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
    help: "the master key before this one, as base64; what it sealed is sealed again at the next start",
  }),
};

/** The values of {@link storageSettings}, parsed. */
export type StorageSettings = ValuesOf<typeof storageSettings>;

/** The names of the files in a data directory, and in a backup of one. */
export const dataFiles = { database: "portcullis.db", masterKey: "master.key" } as const;
