import assert from "node:assert/strict";
import { createHarness, rpc, toolCall } from "./harness.ts";

const notification = { jsonrpc: "2.0", method: "notifications/initialized" };

Deno.test("2025-03-26 answers a batch with an array of its responses, and one without requests with 202", async () => {
  const { post } = createHarness();
  for (const headers of [{}, { "mcp-protocol-version": "2025-03-26" }]) {
    const response = await post(
      [rpc("ping", undefined, 1), notification, toolCall("echo", { text: "hi" }, 2), 7],
      headers,
    );
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), [
      { jsonrpc: "2.0", id: 1, result: {} },
      {
        jsonrpc: "2.0",
        id: 2,
        result: { content: [{ type: "text", text: "hi" }], structuredContent: {}, isError: false },
      },
      { jsonrpc: "2.0", id: null, error: { code: -32600, message: "Invalid JSON-RPC version" } },
    ]);
    assert.equal((await post([notification], headers)).status, 202);
  }
});

Deno.test("later revisions refuse batches, and 2025-03-26 those that are empty, long, or initialize", async () => {
  const { post } = createHarness();
  const cases: [unknown[], string | null, RegExp][] = [
    [[rpc("ping")], "2025-06-18", /has no batches/],
    [[rpc("ping")], "2025-11-25", /has no batches/],
    [[rpc("ping")], "2026-07-28", /travel alone/],
    [[rpc("ping"), rpc("ping", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } })], null, /alone/],
    [[rpc("ping", { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } })], "2099-01-01", /alone/],
    [[], null, /must not be empty/],
    [Array.from({ length: 6 }, () => rpc("ping")), null, /not have more than 5/],
    [[rpc("ping"), rpc("initialize", {})], null, /initialize must not/],
  ];
  for (const [batch, version, message] of cases) {
    const response = await post(batch, { "mcp-protocol-version": version });
    assert.equal(response.status, 400);
    const { error } = await response.json();
    assert.equal(error.code, -32600);
    assert.match(error.message, message);
  }
});

Deno.test("a batch with a call that lacks scopes is refused whole, before anything runs", async () => {
  const { post, audit } = createHarness();
  const batch = [toolCall("echo", { text: "hi" }), toolCall("store")];
  const response = await post(batch, { authorization: "Bearer read-only" });
  assert.equal(response.status, 403);
  assert.match(response.headers.get("www-authenticate") ?? "", /scope="files:read files:write"/);
  assert.deepEqual(audit.map(({ outcome }) => outcome), ["insufficient_scope"]);
});
