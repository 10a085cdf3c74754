/** COMPATIBILITY with the started program: a session keeps its form over restarts, and the setting decides. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

Deno.test("a session that asks for structured content gets it, also after a restart; COMPATIBILITY changes that for all", async () => {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir };
  const created = await runCommand(["token", "create", "--scope", "files:read", "--scope", "files:write"], { env });
  const token = created.stdout.trim();
  const post = (url: string, message: unknown, session?: string): Promise<Response> => {
    const headers = session === undefined ? {} : { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
    return postMcp(url, message, { token, headers });
  };
  const hasStructured = async (url: string, session?: string): Promise<boolean> => {
    const { result } = await (await post(url, toolCall("file_list", {}), session)).json();
    assert.equal(result.isError, false);
    return "structuredContent" in result;
  };
  let session = "";
  {
    await using server = await startServer(place, { env: { ...env, COMPATIBILITY: "auto" } });
    const clientInfo = { name: "a program", version: "1" };
    const capabilities = { experimental: { structuredContent: {} } };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    const opened = await post(server.url, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    await opened.body?.cancel();
    session = opened.headers.get("mcp-session-id") ?? assert.fail("no session");
    assert.deepEqual([await hasStructured(server.url, session), await hasStructured(server.url)], [true, false]);
  }
  for (const [setting, inSession, alone] of [["auto", true, false], ["structured", true, true], ["spec", true, true]]) {
    await using server = await startServer(place, { env: { ...env, COMPATIBILITY: String(setting) } });
    assert.deepEqual([await hasStructured(server.url, session), await hasStructured(server.url)], [inSession, alone]);
  }
});
