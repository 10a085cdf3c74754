/** What the server keeps, and where. */
import { parseDatabaseUrl } from "./database_url.ts";
import { parseMasterKey, parseText } from "../config/parsers.ts";
import { optional, required, type ValuesOf } from "../config/setting.ts";

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
    defaultOnDeploy: "deno-kv:",
    parse: parseDatabaseUrl,
    secret: true,
    help:
      "keeps what the server knows in PostgreSQL (postgres://...) or Deno KV (deno-kv: on Deno Deploy) instead of SQLite in DATA_DIR",
  }),
  masterKey: optional({
    env: "MASTER_KEY",
    parse: parseMasterKey,
    secret: true,
    help:
      "the key behind everything sealed and signed, instead of master.key in DATA_DIR; the same for every instance on one database",
  }),
  previousMasterKey: optional({
    env: "MASTER_KEY_PREVIOUS",
    parse: parseMasterKey,
    secret: true,
    help: "the MASTER_KEY before: what it sealed is sealed anew at the next start",
  }),
};

export type StorageSettings = ValuesOf<typeof storageSettings>;
