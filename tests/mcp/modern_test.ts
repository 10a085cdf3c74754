/** 2026-07-28: the order in which eras are told apart, the envelope, the headers, the statuses. */
import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import type { Exchange } from "../../src/mcp/call.ts";
import { specProfile } from "../../src/mcp/revision.ts";
import { createHarness, modernVersion, principalWith, rpc } from "./harness.ts";

const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const envelope = { [versionKey]: modernVersion, [capabilitiesKey]: {} };
const modernHeader = { "mcp-protocol-version": modernVersion };

Deno.test("server/discover tells versions, capabilities and identity, with a caching hint", async () => {
  const response = await createHarness().modern("server/discover");
  assert.equal(response.status, 200);
  const { result } = await response.json();
  assert.deepEqual(result.supportedVersions, [modernVersion]);
  assert.deepEqual(result.capabilities, {
    tools: { listChanged: true },
    logging: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  });
  assert.deepEqual(result._meta["io.modelcontextprotocol/serverInfo"].name, "portcullis");
  assert.equal(result.cacheScope, "private"); // its instructions follow from the token's scopes
});

Deno.test("every modern result has a resultType and says who answers; lists say how long they keep", async () => {
  const harness = createHarness();
  const { result } = await (await harness.modern("tools/call", { name: "echo", arguments: { text: "hi" } })).json();
  assert.equal(result.resultType, "complete");
  assert.deepEqual(result._meta["io.modelcontextprotocol/serverInfo"], {
    name: "portcullis",
    title: "Portcullis",
    version: "0.0.0",
  });
  assert.deepEqual(result.content, [{ type: "text", text: "hi" }]);
  const list = (await (await harness.modern("tools/list")).json()).result;
  assert.ok(list.ttlMs >= 0);
  assert.equal(list.cacheScope, "private");
});

Deno.test("a modern request without a whole envelope is 400 and -32602, with its id", async () => {
  const { post } = createHarness();
  const cases: unknown[] = [
    undefined,
    {},
    { [versionKey]: modernVersion },
    { [capabilitiesKey]: {} },
    { ...envelope, [capabilitiesKey]: [] },
    { ...envelope, [versionKey]: 7 },
    { ...envelope, "io.modelcontextprotocol/clientInfo": { name: "x" } },
    { ...envelope, "io.modelcontextprotocol/logLevel": "loud" },
    { ...envelope, progressToken: {} },
  ];
  for (const _meta of cases) {
    const params = _meta === undefined ? undefined : { _meta };
    const response = await post(rpc("tools/list", params, 8), { ...modernHeader, "mcp-method": "tools/list" });
    assert.equal(response.status, 400, JSON.stringify(_meta));
    const { id, error } = await response.json();
    assert.deepEqual([id, error.code], [8, -32602], JSON.stringify(_meta));
  }
});

Deno.test("headers that disagree with the body are 400 and -32020, and outrank an unknown version (SEP-2243)", async () => {
  const harness = createHarness();
  const call = { name: "echo", arguments: { text: "hi" } };
  const cases: [Record<string, string | null>, number][] = [
    [{}, 200],
    [{ "mcp-protocol-version": null }, 400],
    [{ "mcp-protocol-version": "2025-11-25" }, 400],
    [{ "mcp-method": null }, 400],
    [{ "mcp-method": "TOOLS/CALL" }, 400],
    [{ "mcp-name": null }, 400],
    [{ "mcp-name": "measure" }, 400],
    [{ "mcp-name": "=?base64?ZWNobw==?=" }, 200],
    [{ "mcp-name": "=?base64?ZWNobw?=" }, 400],
    [{ "mcp-name": "=?base64?/w==?=" }, 400], // no UTF-8
    [{ "mcp-name": "=?BASE64?ZWNobw==?=" }, 400], // the form is case-sensitive
  ];
  for (const [headers, status] of cases) {
    const response = await harness.modern("tools/call", call, { headers });
    assert.equal(response.status, status, JSON.stringify(headers));
    const { error } = await response.json();
    if (status === 400) assert.equal(error.code, -32020);
  }
  const mismatch = await harness.modern("tools/list", {}, { meta: { [versionKey]: "v999" } });
  assert.equal((await mismatch.json()).error.code, -32020);
});

Deno.test("an unknown version in header and body is 400 and -32022, with those that are spoken", async () => {
  const harness = createHarness();
  const options = { meta: { [versionKey]: "v999" }, headers: { "mcp-protocol-version": "v999" } };
  const response = await harness.modern("tools/list", {}, options);
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.code, -32022);
  assert.deepEqual(error.data, { supported: [modernVersion], requested: "v999" });
});

Deno.test("methods that the modern era lacks are 404 and -32601, and its own do not exist before it", async () => {
  const harness = createHarness();
  const gone = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", "nope"];
  for (const method of gone) {
    const response = await harness.modern(method);
    assert.equal(response.status, 404, method);
    assert.deepEqual((await response.json()).error, { code: -32601, message: `Method not found: ${method}` });
  }
  for (const method of ["server/discover", "subscriptions/listen", "tasks/get"]) {
    const response = await harness.post(rpc(method, {}));
    assert.equal(response.status, 200);
    assert.equal((await response.json()).error.code, -32601);
  }
});

Deno.test("the body tells the era: batches, handshakes and notifications with modern marks", async () => {
  const { post } = createHarness();
  const cases: [unknown, Record<string, string>, number, number | undefined][] = [
    [[rpc("tools/list", { _meta: envelope })], {}, 400, -32600],
    [rpc("initialize", { protocolVersion: "2025-11-25" }), modernHeader, 400, -32020],
    [rpc("initialize", { _meta: envelope }), { ...modernHeader, "mcp-method": "initialize" }, 404, -32601],
    [rpc("initialize", { _meta: { [versionKey]: 7 } }), {}, 200, undefined], // a broken claim does not change a handshake
    [{ jsonrpc: "2.0", method: "notifications/cancelled" }, modernHeader, 202, undefined],
    [{ jsonrpc: "2.0", method: "x", params: { _meta: { [versionKey]: "v1" } } }, modernHeader, 400, -32020],
    [{ jsonrpc: "2.0", id: 1, result: {} }, {}, 202, undefined],
    [
      { jsonrpc: "1.0", id: 1, method: "tools/list", params: { _meta: envelope } },
      {
        ...modernHeader,
        "mcp-method": "tools/list",
      },
      400,
      -32600,
    ],
  ];
  for (const [body, headers, status, code] of cases) {
    const response = await post(body, headers);
    assert.equal(response.status, status, JSON.stringify(body));
    const text = await response.text();
    if (code !== undefined) assert.equal(JSON.parse(text).error.code, code);
  }
});

Deno.test("a modern request ignores session ids and never gets one", async () => {
  const response = await createHarness().modern("tools/list", {}, { headers: { "mcp-session-id": "nonsense" } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("mcp-session-id"), null);
  await response.body?.cancel();
});

Deno.test("parameters with x-mcp-header must match their headers, in the modern era only (SEP-2243)", async () => {
  const tools = createToolRegistry([defineTool({
    name: "route",
    title: "Route",
    description: "Has parameters that gateways see.",
    scopes: [],
    annotations: {},
    input: z.object({
      region: z.string().optional().describe("Where").meta({ "x-mcp-header": "Region" }),
      level: z.int().optional().describe("How much").meta({ "x-mcp-header": "Level" }),
      exact: z.boolean().optional().describe("Whether").meta({ "x-mcp-header": "Exact" }),
    }),
    run: () => ({ ok: true, content: [{ type: "text", text: "routed" }] }),
  })]);
  const harness = createHarness({ tools });
  const cases: [Record<string, unknown>, Record<string, string>, number][] = [
    [{}, {}, 200],
    [{ region: null }, {}, 200],
    [{ region: "eu" }, { "mcp-param-region": "eu" }, 200],
    [{ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8=?=" }, 200],
    [{ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8?=" }, 400],
    [{ region: "=?base64?x" }, { "mcp-param-region": "=?base64?x" }, 200], // no suffix: literal
    [{ region: "eu" }, {}, 400],
    [{ region: "eu" }, { "mcp-param-region": "us" }, 400],
    [{ level: 42 }, { "mcp-param-level": "42.0" }, 200],
    [{ level: 42 }, { "mcp-param-level": "0x2a" }, 400],
    [{ exact: true }, { "mcp-param-exact": "true" }, 200],
    [{ exact: true }, { "mcp-param-exact": "TRUE" }, 400],
  ];
  for (const [args, headers, status] of cases) {
    const response = await harness.modern("tools/call", { name: "route", arguments: args }, { headers });
    assert.equal(response.status, status, JSON.stringify([args, headers]));
    const { error } = await response.json();
    if (status === 400) assert.equal(error.code, -32020);
  }
  const legacy = await harness.post(rpc("tools/call", { name: "route", arguments: { region: "eu" } }));
  assert.equal((await legacy.json()).result.isError, false);
});

Deno.test("a transport without headers has nothing that could disagree with the body (stdio)", async () => {
  const { mcp } = createHarness();
  const exchange: Exchange = {
    requestId: "r",
    principal: principalWith([]),
    profile: specProfile,
    acceptsStream: true,
    hasHeaders: false,
    canComeBack: false,
    header: () => null,
    disconnected: new AbortController().signal,
  };
  const answer = await mcp.handle(rpc("server/discover", { _meta: envelope }), exchange);
  assert.ok(answer.kind === "json" && answer.body.includes('"supportedVersions"'));
  const unknown = await mcp.handle(rpc("tools/list", { _meta: { ...envelope, [versionKey]: "v9" } }), exchange);
  assert.ok(unknown.kind === "json" && unknown.body.includes("-32022"));
});
