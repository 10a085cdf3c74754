import assert from "node:assert/strict";
import { acceptsEventStream } from "../../src/http/mcp_endpoint.ts";
import { specProfile } from "../../src/mcp/revision.ts";
import { createHarness, rpc, toolCall } from "./harness.ts";

const initialize = (params: unknown = {}) => rpc("initialize", params);
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
const noToken = { authorization: null };
const sse = { accept: "application/json, text/event-stream" };

Deno.test("initialize answers the version asked for, and our latest legacy one to any other", async () => {
  const { post } = createHarness();
  const cases: [unknown, string][] = [
    ["2024-11-05", "2024-11-05"],
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["1999-01-01", "2025-11-25"],
    [7, "2025-11-25"],
    [undefined, "2025-11-25"],
  ];
  for (const [asked, answered] of cases) {
    const response = await post(initialize({ protocolVersion: asked, capabilities: {} }), sse);
    assert.equal(response.status, 200);
    const { result } = await response.json();
    assert.equal(result.protocolVersion, answered);
    assert.deepEqual(result.capabilities, { tools: { listChanged: true }, logging: {} });
    assert.equal(result.serverInfo.name, "portcullis");
    assert.equal(result.serverInfo.version, "0.0.0");
  }
});

Deno.test("initialize survives a client that says nothing of itself and logs one that does", async () => {
  const { post, logged } = createHarness();
  for (const params of [undefined, null, {}, { clientInfo: null }, { clientInfo: { name: 4 } }, [1]]) {
    assert.equal((await post(initialize(params))).status, 200);
  }
  await post(initialize({ protocolVersion: "2025-06-18", clientInfo: { name: "Servicenow", version: "3" } }));
  assert.deepEqual(logged.at(-1), {
    event: "client_initialized",
    fields: {
      requestId: "r7",
      subject: "user-1",
      client: "Servicenow",
      clientVersion: "3",
      asked: "2025-06-18",
      answered: "2025-06-18",
    },
  });
});

Deno.test("the handshake is public to callers that read JSON alone, or whose name matches", async () => {
  const { post } = createHarness();
  const named = initialize({ clientInfo: { name: "ServiceNow MCP" } });
  const json = { accept: "application/json" };
  const misreading = ["Anthropic", "anthropic/toolbox"].map((name) => initialize({ clientInfo: { name } }));
  const cases: [unknown, Record<string, string>, number][] = [
    [initialize(), json, 200],
    [initialize(), { accept: "Application/JSON;charset=utf-8" }, 200],
    [initialize(), { accept: "application/json, text/event-stream;q=0" }, 200],
    [initialize({ clientInfo: { name: "anthropical" } }), json, 200],
    [initialize(), {}, 401],
    [initialize(), { accept: "" }, 401],
    [initialize(), { accept: "*/*" }, 401],
    [initialize(), { accept: "application/*" }, 401],
    [initialize(), { accept: "application/json, text/plain, */*" }, 401],
    [initialize(), { accept: "text/html" }, 401],
    [initialize(), { accept: "text/event-stream" }, 401],
    [initialize(), sse, 401],
    ...misreading.map((body) => [body, json, 401] as [unknown, Record<string, string>, number]),
    [named, sse, 200],
    [named, { accept: "*/*" }, 200],
    [named, {}, 200],
    [initialized, json, 200],
    [initialized, { accept: "*/*" }, 200],
    [initialized, sse, 200],
    [rpc("tools/list"), {}, 401],
    [rpc("ping"), {}, 401],
    [rpc("nope"), {}, 401],
    [[initialize()], {}, 401],
    ["{", {}, 401],
    ["null", {}, 401],
    [{ ...initialize(), jsonrpc: "1.0" }, {}, 401],
    [{ jsonrpc: "2.0", method: "initialize" }, {}, 401],
    [initialize({ clientInfo: { name: "x".repeat(2_000) } }), {}, 401], // past the public limit
  ];
  for (const [body, headers, status] of cases) {
    const response = await post(body, { ...noToken, ...headers });
    assert.equal(response.status, status, JSON.stringify([body, headers]));
    if (status !== 401) continue;
    assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer resource_metadata=/);
  }
});

Deno.test("on loopback, the handshake is public to callers that accept anything, as curl does", async () => {
  const { post } = createHarness({ isOnLoopback: true });
  for (const accept of [null, "*/*", "application/*", "application/json, text/plain, */*", "application/json"]) {
    assert.equal((await post(initialize(), { ...noToken, accept })).status, 200, String(accept));
    const misread = await post(initialize({ clientInfo: { name: "Anthropic" } }), { ...noToken, accept });
    assert.equal(misread.status, 401, String(accept));
    await misread.body?.cancel();
  }
  for (const accept of ["text/html", "text/event-stream", "*/*, text/event-stream"]) {
    const refused = await post(initialize(), { ...noToken, accept });
    assert.equal(refused.status, 401, accept);
    await refused.body?.cancel();
  }
});

Deno.test("the handshake can be public to all, or to nobody", async () => {
  const always = createHarness({ publicInitialize: "always" });
  assert.equal((await always.post(initialize(), { ...noToken, ...sse })).status, 200);
  assert.equal((await always.post(rpc("tools/list"), noToken)).status, 401);
  const never = createHarness({ publicInitialize: "never" });
  assert.equal((await never.post(initialize(), noToken)).status, 401);
});

Deno.test("the public handshake answers nothing but the opening, whatever a transport lets through", async () => {
  const { mcp, audit } = createHarness();
  const exchange = { requestId: "r", profile: specProfile, hasHeaders: true, header: () => null };
  const bodies = [
    toolCall("echo", { text: "hello" }),
    rpc("tools/list"),
    [initialize()],
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
    null,
    "initialize",
  ];
  for (const body of bodies) {
    const answer = await mcp.handlePublic(body, exchange);
    assert.ok(answer.kind === "json" && answer.status === 401, JSON.stringify(body));
  }
  assert.deepEqual(audit, []);
  const opened = await mcp.handlePublic(initialize({ protocolVersion: "2025-06-18" }), exchange);
  assert.ok(opened.kind === "json" && opened.status === 200 && opened.sessionId === undefined);
  assert.deepEqual(audit.map(({ subject, method, outcome }) => [subject, method, outcome]), [[
    null,
    "initialize",
    "ok",
  ]]);
});

Deno.test("a token that is sent must be valid, even for the handshake", async () => {
  const { post } = createHarness();
  const response = await post(initialize(), { authorization: "Bearer wrong" });
  assert.equal(response.status, 401);
  assert.equal(response.headers.get("www-authenticate"), `Bearer error="invalid_token"`);
});

Deno.test("notifications/initialized gets an empty answer: 200 for ServiceNow, 202 by the specification", async () => {
  const { post } = createHarness();
  for (const [headers, status] of [[noToken, 200], [{}, 202]] as const) {
    const response = await post(initialized, headers);
    assert.equal(response.status, status);
    assert.equal(response.headers.get("content-type"), null);
    assert.equal(await response.text(), "");
  }
});

Deno.test("only an explicit text/event-stream counts as accepting event streams (RFC 9110 §12.5.1)", () => {
  const cases: [string | null, boolean][] = [
    [null, false],
    ["*/*", false],
    ["text/*", false],
    ["application/json", false],
    ["text/event-stream", true],
    ["application/json, Text/Event-Stream;q=0.5", true],
    ["application/json, text/event-stream;q=0", false],
    ["application/json, text/event-stream ; q=0.000", false],
    ["text/event-streams", false],
  ];
  for (const [accept, accepted] of cases) assert.equal(acceptsEventStream(accept), accepted, String(accept));
});
