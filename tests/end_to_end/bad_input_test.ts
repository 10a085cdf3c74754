/** What bad input gets from the real server, each answer clear and without a trace of its inside. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { lastMessage, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const inOneProcess = needing("one process");

interface Row {
  readonly name: string;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  readonly anonymous?: true;
  readonly status: number;
  readonly code?: number;
  readonly message?: string | RegExp;
  readonly id?: string | number | null;
}

const request = (method: unknown, params?: unknown, id: unknown = 7): Record<string, unknown> => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const initialize = request("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "curl", version: "8" },
});
const json = { accept: "application/json" };

const rows: readonly Row[] = [
  { name: "not JSON", body: "{nope", status: 400, code: -32700, id: null },
  {
    ...{ name: "too deep", body: "[".repeat(70_000), status: 400, code: -32700, id: null },
    message: "Parse error: the body is more than 5000 levels deep",
  },
  {
    ...{ name: "too many values", body: `[${"{},".repeat(30_000)}{}]`, status: 400, code: -32700, id: null },
    message: "Parse error: the body has more than 20000 values",
  },
  {
    name: "wrong jsonrpc",
    body: { jsonrpc: "1.0", id: 3, method: "ping" },
    status: 200,
    code: -32600,
    message: "Invalid JSON-RPC version",
    id: 3,
  },
  {
    name: "unknown method",
    body: request("tools/destroy"),
    status: 200,
    code: -32601,
    message: "Method not found: tools/destroy",
    id: 7,
  },
  {
    name: "unknown tool",
    body: toolCall("rm_rf", {}, "a"),
    status: 200,
    code: -32602,
    message: "Unknown tool: rm_rf",
    id: "a",
  },
  { name: "malformed params", body: request("tools/call", []), status: 200, code: -32602, id: 7 },
  { name: "wrong content type", body: request("ping"), headers: { "content-type": "text/plain" }, status: 415 },
  { name: "body past the limit", body: request("ping", { pad: "x".repeat(2_162_700) }), status: 413 },
  { name: "foreign Origin", body: request("ping"), headers: { origin: "https://evil.example" }, status: 403 },
  { name: "Origin null", body: request("ping"), headers: { origin: "null" }, status: 403 },
  {
    name: "unsupported version",
    body: request("ping"),
    headers: { "mcp-protocol-version": "1999-01-01" },
    status: 400,
  },
  { name: "unknown method without a token", body: request("tools/destroy"), anonymous: true, status: 401 },
  { name: "not JSON without a token", body: "{nope", anonymous: true, status: 401 },
  { name: "initialize of a client that reads streams", body: initialize, anonymous: true, status: 401 },
  { name: "initialize of one that does not", body: initialize, headers: json, anonymous: true, status: 200 },
  {
    name: "a batch that hides a call behind initialize",
    body: [initialize, toolCall("file_list", {})],
    headers: json,
    anonymous: true,
    status: 401,
  },
  {
    name: "a body with two methods, decided on the one that is dispatched",
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","method":"tools/list"}',
    headers: json,
    anonymous: true,
    status: 401,
  },
  {
    name: "a bad token on a public method",
    body: initialize,
    headers: { ...json, authorization: "Bearer nope" },
    anonymous: true,
    status: 401,
  },
  { name: "a token in the URL only", body: request("tools/list"), anonymous: true, status: 401 },
];

Deno.test("bad input gets the status, code and text that the protocol gives it, and nothing of the inside", async (t) => {
  await using place = await makeServerPlace();
  const created = await runCommand([
    "token",
    "create",
    "--scope",
    "files:read files:write",
    "--data-dir",
    place.dataDir,
  ]);
  const token = created.stdout.trim();
  await using server = await startServer(place);
  for (const row of rows) {
    await t.step(row.name, async () => {
      const response = await postMcp(server.url, row.body, {
        ...(row.anonymous ? {} : { token }),
        ...(row.headers === undefined ? {} : { headers: row.headers }),
      });
      const text = await response.text();
      assert.equal(response.status, row.status, text);
      const { id, error }: { id?: unknown; error?: { code: number; message: string } } = text === ""
        ? {}
        : lastMessage(text);
      if (row.code !== undefined) assert.equal(error?.code, row.code);
      if (row.message !== undefined) assert.equal(error?.message, row.message);
      if (row.id !== undefined) assert.equal(id, row.id);
      // What follows a body that was not read to its end is no request (RFC 9110 §15.5.14).
      if (row.status === 413) assert.match(response.headers.get("connection") ?? "", /^close\b/);
      if (row.status === 401) {
        assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer .*resource_metadata="http/);
      }
      assert.ok(
        !/\bat \S+:\d+|node_modules|\/src\/|file:\/\//.test(text) && !text.includes(place.dataDir) &&
          !text.includes(place.workspaceDir),
        text,
      );
    });
  }
  await t.step("a Host that the attacker's DNS could serve", async () => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(server.url).port) });
    await connection.write(
      new TextEncoder().encode("GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
    );
    const answer = await new Response(connection.readable).text();
    assert.match(answer, /^HTTP\/1\.1 403 /);
  });
});

inOneProcess.test("the 60 calls a minute of the guide are a setting; the call after the last gets 429 with Retry-After", async () => {
  await using place = await makeServerPlace();
  const { stdout } = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  await using server = await startServer(place, { env: { MCP_RATE_LIMIT: "60" } });
  const began = performance.now();
  let admitted = 0;
  let refused: Response | null = null;
  while (refused === null && admitted < 1_000) {
    const response = await postMcp(server.url, toolCall("file_list", {}), { token: stdout.trim() });
    await response.body?.cancel();
    if (response.status === 200) admitted++;
    else refused = response;
  }
  assert.equal(refused?.status, 429);
  assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  const givenBack = (performance.now() - began) / 1_000; // one call a second
  assert.ok(admitted >= 60 && admitted <= 61 + givenBack, `${admitted} calls, ${givenBack} given back`);
});

inOneProcess.test("OAuth endpoints answer 429 with Retry-After to an address that keeps failing, and let others of it through before", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OAUTH_RATE_LIMIT: "10" } });
  const guess = (): Promise<Response> =>
    fetch(`${server.url}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "authorization_code", code: "x", client_id: "nobody" }),
    });
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 12; attempt++) {
    const response = await guess();
    statuses.push(response.status);
    if (response.status === 429) assert.match(response.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    await response.body?.cancel();
  }
  assert.equal(statuses[0], 401);
  assert.equal(statuses.at(-1), 429);
});
