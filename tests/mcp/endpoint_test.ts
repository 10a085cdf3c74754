import assert from "node:assert/strict";
import { readEvents } from "./event_reader.ts";
import { createHarness, postRequest, rpc, toolCall } from "./harness.ts";

Deno.test("the endpoint refuses what is no JSON-RPC request, with the id echoed where there is one", async () => {
  const { post } = createHarness();
  const invalidVersion = { code: -32600, message: "Invalid JSON-RPC version" };
  const invalidRequest = { code: -32600, message: "Invalid Request" };
  const cases: [unknown, number, unknown, unknown][] = [
    [{ id: 7, method: "ping" }, 200, 7, invalidVersion],
    [{ jsonrpc: "1.0", id: "a", method: "ping" }, 200, "a", invalidVersion],
    [{ jsonrpc: 2.0, id: 7, method: "nope" }, 200, 7, invalidVersion],
    ["42", 200, null, invalidVersion],
    ["null", 200, null, invalidVersion],
    ['"text"', 200, null, invalidVersion],
    [{ jsonrpc: "2.0", id: 7 }, 200, 7, invalidRequest],
    [{ jsonrpc: "2.0", id: 7, method: 5 }, 200, 7, invalidRequest],
    [{ jsonrpc: "2.0", id: null, method: "ping" }, 200, null, invalidRequest],
    [{ jsonrpc: "2.0", id: {}, method: "ping" }, 200, null, invalidRequest],
    ['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 200, null, invalidRequest],
    [rpc("nope", {}, 3), 200, 3, { code: -32601, message: "Method not found: nope" }],
    [rpc("constructor", {}, 3), 200, 3, { code: -32601, message: "Method not found: constructor" }],
    ["{", 400, null, { code: -32700, message: "Parse error: the body is not JSON" }],
    ["", 400, null, { code: -32700, message: "Parse error: the body is not JSON" }],
  ];
  for (const [body, status, id, error] of cases) {
    const response = await post(body);
    assert.equal(response.status, status, JSON.stringify(body));
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), { jsonrpc: "2.0", id, error });
  }
});

Deno.test("the endpoint refuses a body that is not UTF-8 as no JSON, and never guesses what it said (RFC 8259 §8.1)", async () => {
  const { endpoint } = createHarness();
  const call = new TextEncoder().encode(JSON.stringify(toolCall("echo", { text: "caf?" })));
  const body = call.map((byte) => byte === 0x3f ? 0xe9 : byte); // Latin-1
  for (const framing of [{ "content-length": String(body.byteLength) }, {}]) {
    const headers = { "content-type": "application/json", authorization: "Bearer all-scopes", ...framing };
    const response = await endpoint(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }), {
      address: "192.0.2.1",
    });
    assert.equal(response.status, 400);
    const { error } = await response.json();
    assert.deepEqual(error, { code: -32700, message: "Parse error: the body is not UTF-8" });
  }
});

Deno.test("the endpoint answers any Accept, and in JSON but to those who read only event streams", async () => {
  const { post } = createHarness();
  for (const accept of ["application/json", "text/event-stream, */*", "*/*", "text/html", "", null]) {
    const response = await post(rpc("ping"), { accept });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { jsonrpc: "2.0", id: 1, result: {} });
  }
  const response = await post(rpc("ping"), { accept: "text/event-stream" });
  const [event] = await readEvents(response, { method: "ping", isModern: false }).rest();
  assert.deepEqual(event?.message, { jsonrpc: "2.0", id: 1, result: {} });
});

Deno.test("the endpoint takes JSON only, in bodies up to its limit", async () => {
  const { post, endpoint } = createHarness();
  assert.equal((await post(rpc("ping"), { "content-type": "application/json; charset=utf-8" })).status, 200);
  assert.equal((await post(rpc("ping"), { "content-type": "text/plain" })).status, 415);
  assert.equal((await post(rpc("ping"), { "content-type": "application/jsonx" })).status, 415);
  assert.equal((await post(rpc("ping"), { "content-type": null })).status, 415);
  const big = rpc("ping", { padding: "x".repeat(10_000) });
  assert.equal((await post(big)).status, 413); // counted as it streams in
  assert.equal((await endpoint(postRequest(big, { "content-length": "10001" }), { address: "" })).status, 413);
});

Deno.test("the endpoint accepts notifications and posted responses without a body", async () => {
  const { post } = createHarness();
  const bodies = [
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
    { jsonrpc: "2.0", method: "anything" },
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } },
  ];
  for (const body of bodies) {
    const response = await post(body);
    assert.equal(response.status, 202);
    assert.equal(await response.text(), "");
  }
});

Deno.test("the endpoint refuses an unsupported MCP-Protocol-Version (MCP 2025-06-18, basic/transports)", async () => {
  const { post } = createHarness();
  const response = await post(rpc("ping", undefined, 5), { "mcp-protocol-version": "1999-01-01" });
  assert.equal(response.status, 400);
  assert.deepEqual(await response.json(), {
    jsonrpc: "2.0",
    id: 5,
    error: {
      code: -32022,
      message: "Unsupported protocol version",
      data: {
        supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        requested: "1999-01-01",
      },
    },
  });
});

Deno.test("other verbs than POST need a token, and a session, or are 405 with Allow", async () => {
  const { endpoint } = createHarness();
  for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
    const url = "http://127.0.0.1/mcp";
    const refused = await endpoint(new Request(url, { method }), { address: "" });
    assert.equal(refused.status, 401);
    const headers = { authorization: "Bearer all-scopes" };
    const response = await endpoint(new Request(url, { method, headers }), { address: "" });
    assert.equal(response.status, 405);
    assert.match(response.headers.get("allow") ?? "", /^POST/);
  }
});

Deno.test("the endpoint tells nothing when its own parts fail", async () => {
  const { post, logged } = createHarness({
    authenticate: () => {
      throw new Error("database at /var/lib is gone");
    },
  });
  const response = await post(rpc("ping"));
  assert.equal(response.status, 500);
  assert.deepEqual((await response.json()).error, { code: -32603, message: "Internal server error" });
  assert.match(String(logged[0]?.fields?.["error"]), /database/);
});

Deno.test("a failure inside a request is 500 and -32603 without internals", async () => {
  const { post, audit } = createHarness({
    admit: () => {
      throw new Error("lost at /var/lib");
    },
  });
  const response = await post(toolCall("echo", { text: "x" }, 4));
  assert.equal(response.status, 500);
  const error = { code: -32603, message: "Internal server error" };
  assert.deepEqual(await response.json(), { jsonrpc: "2.0", id: 4, error });
  assert.equal(audit[0]?.outcome, "internal_error");
});
