import assert from "node:assert/strict";
import { parseDatabaseUrl } from "../../src/storage/mod_settings.ts";
import { openPostgresStorage } from "../../src/storage/postgres_storage.ts";
import { findPostgres, type PostgresCluster, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
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

  Deno.test("audit: two instances on PostgreSQL are one picture, also when one of them is killed", async () => {
    await using place = await makeServerPlace();
    const env = { DATABASE_URL: cluster.url };
    const command = (...args: string[]) => runCommand([...args, "--data-dir", place.dataDir], { env });
    const token = (await command("token", "create", "--scope", "files:read")).stdout.trim();
    const found = async (): Promise<{ readonly target: string; readonly instance: string }[]> => {
      const { stdout, stderr } = await command("audit", "list", "--tool", "file_list", "--json");
      assert.equal(stderr, "");
      return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    };
    {
      await using first = await startServer(place, { env });
      await using second = await startServer(place, { env });
      for (const [at, { url }] of [first, second, first, second].entries()) {
        await (await postMcp(url, toolCall("file_list", { path: `at-${at}` }), { token })).text();
      }
      await until("four lines", async () => (await found()).length === 4);
      await second.stop("SIGKILL");
    }
    const lines = await found();
    assert.deepEqual(lines.map(({ target }) => target), ["at-3", "at-2", "at-1", "at-0"]);
    assert.equal(new Set(lines.map(({ instance }) => instance)).size, 2);
    const { stdout, code } = await command("audit", "verify");
    assert.match(stdout, /lines in 2 chains: none was removed/);
    assert.equal(code, 0);
  });
}
