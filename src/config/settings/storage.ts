/** What the server keeps, and where. */
import { parseDatabaseUrl } from "../../storage/database_url.ts";
import { parseInteger, parseMasterKey, parseText } from "../parsers.ts";
import { day, optional, required } from "../setting.ts";

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
      "keeps what the server knows in PostgreSQL (postgres://...) or Deno KV (deno-kv:PATH) instead of SQLite in DATA_DIR",
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
  postgresConnections: required({
    env: "POSTGRES_CONNECTIONS",
    default: "10",
    parse: parseInteger(1, 1_000),
    help: "connections to PostgreSQL that one instance opens, beside one to listen for changes",
  }),
  postgresStatementTimeoutSeconds: required({
    env: "POSTGRES_STATEMENT_TIMEOUT",
    default: "10",
    parse: parseInteger(1, 600),
    help: "seconds that PostgreSQL may work on one statement",
  }),
  storageBusyTimeoutMilliseconds: required({
    env: "STORAGE_BUSY_TIMEOUT_MS",
    default: "5000",
    parse: parseInteger(1, 60_000),
    help: "milliseconds that an operation waits for a database file that another process writes (SQLite, Deno KV)",
  }),
  sweepIntervalSeconds: required({
    env: "SWEEP_INTERVAL",
    default: "300",
    parse: parseInteger(1, day),
    help: "seconds between two removals of what has ended",
  }),
};
