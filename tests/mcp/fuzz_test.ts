/** Whatever is posted, the endpoint answers: no failure of its own, no hang, and the id that came in. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createHarness, harnessTools, modernVersion } from "./harness.ts";

const methods = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "server/discover",
  "subscriptions/listen",
  "tasks/get",
  "tasks/cancel",
  "logging/setLevel",
  "notifications/initialized",
  "notifications/cancelled",
  "prompts/get",
  "__proto__",
];
const keys = [
  "jsonrpc",
  "id",
  "method",
  "params",
  "name",
  "arguments",
  "cursor",
  "_meta",
  "uri",
  "taskId",
  "level",
  "notifications",
  "requestState",
  "inputResponses",
  "progressToken",
  "__proto__",
  "io.modelcontextprotocol/protocolVersion",
  "io.modelcontextprotocol/clientCapabilities",
];

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    "2.0",
    "1.0",
    null,
    true,
    "",
    "echo",
    "measure",
    "debug",
    modernVersion,
    "2025-06-18",
    ...methods,
  ),
  fc.string({ maxLength: 20 }),
  fc.integer(),
  fc.double(),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie("value"), { maxKeys: 5 }),
  ),
}));
const envelope = fc.record({
  "io.modelcontextprotocol/protocolVersion": fc.constantFrom(modernVersion, "v9"),
  "io.modelcontextprotocol/clientCapabilities": fc.constantFrom({}, {
    extensions: { "io.modelcontextprotocol/tasks": {} },
  }),
  progressToken: value,
}, { requiredKeys: [] });
const message = fc.record({
  jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "1.0", 2),
  id: fc.oneof(fc.integer(), fc.string({ maxLength: 8 }), value),
  method: fc.oneof(fc.constantFrom(...methods), value),
  params: fc.oneof(
    value,
    fc.record({ name: fc.constantFrom("echo", "measure", "store", "nope"), arguments: value, _meta: envelope }, {
      requiredKeys: [],
    }),
  ),
}, { requiredKeys: ["jsonrpc"] });
const text = fc.oneof(
  { weight: 6, arbitrary: message.map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }).map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: value.map((each) => JSON.stringify(each) ?? "") },
  { weight: 1, arbitrary: fc.tuple(message, fc.nat(40)).map(([each, cut]) => JSON.stringify(each).slice(0, -cut)) },
  { weight: 1, arbitrary: message.map((each) => JSON.stringify(each).replace("{", '{"id":99,"method":"ping",')) },
  { weight: 1, arbitrary: fc.string() },
);
const headers = fc.record({
  "mcp-protocol-version": fc.constantFrom(modernVersion, "2025-11-25", "2025-06-18", "2025-03-26", "", "x"),
  "mcp-method": fc.constantFrom(...methods, "=?base64?!?="),
  "mcp-name": fc.constantFrom("echo", "=?base64?ZWNobw==?=", "=?base64??=", "="),
  "mcp-session-id": fc.constantFrom("x", "", "AAAA"),
  "last-event-id": fc.constantFrom("x", "a.1", ".", ""),
  "content-type": fc.constantFrom("application/json", "application/json; charset=utf-8"),
  accept: fc.constantFrom("application/json", "text/event-stream", "*/*", "", ";q=0,,"),
  authorization: fc.constantFrom("Bearer all-scopes", "Bearer all-scopes", "Bearer read-only", "Bearer wrong"),
}, { requiredKeys: ["content-type", "authorization"] });

/** The id that must come back: of a single message, when it is one that can be echoed. */
function expectedId(body: string): string | number | undefined {
  const parsed: unknown = (() => {
    try {
      return JSON.parse(body);
    } catch {
      return undefined;
    }
  })();
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  const { id } = parsed as { readonly id?: unknown };
  return typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : undefined;
}

const runs = Number(Deno.env.get("FUZZ_RUNS") ?? 10_000);

Deno.test("any body with any headers gets an answer: no 5xx, no hang, the id echoed", async () => {
  const quick = harnessTools().filter(({ name }) => name !== "wait" && name !== "crash");
  const harness = createHarness({ tools: createToolRegistry(quick), limits: { beginAnswerAfterMs: 60_000 } });
  await fc.assert(
    fc.asyncProperty(text, headers, async (body, given) => {
      const request = new Request("http://host/mcp", { method: "POST", headers: given, body });
      const response = await harness.endpoint(request, { address: "192.0.2.1" });
      assert.ok(response.status < 500, `${response.status} ${await response.clone().text()}`);
      if (response.headers.get("content-type") === "text/event-stream") {
        await response.body?.cancel();
        return;
      }
      const answer = await response.text();
      if (answer === "" || response.status === 401) return;
      const id = expectedId(body);
      if (id !== undefined) assert.deepEqual(JSON.parse(answer).id, id, body);
    }),
    { numRuns: runs },
  );
  await harness.mcp.close();
});

Deno.test("without a token nothing but a handshake is ever answered, on the same parse that is dispatched", async () => {
  const harness = createHarness({ publicInitialize: "always" });
  await fc.assert(
    fc.asyncProperty(text, async (body) => {
      const request = new Request("http://host/mcp", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      const response = await harness.endpoint(request, { address: "192.0.2.1" });
      const answer = await response.text();
      if (response.status === 401) return;
      assert.ok(
        response.status === 200 || response.status === 404 || response.status === 400,
        `${response.status} ${body}`,
      );
      if (answer !== "" && response.status === 200) assert.ok("serverInfo" in JSON.parse(answer).result, body);
    }),
    { numRuns: Math.ceil(runs / 4) },
  );
  await harness.mcp.close();
});

Deno.test("GET and DELETE with any headers get an answer, and a session's own works throughout", async () => {
  const harness = createHarness();
  const session = await harness.openSession();
  const method = fc.constantFrom("GET", "DELETE", "PUT", "PATCH");
  await fc.assert(
    fc.asyncProperty(method, headers, fc.boolean(), async (verb, given, own) => {
      const inSession = own && verb !== "DELETE" ? session : {};
      const request = new Request("http://host/mcp", { method: verb, headers: { ...given, ...inSession } });
      const response = await harness.endpoint(request, { address: "192.0.2.1" });
      assert.ok([200, 401, 404, 405].includes(response.status), `${response.status}`);
      await response.body?.cancel();
    }),
    { numRuns: Math.ceil(runs / 10) },
  );
  assert.equal((await harness.post({ jsonrpc: "2.0", id: 1, method: "ping" }, session)).status, 200);
  await harness.mcp.close();
});

Deno.test("a tool gets what its schema promises, whatever the arguments are", async () => {
  const shape = z.object({ a: z.string().max(5), b: z.int().optional(), c: z.array(z.boolean()).default([]) });
  let calls = 0;
  const strict = defineTool({
    name: "strict",
    title: "Strict",
    description: "Checks what it gets.",
    scopes: [],
    annotations: {},
    input: shape,
    run: (input) => {
      calls += 1;
      assert.ok(shape.safeParse(input).success);
      return { ok: true, content: [] };
    },
  });
  const harness = createHarness({ tools: createToolRegistry([strict]) });
  const input = fc.oneof(
    value,
    fc.record({ a: fc.oneof(fc.string({ maxLength: 7 }), value), b: value, c: value }, { requiredKeys: [] }),
  );
  await fc.assert(
    fc.asyncProperty(input, async (args) => {
      const response = await harness.post({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "strict", arguments: args },
      });
      assert.equal(response.status, 200);
      await response.body?.cancel();
    }),
    { numRuns: Math.ceil(runs / 10) },
  );
  assert.ok(calls > 0);
});
