import assert from "node:assert/strict";
import postgres from "postgres";
import { UnusableError } from "../../src/lib/result.ts";
import { parseDatabaseUrl, type PostgresLocation } from "../../src/storage/mod_settings.ts";
import { pause } from "../../src/lib/time.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openPostgresStorage } from "../../src/storage/postgres_storage.ts";
import { until } from "../fixtures/until.ts";
import { put, testStorageContract } from "./contract.ts";
import { type SharedStoragePlace, testStorageProcesses } from "./contract_processes.ts";
import { countCalls } from "./contract_watch.ts";
import { startNetwork } from "./network.ts";
import { findPostgres, type PostgresCluster, startPostgresCluster } from "./postgres_cluster.ts";

const found = findPostgres();

if ("missing" in found) {
  Deno.test({ name: `SKIPPED postgres storage suite: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  const cluster = await startPostgresCluster(found.programs);
  Deno.test.afterAll(async () => await cluster[Symbol.asyncDispose]());
  testStorageContract("postgres", () => postgresPlace(cluster));
  testStorageProcesses("postgres", () => postgresPlace(cluster));
  testServer(cluster);
}

interface PostgresPlace extends SharedStoragePlace {
  readonly schema: string;
}

function locationOf(url: string): PostgresLocation {
  const parsed = parseDatabaseUrl(url);
  if (!parsed.ok || parsed.value.kind !== "postgres") return assert.fail(`${url} is no PostgreSQL URL`);
  return parsed.value;
}

let schemas = 0;

async function postgresPlace(cluster: PostgresCluster): Promise<PostgresPlace> {
  const schema = `place_${schemas++}`;
  let now = 1_700_000_000_000;
  return await {
    schema,
    location: ["postgres", `${cluster.url}#${schema}`],
    open: () =>
      openPostgresStorage({
        location: locationOf(cluster.url),
        schema,
        clock: () => now,
        limits: { connections: 3 },
      }),
    advance: (milliseconds) => void (now += milliseconds),
    now: () => now,
    [Symbol.asyncDispose]: async () => void await cluster.administer(`DROP SCHEMA IF EXISTS ${schema} CASCADE`),
  };
}

const waiting =
  "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'portcullis' AND wait_event_type = 'Lock'";

/** Runs a statement in a transaction of another client, which ends when the returned function is called. */
async function holdLock(cluster: PostgresCluster, statement: string): Promise<() => Promise<void>> {
  const sql = postgres(cluster.url, { max: 1, fetch_types: false });
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = sql.begin(async (transaction) => {
    await transaction.unsafe(statement);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return async () => {
    released.resolve();
    await done;
    await sql.end();
  };
}

function testServer(cluster: PostgresCluster): void {
  const terminate = (): Promise<string> =>
    cluster.administer(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'portcullis'",
    );

  Deno.test("postgres storage: goes on after every connection was cut, reads even while that happens", async () => {
    await using place = await postgresPlace(cluster);
    const storage = await place.open();
    await put(storage, ["k"], 1);
    const reading = Array.from({ length: 30 }, async (_, at) => {
      await new Promise((resolve) => setTimeout(resolve, at * 5));
      return [(await storage.get(["k"]))?.value, await storage.changeCount()];
    });
    await terminate();
    const [first, ...others] = await Promise.all(reading);
    for (const other of others) assert.deepEqual(other, first);
    // A write is not sent again by itself: one that meets a connection whose end has not been heard of is in doubt.
    for (let cutOff = 0; !await put(storage, ["k"], 2).then(() => true, () => false); cutOff++) {
      assert.ok(cutOff < 3, "one for each connection of the pool at most");
    }
    assert.equal((await storage.consume(["k"]))?.value, 2);
    await storage.close();
  });

  Deno.test("postgres storage: a crash of the server loses nothing acknowledged, and requests wait for its return", async () => {
    await using place = await postgresPlace(cluster);
    // A loaded machine may take long to start PostgreSQL again.
    const storage: Storage = await openPostgresStorage({
      location: locationOf(cluster.url),
      schema: place.schema,
      clock: Date.now,
      limits: { outageTimeoutMs: 60_000 },
    });
    const acknowledged: number[] = [];
    const refused: unknown[] = [];
    let stopped = false;
    const writing = (async () => {
      for (let at = 0; !stopped; at++) {
        try {
          await put(storage, ["k", String(at)], at);
          acknowledged.push(at);
        } catch (error) {
          refused.push(error);
        }
      }
    })();
    const acknowledgeTenMore = async (): Promise<void> => {
      const enough = acknowledged.length + 10;
      while (acknowledged.length < enough) await pause(1);
    };
    await acknowledgeTenMore();
    await cluster.crash();
    const waiting = storage.get(["k", "0"]);
    await cluster.start();
    assert.equal((await waiting)?.value, 0);
    await acknowledgeTenMore();
    stopped = true;
    await writing;
    const kept = new Set((await storage.list(["k"], { limit: 100_000 })).map(({ value }) => value));
    assert.deepEqual(acknowledged.filter((at) => !kept.has(at)), []);
    const lostOnTheWay = /CONNECTION_CLOSED|CONNECTION_DESTROYED|ECONNRESET|EPIPE|57P0[12]/;
    for (const error of refused) assert.match(String(error), lostOnTheWay, "only what was under way can fail");
    assert.ok(refused.length < 10, "the others wait");
    await storage.close();
  });

  Deno.test("postgres storage: an outage that lasts ends in a rejection without what was to be stored", async () => {
    await using place = await postgresPlace(cluster);
    const storage: Storage = await openPostgresStorage({
      location: locationOf(cluster.url),
      schema: place.schema,
      clock: Date.now,
      limits: { outageTimeoutMs: 100 },
    });
    await put(storage, ["k"], 1);
    await cluster.crash();
    try {
      const failed = await put(storage, ["k"], "hunter2").then(() => assert.fail("committed"), (error) => error);
      assert.ok(!Deno.inspect(failed, { showHidden: true, depth: 9 }).includes("hunter2"));
      await assert.rejects(storage.get(["k"]), /PostgreSQL/);
      await assert.rejects(async () => void await storage.changeCount(), /PostgreSQL/);
    } finally {
      await cluster.start();
    }
    // With so little patience a busy machine may be too slow for the first new connection.
    const entry = await until("the entry", () => storage.get(["k"]).catch(() => null));
    assert.equal(entry.value, 1);
    await storage.close();
  });

  Deno.test("postgres storage: a network that swallows everything ends in a rejection, and new connections replace the dead", async () => {
    await using place = await postgresPlace(cluster);
    await using network = startNetwork(cluster.port);
    const storage = await openPostgresStorage({
      location: { ...locationOf(cluster.url), port: network.port },
      schema: place.schema,
      clock: Date.now,
      limits: { statementTimeoutMs: 1_000, connectTimeoutSeconds: 2 },
    });
    await put(storage, ["k"], 1);
    network.swallow();
    const outcomes = await Promise.allSettled([storage.get(["k"]), put(storage, ["k"], 2)]);
    for (const outcome of outcomes) assert.match(String((outcome as { reason?: unknown }).reason), /PostgreSQL: /);
    network.heal(); // for new connections; the old ones stay dead
    assert.ok((await storage.get(["k"])) !== null);
    await put(storage, ["k"], 3);
    await storage.close();
  });

  Deno.test("postgres storage: a connection that is cut in the middle of commits leaves each whole or undone, the acknowledged done", async () => {
    await using place = await postgresPlace(cluster);
    await using network = startNetwork(cluster.port);
    const storage = await openPostgresStorage({
      location: { ...locationOf(cluster.url), port: network.port },
      schema: place.schema,
      clock: place.now,
      limits: { connections: 4, outageTimeoutMs: 60_000 },
    });
    const direct = await place.open();
    let rejected = 0;
    for (let round = 0; round < 6; round++) {
      const writing = Array.from({ length: 12 }, async (_, at) => {
        const name = `${round}-${at}`;
        const puts = ["left", "right"].map((side) => ({
          key: ["pair", name, side] as const,
          value: "x".repeat(20_000),
        }));
        const done = await storage.commit({ puts }).then(() => true, () => false);
        if (!done) rejected += 1;
        return { name, done };
      });
      // While answers, and requests, are on their way: as soon as the first of them is in the database.
      while ((await direct.list(["pair"], { limit: 1_000 })).length <= 2 * (round * 12 - rejected)) await pause(1);
      network.cut();
      for (const { name, done } of await Promise.all(writing)) {
        const { length } = await direct.list(["pair", name], { limit: 3 }); // of one moment: the server may be at it yet
        assert.ok(length === 2 || (length === 0 && !done), `${length} entries of a batch, acknowledged: ${done}`);
      }
    }
    assert.ok(rejected < 6 * 12, "a cut ends only what is under way");
    await storage.close();
    await direct.close();
  });

  Deno.test("postgres storage: a watch hears of what was written while its connection was cut, or dead without a word", async () => {
    await using place = await postgresPlace(cluster);
    await using network = startNetwork(cluster.port);
    const storage = await openPostgresStorage({
      location: { ...locationOf(cluster.url), port: network.port },
      schema: place.schema,
      clock: place.now,
      limits: { connectTimeoutSeconds: 1, outageTimeoutMs: 60_000 },
    });
    const direct = await place.open();
    const calls = countCalls(storage, ["grant", "g"]);
    const standing = calls.next();
    await put(direct, ["grant", "g"], 0);
    await standing;
    for (const fail of [network.cut, network.swallow]) {
      fail();
      const called = calls.next();
      await put(direct, ["grant", "g"], 1);
      if (fail === network.swallow) await pause(50); // the announcement goes nowhere
      network.heal();
      await called;
    }
    const called = calls.next();
    await terminate();
    await called;
    await cluster.crash();
    const afterwards = calls.next();
    await cluster.start();
    await afterwards;
    calls.stop();
    await storage.close();
    await direct.close();
  });

  Deno.test("postgres storage: a lock that is not released ends in a rejection and leaves nothing behind", async () => {
    await using place = await postgresPlace(cluster);
    const storage = await openPostgresStorage({
      location: locationOf(cluster.url),
      schema: place.schema,
      clock: Date.now,
      limits: { statementTimeoutMs: 1_000 },
    });
    await put(storage, ["k"], 1);
    const release = await holdLock(cluster, `SELECT 1 FROM ${place.schema}.entry FOR UPDATE`);
    await assert.rejects(storage.commit({ puts: [{ key: ["a"], value: 1 }, { key: ["k"], value: 2 }] }), /57014/);
    await assert.rejects(storage.consume(["k"]), /57014/);
    assert.equal((await storage.get(["k"]))?.value, 1);
    assert.equal(await storage.get(["a"]), null);
    await release();
    await put(storage, ["k"], 3);
    await storage.close();
  });

  Deno.test("postgres storage: an entry consumed while a commit that checks it waits for another key fails that commit", async () => {
    await using place = await postgresPlace(cluster);
    const storage = await place.open();
    await storage.commit({ puts: [{ key: ["a"], value: 1 }, { key: ["code"], value: 1 }] });
    const version = (await storage.get(["code"]))?.version ?? null;
    const release = await holdLock(cluster, `SELECT 1 FROM ${place.schema}.entry WHERE key = 'a!' FOR UPDATE`);
    const puts = [{ key: ["a"], value: 2 }, { key: ["code"], value: 2 }] as const;
    const committing = storage.commit({ checks: [{ key: ["code"], version }], puts });
    while (await cluster.administer(waiting) === "0");
    assert.equal((await storage.consume(["code"]))?.value, 1);
    await release();
    assert.equal(await committing, false);
    assert.equal(await storage.get(["code"]), null);
    assert.equal((await storage.get(["a"]))?.value, 1);
    await storage.close();
  });

  Deno.test("postgres storage: heavy contention on a few keys ends without deadlock or loss", async () => {
    await using place = await postgresPlace(cluster);
    const instances = await Promise.all([place.open(), place.open(), place.open()]);
    const keys = ["a", "b", "c", "d"].map((name) => [name] as const);
    await instances[0]?.commit({ puts: keys.map((key) => ({ key, value: 0, expiresAt: place.now() + 1 })) });
    const work = Array.from({ length: 240 }, (_, at) => {
      const instance = instances[at % 3] ?? assert.fail();
      const [one, two] = [keys[at % 4], keys[(at * 7 + 3) % 4]].map((key) => key ?? assert.fail());
      if (at % 5 === 0) return instance.consume(one ?? assert.fail()).then(() => "consumed");
      if (at % 16 === 1) return instance.sweep(place.now()).then(() => "swept");
      const puts = [one, two].map((key) => ({ key: key ?? assert.fail(), value: at, expiresAt: place.now() + at % 2 }));
      return instance.commit({ checks: [{ key: ["never"], version: null }], puts, deletes: [keys[at % 3] ?? ["a"]] });
    });
    const outcomes = await Promise.all(work);
    assert.ok(outcomes.every((outcome) => outcome !== false));
    await Promise.all(instances.map((instance) => instance.close()));
  });

  Deno.test("postgres storage: instances that start at once make the schema once", async () => {
    await using place = await postgresPlace(cluster);
    const instances = await Promise.all(Array.from({ length: 6 }, () => place.open()));
    assert.equal(await cluster.administer(`SELECT count(*) FROM ${place.schema}.schema_version`), "1");
    await Promise.all(instances.map((instance) => instance.close()));
  });

  Deno.test("postgres storage: a user without the right to create anything runs on a schema that is there", async () => {
    await using place = await postgresPlace(cluster);
    await (await place.open()).close();
    await cluster.administer(
      `CREATE ROLE least LOGIN PASSWORD 'least'; GRANT USAGE ON SCHEMA ${place.schema} TO least;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${place.schema} TO least;
       REVOKE CREATE ON DATABASE postgres FROM PUBLIC`,
    );
    const location = { ...locationOf(cluster.url), user: "least", password: "least" };
    const storage = await openPostgresStorage({ location, schema: place.schema, clock: Date.now });
    await put(storage, ["k"], 1);
    assert.equal((await storage.consume(["k"]))?.value, 1);
    await storage.close();
    await assert.rejects(
      openPostgresStorage({ location, schema: "not_there", clock: Date.now }),
      (error: unknown) => error instanceof UnusableError && /grant/.test(error.remedy),
    );
  });

  Deno.test("postgres storage: refuses a schema of another format", async () => {
    await using place = await postgresPlace(cluster);
    await (await place.open()).close();
    for (
      const [version, problem] of [[99, /newer version/], [1, /an earlier version/], [2, /an earlier version/]] as const
    ) {
      await cluster.administer(`UPDATE ${place.schema}.schema_version SET version = ${version}`);
      await assert.rejects(place.open(), problem);
    }
    await cluster.administer(`DELETE FROM ${place.schema}.schema_version`);
    await assert.rejects(place.open(), /an earlier version/);
  });

  Deno.test("postgres storage: says what is wrong with a connection, never the password", async () => {
    const location = locationOf(cluster.url);
    const limits = { startTimeoutMs: 100 };
    const cases = [
      [{ ...location, password: "hunter2" }, /user and the password/],
      [{ ...location, database: "nowhere" }, /createdb/],
      [{ ...location, port: 1, password: "hunter2" }, /server runs/],
    ] as const;
    for (const [wrong, remedy] of cases) {
      await assert.rejects(
        openPostgresStorage({ location: wrong, clock: Date.now, limits }),
        (error: unknown) => {
          assert.ok(error instanceof UnusableError);
          assert.match(error.remedy, remedy);
          assert.ok(!Deno.inspect(error).includes("hunter2"));
          return true;
        },
      );
    }
  });
}
