/**
 * The storage port on PostgreSQL 13 or later, for any number of instances on any number of machines. A write is one
 * statement, and so one transaction and one round trip; nothing is cached between requests.
 */
import postgres from "postgres";
import type { Sql, TransactionSql } from "postgres";
import { closeAll, type Problem, UnusableError } from "../lib/result.ts";
import { atMost, type Clock, pause } from "../lib/time.ts";
import type { PostgresLocation } from "./mod_settings.ts";
import { joinNext } from "../lib/turns.ts";
import { faultWords, systemFaultWords } from "../lib/system_fault.ts";
import { encodeKeyToRead, entryOf, listRange, prepareBatch, requireOwnFormat, storedFormat } from "./port.ts";
import { createKeyedWatches, isWatchable } from "./watches.ts";
import type { EntryRow, Storage, StorageKey } from "./port.ts";
import { readFileSync } from "node:fs";

/** Several installations can share a database by different schemas. */
const defaultSchema = "portcullis";

/** How many rows count the commits; each commit adds to one of them, so that commits do not wait for each other. */
const changeShards = 16;

const creationLock = 5_784_093_217_004; // any number that no other program's advisory lock has

/** The SQL of the driver's tables and its one function, in a separate schema. */
function createTables(schema: string): string {
  return `
    CREATE TABLE ${schema}.schema_version (version integer NOT NULL);
    INSERT INTO ${schema}.schema_version VALUES (${storedFormat});
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
  `;
}

/** Creates the schema if it is missing, one process at a time. Throws {@link UnusableError} for another format. */
async function createSchema(sql: Sql, schema: string): Promise<void> {
  // A role without the right to create anything can still run on a schema that is there.
  if (await hasSchema(sql, schema)) return;
  await sql.begin(async (transaction) => {
    await transaction.unsafe(`SELECT pg_advisory_xact_lock(${creationLock})`);
    await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${schema}`); // before: it sees what was made meanwhile
    if (await hasSchema(transaction, schema)) return;
    await transaction.unsafe(createTables(schema));
  });
}

/** Whether the schema is there. Throws {@link UnusableError} for one of another format. */
async function hasSchema(sql: Sql | TransactionSql, schema: string): Promise<boolean> {
  const [{ present } = { present: false }] = await sql<{ present: boolean }[]>`
    SELECT to_regclass(${`${schema}.schema_version`}) IS NOT NULL AS present`;
  if (!present) return false;
  const [row] = await sql.unsafe<{ version: number }[]>(`SELECT version FROM ${schema}.schema_version`);
  requireOwnFormat(row?.version ?? 0, `schema ${schema}`);
  return true;
}

const sweepAtOnce = 1_000;
const leastServerVersion = 130_000;
const announcementBytes = 7_000; // PostgreSQL's limit is 7,999
/** In place of more keys than that: no key is like it. */
const anything = "*";

interface PostgresStorageOptions {
  readonly location: PostgresLocation;
  readonly clock: Clock;
  /** Default {@link defaultSchema}. */
  readonly schema?: string;
  readonly limits?: Partial<PostgresLimits>;
  /** Called once when the server cannot be reached at first and the opening waits for it. */
  readonly onWait?: () => void;
}

/**
 * Connects, and creates the schema if it is missing; with `creates: false`, `null` is the answer then. Rejects with
 * {@link UnusableError} when that fails.
 */
export async function openPostgresStorage(
  options: PostgresStorageOptions & { readonly creates: false },
): Promise<Storage | null>;
export async function openPostgresStorage(options: PostgresStorageOptions): Promise<Storage>;
export async function openPostgresStorage(
  options: PostgresStorageOptions & { readonly creates?: false },
): Promise<Storage | null> {
  const { location, clock, schema = defaultSchema, limits, onWait, creates = true } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw new TypeError("A schema's name has only a-z, 0-9 and _");
  const connection = connectPostgres(location, { ...postgresLimits, ...limits });
  try {
    const isThere = await connection.whenReachable(async () => {
      const { sql } = connection;
      await requireUsableServer(sql);
      if (creates) await createSchema(sql, schema);
      return creates || await hasSchema(sql, schema);
    }, onWait);
    if (!isThere) {
      await connection.close();
      return null;
    }
  } catch (error) {
    await connection.close().catch(() => {}); // why it is closed says more
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
      const { rows: [row] } = await connection.query<EntryRow>(text.get, [keyText, clock()], true);
      return row === undefined ? null : entryOf(row);
    },
    async list(prefix, listOptions) {
      const range = listRange(prefix, listOptions);
      if (range === null) return [];
      const parameters = [range.start, range.end, clock(), listOptions.limit];
      return (await connection.query<EntryRow>(text.list, parameters, true)).rows.map(entryOf);
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
      const { rows: [row] } = await connection.query<EntryRow>(text.consume, parameters, false);
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
    close: () => closeAll(watches.close, stopListening, connection.close),
  };
}

/** The notification of a commit: the keys of its watchable entries, one a line (no key has a line end in it). */
function announcementOf(entries: readonly { readonly key: StorageKey; readonly keyText: string }[]): string {
  const text = entries.filter(({ key }) => isWatchable(key)).map(({ keyText }) => keyText).join("\n");
  return Buffer.byteLength(text) > announcementBytes ? anything : text;
}

/** Throws {@link UnusableError} for a server that we cannot work with. */
async function requireUsableServer(sql: Sql): Promise<void> {
  const [found] = await sql<{ version: number; encoding: string }[]>`
    SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`;
  if ((found?.version ?? 0) < leastServerVersion) {
    throw new UnusableError("the PostgreSQL server is older than version 13", "upgrade it");
  }
  if (found?.encoding !== "UTF8") {
    throw new UnusableError(`the database's encoding is ${found?.encoding}`, "make one with ENCODING 'UTF8'");
  }
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
export function describePostgresFailure(error: unknown, { host, port, database }: PostgresLocation): Problem {
  const code = postgresErrorCode(error);
  const why = faultWords(error);
  const detail = systemFaultWords(error) !== null || code === "" || why.includes(code) ? why : `${why} (${code})`;
  return {
    problem: `PostgreSQL database ${database} at ${host}, port ${port}, cannot be used: ${detail}`,
    remedy: remedies[code] ?? "check that the server runs and that DATABASE_URL names it",
  };
}

// * A pool of connections: it reconnects, and bounds every wait.

/** Callbacks of the listener. */
interface ListenerHandlers {
  readonly onnotify: (channel: string, payload: string) => void;
  readonly onclose: () => void;
}

const beatMs = 5_000; // a network that swallows everything is noticed within this and the time-out
const listenerRetryMs = 200;

/** Listens until the returned function is called; it resolves when the connection is closed. */
export function listenToPostgres(options: {
  /** A pool of one connection. */
  readonly connect: (handlers: ListenerHandlers) => Sql;
  /** The channel: an identifier that needs no escaping. */
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** Called once listening: earlier notifications, such as those during a reconnect, were missed. */
  readonly onStanding: () => void;
  /** How long the server may take to answer before the connection counts as lost. */
  readonly answerTimeoutMs: number;
}): () => Promise<void> {
  const { connect, channel, onPayload, onStanding, answerTimeoutMs } = options;
  const stopped = new AbortController();

  const listenOnce = async (): Promise<void> => {
    const lost = new AbortController();
    const over = AbortSignal.any([stopped.signal, lost.signal]);
    const sql = connect({ onnotify: (_channel, payload) => onPayload(payload), onclose: () => lost.abort() });
    const send = async (text: string): Promise<void> => {
      const answered = new AbortController();
      const answer = sql.unsafe(text).then(() => answered.abort(), () => lost.abort());
      await Promise.race([answer, pause(answerTimeoutMs, AbortSignal.any([over, answered.signal]))]);
      if (!answered.signal.aborted) lost.abort();
    };
    await send(`LISTEN "${channel}"`);
    if (!over.aborted) onStanding();
    while (!over.aborted) {
      await pause(beatMs, over);
      if (!over.aborted) await send("SELECT 1");
    }
    await sql.end({ timeout: 0 }).catch((error) => {
      if (stopped.signal.aborted) throw error; // else the next connection is made all the same
    });
  };
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await listenOnce();
      await pause(listenerRetryMs, stopped.signal);
    }
  };
  const running = run();
  return async () => {
    stopped.abort();
    await running;
  };
}

/** Limits of the pool. */
const postgresLimits = {
  connections: 10,
  connectTimeoutSeconds: 5,
  /** Statement timeout, waiting for locks included. */
  statementTimeoutMs: 5_000,
  /** How long a start waits for the server. */
  startTimeoutMs: 5_000,
  /** How long a request waits for a lost server before it is rejected. */
  outageTimeoutMs: 1_000,
};

export type PostgresLimits = Readonly<typeof postgresLimits>;

/** Rows, and how many were affected. */
interface QueryResult<Row> {
  readonly rows: readonly Row[];
  readonly count: number;
}

const noAnswer = "NO_ANSWER";
const retryMs = 50;
/** How long a stop waits for pending statements. */
const closeMs = 2_000;
/**
 * Nothing was done: the server was not reached, or refused to begin (57P03: it is starting; 53300: no slot is free), or
 * rolled back for the sake of another client's transaction (40001, 40P01).
 */
const nothingDone = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "CONNECT_TIMEOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "57P03",
  "53300",
  "40001",
  "40P01",
]);
/** The connection ended while a statement was under way: it may have been done. 57P01, 57P02: the server stops. */
const lost = new Set(["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "ECONNRESET", "EPIPE", "57P01", "57P02", "57P05"]);

const missingInTypes = { max_pipeline: 100, sslnegotiation: null };

function makePool(
  location: PostgresLocation,
  limits: PostgresLimits,
  rootCertificate: string | undefined,
  listener?: ListenerHandlers,
): Sql {
  const { host, port, database, user, password, tls } = location;
  return postgres({
    ...(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}`, host: "localhost" } : { host }),
    port,
    database,
    user,
    password,
    ssl: tls && {
      servername: host,
      rejectUnauthorized: true,
      ...(rootCertificate === undefined ? {} : { ca: rootCertificate }),
    },
    max: listener === undefined ? limits.connections : 1,
    connect_timeout: limits.connectTimeoutSeconds,
    connection: {
      application_name: "portcullis",
      statement_timeout: limits.statementTimeoutMs,
      idle_in_transaction_session_timeout: limits.statementTimeoutMs,
      // Each statement of commit_batch() has to see what was committed while it waited for its locks.
      default_transaction_isolation: "read committed",
    },
    target_session_attrs: "read-write", // never a replica, which may lag behind
    fetch_types: false,
    onnotice: () => {},
    // Named although they are the library's own defaults: it looks for unnamed ones in the environment.
    backoff: (retries) => Math.min(3 ** retries / 100, 1),
    idle_timeout: 0,
    max_lifetime: listener === undefined ? 45 * 60 : null,
    ...listener,
    keep_alive: 30,
    prepare: true,
    debug: false,
    publications: "alltables",
    ...missingInTypes,
  });
}

/** Makes the pool; it connects when it is first used. */
function connectPostgres(location: PostgresLocation, limits: PostgresLimits) {
  const { rootCertificatePath } = location;
  // Once: later pools are made when files outside the workspace are out of reach.
  const rootCertificate = rootCertificatePath === undefined ? undefined : readFileSync(rootCertificatePath, "utf8");
  let pool = makePool(location, limits, rootCertificate);
  // The server's own limit does not help when the network swallows the answer.
  const deadlineMs = limits.statementTimeoutMs + limits.connectTimeoutSeconds * 1_000;
  const send = async <Row>(text: string, parameters: readonly (string | number)[]): Promise<QueryResult<Row>> => {
    const used = pool;
    try {
      const rows = await atMost(deadlineMs, used.unsafe(text, [...parameters], { prepare: true }), null);
      if (rows === null) throw Object.assign(new Error("no answer in time"), { code: noAnswer });
      return { rows: rows as unknown as readonly Row[], count: rows.count };
    } catch (error) {
      // TCP would keep the dead connections, and every request that is given one, waiting for a quarter of an hour.
      if (postgresErrorCode(error) === noAnswer && pool === used) {
        pool = makePool(location, limits, rootCertificate);
        await used.end({ timeout: 0 }).catch(() => {}); // the connections are given up
      }
      throw error;
    }
  };
  const retry = async <T>(
    step: () => Promise<T>,
    { repeatable, milliseconds, onWait }: {
      repeatable: boolean;
      milliseconds: number;
      onWait?: (() => void) | undefined;
    },
  ): Promise<T> => {
    const end = performance.now() + milliseconds;
    let hasWaited = false;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const code = postgresErrorCode(error);
        const again = nothingDone.has(code) || (repeatable && lost.has(code));
        if (!again || performance.now() > end) throw error;
        if (!hasWaited) onWait?.();
        hasWaited = true;
        await pause(retryMs);
      }
    }
  };
  const underWay = new Set<Promise<unknown>>();
  return {
    get sql(): Sql {
      return pool;
    },
    /** One statement. `repeatable`: it changes nothing, so it is sent again when the connection was lost on the way. */
    async query<Row>(
      text: string,
      parameters: readonly (string | number)[],
      repeatable: boolean,
    ): Promise<QueryResult<Row>> {
      const work = retry(() => send<Row>(text, parameters), { repeatable, milliseconds: limits.outageTimeoutMs });
      underWay.add(work);
      try {
        return await work;
      } catch (error) {
        throw withoutParameters(error);
      } finally {
        underWay.delete(work);
      }
    },
    /** Runs a step again for as long as the server cannot be reached and nothing was done; calls `onWait` once if so. */
    whenReachable: <T>(step: () => Promise<T>, onWait?: () => void): Promise<T> =>
      retry(step, { repeatable: false, milliseconds: limits.startTimeoutMs, onWait }),
    /** A pool of a single connection, for listening; the caller ends it. */
    connectListener: (handlers: ListenerHandlers): Sql => makePool(location, limits, rootCertificate, handlers),
    async close(): Promise<void> {
      // The library's own waiting never ends for a connection that was cut in the middle of a statement.
      await atMost(closeMs, Promise.allSettled(underWay), null);
      await pool.end({ timeout: 0 });
    },
  };
}

/** The SQLSTATE, or the code of the system or library. */
function postgresErrorCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}

/** The library attaches the statement's parameters to its errors: a log of these would hold stored values. */
function withoutParameters(error: unknown): Error {
  const code = postgresErrorCode(error);
  const message = `PostgreSQL: ${error instanceof Error ? error.message : "failed"} (${code})`;
  return Object.assign(new Error(message), { code });
}
