/** The started server while its PostgreSQL is away, or hangs without a word. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { startNetwork } from "../storage/network.ts";
import { findPostgres, type PostgresCluster, startPostgresCluster } from "../storage/postgres_cluster.ts";

const registration = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ redirect_uris: ["https://app.example/callback"], client_name: "App" }),
};

/** One for both tests: they share a database. */
const masterKey = btoa("0123456789abcdefghijklmnopqrstuv");

interface Faults {
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
}

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

async function callStatus({ url }: RunningServer, token: string): Promise<number> {
  const response = await postMcp(url, toolCall("file_list", {}), { token });
  await response.body?.cancel();
  return response.status;
}

async function requireOutageIsSmall(url: string, { begin, end }: Faults): Promise<void> {
  await using place = await makeServerPlace();
  const env = { DATABASE_URL: url, MASTER_KEY: masterKey };
  const scopes = ["--scope", "files:read", "--data-dir", place.dataDir];
  const token = (await runCommand(["token", "create", ...scopes], { env })).stdout.trim();
  await using server = await startServer(place, {
    env,
    bounds: { storage: { postgres: { statementTimeoutMs: 1_000 } } },
  });
  assert.equal(await callStatus(server, token), 200);
  await begin();
  const refused = await fetch(`${server.url}/oauth/register`, registration);
  assert.deepEqual([refused.status, (await refused.json()).error], [503, "temporarily_unavailable"]);
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  const call = await postMcp(server.url, toolCall("file_list", {}), { token });
  assert.deepEqual([call.status, (await call.json()).error.code], [503, 503]);
  assert.ok(call.headers.has("retry-after"));
  const page = await fetch(`${server.url}/oauth/authorize?client_id=x`);
  assert.equal(page.status, 503);
  assert.match(await page.text(), /This server cannot answer right now/);
  for (const path of ["/health", "/health/ready"]) assert.equal(await statusOf(server.url + path), 503, path);
  assert.equal(await statusOf(`${server.url}/health/live`), 200);
  await end();
  await until("a registration", async () => await statusOf(`${server.url}/oauth/register`, registration) === 201);
  await until("a call", async () => await callStatus(server, token) === 200);
  await until("readiness", async () => await statusOf(`${server.url}/health/ready`) === 200);
  assert.equal((await server.stop()).code, 0);
  assert.match(server.stderr(), /"storage_unavailable".*"remedy":"check that the server runs/);
  assert.ok(!server.stderr().includes('"request_failed"'), server.stderr());
}

function testFaults(cluster: PostgresCluster): void {
  Deno.test("a PostgreSQL server that is away is 503 with Retry-After on every endpoint, until it is back", () =>
    requireOutageIsSmall(cluster.url, { begin: cluster.crash, end: cluster.start }));

  Deno.test("a PostgreSQL server that hangs is 503 with Retry-After on every endpoint, until it answers again", async () => {
    await using network = startNetwork(cluster.port);
    const url = new URL(cluster.url);
    url.port = String(network.port);
    await requireOutageIsSmall(url.href, { begin: network.swallow, end: network.heal });
  });
}

const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED faults of PostgreSQL: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  const cluster = await startPostgresCluster(found.programs);
  Deno.test.afterAll(async () => await cluster[Symbol.asyncDispose]());
  testFaults(cluster);
}
