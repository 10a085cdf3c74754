/** The stored switch, thrown by one process, in the processes that serve. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createCallSwitches } from "../../src/console/live/live.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { cleanEnvironment } from "../fixtures/forms/server_process.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

async function withSwitches(
  { dataDir }: ServerPlace,
  use: (switches: ReturnType<typeof createCallSwitches>) => Promise<void>,
): Promise<void> {
  const storage = openSqliteStorage({ path: `${dataDir}/portcullis.db`, clock: Date.now });
  const log = { write: () => {}, flush() {} };
  const switches = createCallSwitches({ storage, clock: Date.now, log }, () => {});
  try {
    await use(switches);
  } finally {
    switches.close();
    await storage.close();
  }
}

Deno.test("calls that were stopped are refused by a running server, by one that starts, and over stdio, until resumed", async () => {
  await using place = await makeServerPlace();
  const token = (await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir])).stdout
    .trim();
  const isRefused = async (url: string): Promise<boolean> => {
    const answer = await (await postMcp(url, toolCall("file_list", {}), { token })).json() as {
      readonly result: { readonly isError: boolean };
    };
    return answer.result.isError;
  };
  {
    await using server = await startServer(place);
    assert.equal(await isRefused(server.url), false);
    await withSwitches(place, (switches) => switches.stopAll("owner"));
    await until("the server to stop calls", () => isRefused(server.url));
  }
  const transport = new StdioClientTransport({
    command: Deno.execPath(),
    args: ["run", "-A", "main.ts", "stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir],
    env: cleanEnvironment(),
    stderr: "ignore",
  });
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(transport);
  assert.match(JSON.stringify(await client.callTool({ name: "file_list", arguments: {} })), /has stopped all calls/);
  {
    await using server = await startServer(place);
    assert.equal(await isRefused(server.url), true);
    await withSwitches(place, (switches) => switches.resumeAll("owner"));
    await until("the server to go on", async () => !await isRefused(server.url));
  }
  await until(
    "the process behind stdio to go on",
    async () => (await client.callTool({ name: "file_list", arguments: {} }))["isError"] === false,
  );
  await client.close();
});
