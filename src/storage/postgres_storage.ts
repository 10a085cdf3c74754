/**
 * The storage port on PostgreSQL 13 or later, for any number of instances on any number of machines. A write is one
 * statement, and so one transaction and one round trip; nothing is cached between requests.
 */
import { UnusableError } from "../lib/problem.ts";
import type { Clock } from "../lib/clock.ts";
import type { PostgresLocation } from "./database_url.ts";
import { joinNext } from "../lib/join_next.ts";
import { parseStoredJson } from "../lib/storage_fault.ts";
import { faultWords, systemFaultWords } from "../lib/system_fault.ts";
import { decodeKey, encodeKeyToRead } from "./key_text.ts";
import { createKeyedWatches } from "./keyed_watches.ts";
import { listRange } from "./list_range.ts";
import type { Storage, StorageKey, StoredEntry } from "./port.ts";
import { connectPostgres, type PostgresConnection, postgresErrorCode, type PostgresLimits, postgresLimits } from "./connection.ts";
import { listenToPostgres } from "./listener.ts";
import { changeShards, migratePostgres } from "./schema.ts";
import { prepareBatch } from "./prepare_batch.ts";
import { isWatchable } from "./watched_families.ts";

const sweepAtOnce = 1_000;
const leastServerVersion = 130_000;
const announcementBytes = 7_000; // PostgreSQL's limit is 7,999
/** In place of more keys than that: no key is like it. */
const anything = "*";

interface PostgresStorageOptions {
  readonly location: PostgresLocation;
  readonly clock: Clock;
  /** Several installations can share a database by different schemas. Default `portcullis`. */
  readonly schema?: string;
  readonly limits?: Partial<PostgresLimits>;
  /** Called once when the server cannot be reached at first and the opening waits for it. */
  readonly onWait?: () => void;
}

interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: string;
}

/** Connects, and makes or upgrades the schema. Rejects with {@link UnusableError} when that cannot be. */
export async function openPostgresStorage(options: PostgresStorageOptions): Promise<Storage> {
  const { location, clock, schema = "portcullis", limits, onWait } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw new TypeError("A schema's name has only a-z, 0-9 and _");
  const connection = connectPostgres(location, { ...postgresLimits, ...limits });
  try {
    await connection.whenReachable(() => prepareServer(connection, schema), onWait);
  } catch (error) {
    await connection.close();
    throw toUnusable(error, location);
  }
  const live = (parameter: string): string => `(expires_at IS NULL OR expires_at > ${parameter})`;
  const columns = "key, value, version";
  const text = {
    get: `SELECT ${columns} FROM ${schema}.entry WHERE key = $1 AND ${live("$2")}`,
    list: `SELECT ${columns} FROM ${schema}.entry
      WHERE key > $1 AND key < $2 AND ${live("$3")} ORDER BY key LIMIT $4`,
    // The announcement is heard when the commit is: one statement is one transaction.
    commit: `WITH batch AS MATERIALIZED (SELECT ${schema}.commit_batch($1::text::jsonb, $2) AS done)
      SELECT done, CASE WHEN done THEN pg_notify('${schema}', $3) END FROM batch`,
    quietCommit: `SELECT ${schema}.commit_batch($1::text::jsonb, $2) AS done`,
    // The entry's lock is taken before the counter's, as in commit_batch(): the other order could end in a deadlock.
    consume: `WITH taken AS (DELETE FROM ${schema}.entry WHERE key = $1 AND ${live("$2")} RETURNING ${columns}),
      counted AS (UPDATE ${schema}.change SET commits = commits + 1
        WHERE shard = pg_backend_pid() % ${changeShards} AND EXISTS (SELECT 1 FROM taken))
      SELECT ${columns}, CASE WHEN $3 <> '' THEN pg_notify('${schema}', $3) END FROM taken`,
    changeCount: `SELECT sum(commits)::text AS count FROM ${schema}.change`,
    sweep: `WITH expired AS (
        SELECT key FROM ${schema}.entry WHERE expires_at <= $1 LIMIT ${sweepAtOnce} FOR UPDATE SKIP LOCKED)
      DELETE FROM ${schema}.entry USING expired WHERE entry.key = expired.key`,
  };
  let stopListening: (() => Promise<void>) | undefined;
  const watches = createKeyedWatches(() => {
    // Once begun, it goes on: streams come and go, and each connection costs the server a process.
    stopListening ??= listenToPostgres({
      connect: connection.connectListener,
      channel: schema,
      onPayload: (payload) => payload === anything ? watches.tellAll() : payload.split("\n").forEach(watches.tell),
      onStanding: () => watches.tellAll(),
      answerTimeoutMs: (limits?.connectTimeoutSeconds ?? postgresLimits.connectTimeoutSeconds) * 1_000,
    });
    return () => {};
  });
  return {
    async get(key) {
      const keyText = encodeKeyToRead(key);
      if (keyText === null) return null;
      const { rows: [row] } = await connection.query<Row>(text.get, [keyText, clock()], true);
      return row === undefined ? null : entryOf(row);
    },
    async list(prefix, listOptions) {
      const range = listRange(prefix, listOptions);
      if (range === null) return [];
      const parameters = [range.start, range.end, clock(), listOptions.limit];
      return (await connection.query<Row>(text.list, parameters, true)).rows.map(entryOf);
    },
    async commit(batch) {
      const { checks, puts, deletes, impossible } = prepareBatch(batch);
      if (impossible) return false;
      const json = JSON.stringify({
        keys: [...checks, ...puts, ...deletes].map(({ keyText }) => keyText),
        checks: checks.map(({ keyText, version }) => ({ key: keyText, version })),
        puts: puts.map(({ keyText, json, expiresAt }) => ({
          key: keyText,
          value: json,
          version: crypto.randomUUID(),
          expires_at: expiresAt,
        })),
        deletes: deletes.map(({ keyText }) => keyText),
      });
      const announced = announcementOf([...puts, ...deletes]);
      const { rows: [row] } = announced === ""
        ? await connection.query<{ done: boolean }>(text.quietCommit, [json, clock()], false)
        : await connection.query<{ done: boolean }>(text.commit, [json, clock(), announced], false);
      return row?.done === true;
    },
    async consume(key) {
      const keyText = encodeKeyToRead(key);
      if (keyText === null) return null;
      const parameters = [keyText, clock(), announcementOf([{ key, keyText }])];
      const { rows: [row] } = await connection.query<Row>(text.consume, parameters, false);
      return row === undefined ? null : entryOf(row);
    },
    changeCount: joinNext(async () => {
      const { rows: [row] } = await connection.query<{ count: string }>(text.changeCount, [], true);
      return Number(row?.count);
    }),
    async sweep(now) {
      for (let total = 0;;) {
        const { count } = await connection.query(text.sweep, [now], false);
        total += count;
        if (count < sweepAtOnce) return total;
      }
    },
    watch: watches.watch,
    async close() {
      watches.close();
      await stopListening?.();
      await connection.close();
    },
  };
}

/** What is told of a commit: the keys of its watchable entries, one a line (no key has a line's end in it). */
function announcementOf(entries: readonly { readonly key: StorageKey; readonly keyText: string }[]): string {
  const text = entries.filter(({ key }) => isWatchable(key)).map(({ keyText }) => keyText).join("\n");
  return Buffer.byteLength(text) > announcementBytes ? anything : text;
}

function entryOf(row: Row): StoredEntry {
  return { key: decodeKey(row.key), value: parseStoredJson(row.value), version: row.version };
}

/** Throws {@link UnusableError} for a server that we cannot work with. */
export async function requireUsableServer(sql: PostgresConnection["sql"]): Promise<void> {
  const [found] = await sql<{ version: number; encoding: string }[]>`
    SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`;
  if ((found?.version ?? 0) < leastServerVersion) {
    throw new UnusableError("the PostgreSQL server is older than version 13", "upgrade it");
  }
  if (found?.encoding !== "UTF8") {
    throw new UnusableError(`the database's encoding is ${found?.encoding}`, "make one with ENCODING 'UTF8'");
  }
}

async function prepareServer({ sql }: PostgresConnection, schema: string): Promise<void> {
  await requireUsableServer(sql);
  await migratePostgres(sql, schema);
}

const remedies: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password in DATABASE_URL",
  "28000": "check the user in DATABASE_URL, and the server's pg_hba.conf",
  "3D000": "make the database with createdb, or correct DATABASE_URL",
  "25006": "DATABASE_URL has to name the primary: this server is read-only",
  "42P01": "a table is gone: restore the database from a backup",
  "42883": "a function is gone: restore the database from a backup",
  "53100": "free some space on the disk of the PostgreSQL server",
  "53300": "the server has no connection left: raise its max_connections",
  "42501": "grant the user CREATE on the database, or start once as a user who has it",
};

function toUnusable(error: unknown, location: PostgresLocation): UnusableError {
  if (error instanceof UnusableError) return error;
  const { problem, remedy } = describePostgresFailure(error, location);
  return new UnusableError(problem, remedy);
}

/** Puts an error of the server, or of the way to it, into words. */
export function describePostgresFailure(
  error: unknown,
  { host, port, database }: PostgresLocation,
): { readonly problem: string; readonly remedy: string } {
  const code = postgresErrorCode(error);
  const why = faultWords(error);
  const detail = systemFaultWords(error) !== null || code === "" || why.includes(code) ? why : `${why} (${code})`;
  return {
    problem: `PostgreSQL database ${database} at ${host}, port ${port}, cannot be used: ${detail}`,
    remedy: remedies[code] ?? "check that the server runs and that DATABASE_URL names it",
  };
}
