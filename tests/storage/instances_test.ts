/** Several real servers on one database: what one of them is told holds at the next request to any other. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { findPostgres, startPostgresCluster } from "./postgres_cluster.ts";

const toolsList = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

async function statusAt(url: string, token: string): Promise<number> {
  const response = await postMcp(url, toolsList, { token });
  await response.body?.cancel();
  return response.status;
}

async function testInstances(database: (directory: string) => Readonly<Record<string, string>>): Promise<void> {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir, ...database(place.dataDir) };
  await using first = await startServer(place, { env });
  await using second = await startServer(place, { env });
  for (let round = 0; round < 2; round++) {
    const made = await runCommand(["token", "create", "--scope", "files:read"], { env });
    const token = made.stdout.trim();
    const id = /token (\S+), until/.exec(made.stderr)?.[1] ?? assert.fail(made.stderr);
    for (const { url } of [first, second, first, second]) assert.equal(await statusAt(url, token), 200);
    assert.equal((await runCommand(["token", "revoke", id], { env })).code, 0);
    assert.deepEqual(await Promise.all([first, second].map(({ url }) => statusAt(url, token))), [401, 401]);
  }
}

const name = (driver: string): string =>
  `instances on ${driver}: a token made beside them works at once, and revoked is refused by every next request`;

Deno.test(name("SQLite"), () => testInstances(() => ({})));

const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED instances on PostgreSQL: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(name("PostgreSQL"), async () => {
    await using cluster = await startPostgresCluster(found.programs);
    await testInstances(() => ({ DATABASE_URL: cluster.url }));
  });
}
