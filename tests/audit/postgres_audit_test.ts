import assert from "node:assert/strict";
import { parseDatabaseUrl } from "../../src/storage/database_url.ts";
import { openPostgresStorage } from "../../src/storage/postgres/postgres_storage.ts";
import { findPostgres, type PostgresCluster, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { testStoredAudit } from "./audit_contract.ts";
import { start } from "./audit_place.ts";

const found = findPostgres();
let schemas = 0;

function placeOn(cluster: PostgresCluster) {
  const parsed = parseDatabaseUrl(cluster.url);
  if (!parsed.ok || parsed.value.kind !== "postgres") return assert.fail(`${cluster.url} is no PostgreSQL URL`);
  const location = parsed.value;
  const schema = `audit_${schemas++}`;
  return Promise.resolve({
    open: () => openPostgresStorage({ location, schema, clock: () => start, limits: { connections: 3 } }),
    [Symbol.asyncDispose]: async () => void await cluster.administer(`DROP SCHEMA IF EXISTS ${schema} CASCADE`),
  });
}

if ("missing" in found) {
  Deno.test({ name: `SKIPPED postgres audit suite: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  const cluster = await startPostgresCluster(found.programs);
  Deno.test.afterAll(async () => await cluster[Symbol.asyncDispose]());
  testStoredAudit("postgres", () => placeOn(cluster));
}
