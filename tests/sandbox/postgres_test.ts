/** The server behind the wall with its entries in PostgreSQL, to which it connects again and again. */
import assert from "node:assert/strict";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const found = findPostgres();

Deno.test({
  ...skippedUnless(
    !("missing" in found),
    "missing" in found ? found.missing : "",
    "the wall lets the server reach PostgreSQL, also after a loss, and its driver find no environment",
  ),
  async fn() {
    if ("missing" in found) return;
    await using cluster = await startPostgresCluster(found.programs);
    await using place = await makeServerPlace();
    const env = { DATABASE_URL: cluster.url };
    const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir], {
      env,
    });
    assert.equal(created.code, 0, created.stderr);
    await using server = await startServer(place, { env });
    const status = async (): Promise<number> => {
      const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const response = await postMcp(server.url, message, { token: created.stdout.trim() });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await status(), 200);
    await cluster.crash();
    await cluster.start();
    assert.equal(await status(), 200);
  },
});
