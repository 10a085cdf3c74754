/** A pool of connections to PostgreSQL: it reconnects, and bounds every wait. */
import postgres from "postgres";
import type { Sql } from "postgres";
import { readFileSync } from "node:fs";
import { atMost, pause } from "../lib/time.ts";
import type { PostgresLocation } from "./database_url.ts";

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
export const postgresLimits = {
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
export function connectPostgres(location: PostgresLocation, limits: PostgresLimits) {
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
export function postgresErrorCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}

/** The library attaches the statement's parameters to its errors: a log of these would hold stored values. */
function withoutParameters(error: unknown): Error {
  const code = postgresErrorCode(error);
  const message = `PostgreSQL: ${error instanceof Error ? error.message : "failed"} (${code})`;
  return Object.assign(new Error(message), { code });
}
