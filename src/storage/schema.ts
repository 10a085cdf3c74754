/** The tables and the one function that the PostgreSQL driver works with, in a schema of their own. */
import type { Sql, TransactionSql } from "postgres";
import { UnusableError } from "../lib/problem.ts";

/** How many rows count the commits; each commit adds to one of them, so that commits do not wait for each other. */
export const changeShards = 16;

const migrationLock = 5_784_093_217_004; // any number that no other program's advisory lock has

/** One entry a schema version; never changed once released. */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE TABLE ${schema}.entry (
      key text COLLATE "C" PRIMARY KEY, value text NOT NULL, version text NOT NULL, expires_at bigint
    );
    CREATE INDEX entry_by_expiry ON ${schema}.entry (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE ${schema}.change (shard integer PRIMARY KEY, commits bigint NOT NULL) WITH (fillfactor = 50);
    INSERT INTO ${schema}.change SELECT shard, 0 FROM generate_series(0, ${changeShards - 1}) AS shard;

    -- One statement is one transaction and one round trip. Checks have to hold until the commit:
    -- row locks keep present keys as they are, the advisory locks keep absent ones absent.
    CREATE FUNCTION ${schema}.commit_batch(batch jsonb, now bigint) RETURNS boolean LANGUAGE plpgsql AS $function$
    DECLARE
      lock_id bigint;
    BEGIN
      FOR lock_id IN -- in one order, so that no two batches wait for each other
        SELECT DISTINCT hashtextextended(name, 0) AS id FROM jsonb_array_elements_text(batch->'keys') AS name ORDER BY id
      LOOP
        PERFORM pg_advisory_xact_lock(lock_id);
      END LOOP;
      PERFORM 1 FROM ${schema}.entry
        WHERE key IN (SELECT jsonb_array_elements_text(batch->'keys')) ORDER BY key FOR UPDATE;
      IF EXISTS (
        SELECT 1 FROM jsonb_to_recordset(batch->'checks') AS wanted(key text, version text)
        LEFT JOIN ${schema}.entry AS found
          ON found.key = wanted.key AND (found.expires_at IS NULL OR found.expires_at > now)
        WHERE found.version IS DISTINCT FROM wanted.version
      ) THEN
        RETURN false;
      END IF;
      INSERT INTO ${schema}.entry (key, value, version, expires_at)
        SELECT put.key, put.value, put.version, put.expires_at
        FROM jsonb_to_recordset(batch->'puts') AS put(key text, value text, version text, expires_at bigint)
        ON CONFLICT (key) DO UPDATE
        SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at;
      DELETE FROM ${schema}.entry WHERE key IN (SELECT jsonb_array_elements_text(batch->'deletes'));
      IF jsonb_array_length(batch->'puts') + jsonb_array_length(batch->'deletes') > 0 THEN
        UPDATE ${schema}.change SET commits = commits + 1 WHERE shard = pg_backend_pid() % ${changeShards};
      END IF;
      RETURN true;
    END
    $function$;
  `,
];

/** Brings the schema up to date, one process at a time. Throws {@link UnusableError} when it is newer than this. */
export async function migratePostgres(sql: Sql, schema: string): Promise<void> {
  // A role without the right to create anything can still run on a schema that is up to date.
  if (await foundVersion(sql, schema) === migrations.length) return;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await transaction.unsafe(`CREATE TABLE IF NOT EXISTS ${schema}.schema_version (version integer NOT NULL)`);
    const found = await foundVersion(transaction, schema);
    if (found === migrations.length) return;
    for (const migration of migrations.slice(found)) await transaction.unsafe(migration(schema));
    await transaction.unsafe(`DELETE FROM ${schema}.schema_version`);
    await transaction.unsafe(`INSERT INTO ${schema}.schema_version VALUES (${migrations.length})`);
  });
}

/** The version of the schema; 0 where it is not there. Throws {@link UnusableError} when it is newer than this. */
export async function foundVersion(sql: Sql | TransactionSql, schema: string): Promise<number> {
  const [{ present } = { present: false }] = await sql<{ present: boolean }[]>`
    SELECT to_regclass(${`${schema}.schema_version`}) IS NOT NULL AS present`;
  if (!present) return 0;
  const [row] = await sql.unsafe<{ version: number }[]>(`SELECT version FROM ${schema}.schema_version`);
  const found = row?.version ?? 0;
  if (found > migrations.length) {
    throw new UnusableError(
      `schema ${schema} was written by a newer version of Portcullis (schema version ${found})`,
      "upgrade this one",
    );
  }
  return found;
}
