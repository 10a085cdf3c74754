import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { answerAll } from "../../src/mcp/mcp_server.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { modernRequest } from "../fixtures/mcp_call.ts";
import { until } from "../fixtures/until.ts";
import { createHarness, postRequest, rpc, toolCall } from "./harness.ts";
import type { McpAnswer } from "../../src/mcp/mod.ts";

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
        result: { content: [{ type: "text", text: "hi" }], structuredContent: { text: "hi" }, isError: false },
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
    [[rpc("ping")], "2026-07-28", /are not batched/],
    [
      [rpc("ping"), rpc("ping", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } })],
      null,
      /send each message separately/,
    ],
    [
      [rpc("ping", { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } })],
      "2099-01-01",
      /send each message separately/,
    ],
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

Deno.test("a batch's answers have a budget: requests over it are refused by id, and are not run", async () => {
  let runs = 0;
  const tools = createToolRegistry([defineTool({
    name: "large",
    title: "Large",
    description: "Answers much.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    run: () => {
      runs++;
      return { ok: true, content: [{ type: "text", text: "\u0001".repeat(1_000_000) }], structuredContent: {} };
    },
  })]);
  const { post, audit } = createHarness({ tools, limits: { maxBatchLength: 50 } });
  const batch = Array.from({ length: 50 }, (_, id) => toolCall("large", {}, id + 1));
  const response = await post([...batch, notification].slice(1));
  assert.equal(response.status, 200);
  const answers: { id: number; result?: unknown; error?: { code: number; message: string } }[] = await response.json();
  assert.deepEqual(answers.map(({ id }) => id), batch.slice(1).map(({ id }) => id));
  const refused = answers.filter(({ error }) => error !== undefined);
  assert.equal(runs + refused.length, 49);
  assert.ok(runs >= 2 && runs <= 6, `${runs} calls ran`);
  for (const { error } of refused) {
    assert.equal(error?.code, -32600);
    assert.match(error?.message ?? "", /batch are over 8000000 characters: send this request separately/);
  }
  assert.deepEqual(audit.filter(({ code }) => code === "batch_too_large").length, 1);
});

Deno.test("a batch of answers that take a turn each lets other callers have theirs between them", async () => {
  let passes = 0;
  let isOver = false;
  const countPass = (): void => {
    passes++;
    if (!isOver) setImmediate(countPass);
  };
  setImmediate(countPass);
  const passesAtStart: number[] = [];
  const answer = (): Promise<McpAnswer> => {
    passesAtStart.push(passes);
    const end = performance.now() + 10; // more than a turn
    while (performance.now() < end) continue;
    return Promise.resolve({ kind: "json", status: 200, body: "{}" });
  };
  await answerAll(Array.from({ length: 10 }, (_, id) => rpc("ping", undefined, id)), answer, () => {});
  isOver = true;
  assert.equal(passesAtStart.length, 10);
  assert.ok(new Set(passesAtStart).size >= 9, `passes of the event loop before each answer: ${passesAtStart}`);
});

Deno.test("four batches of a caller are answered at the same time; notices pass those that wait", async () => {
  let [running, most] = [0, 0];
  const held = Promise.withResolvers<void>();
  const tools = createToolRegistry([defineTool({
    name: "waits",
    title: "Waits",
    description: "Waits.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    async run() {
      most = Math.max(most, ++running);
      await held.promise;
      running--;
      return { ok: true, content: [], structuredContent: {} };
    },
  })]);
  const { post } = createHarness({ tools });
  const batches = Array.from({ length: 10 }, () => post([toolCall("waits", {}, 1)]));
  assert.equal((await post([notification])).status, 202);
  await until("four run", () => running === 4);
  await new Promise((resolve) => setTimeout(resolve, 50)); // for a fifth, which would be wrong
  held.resolve();
  for (const { status, body } of await Promise.all(batches)) {
    assert.equal(status, 200);
    await body?.cancel();
  }
  assert.equal(most, 4);
});

Deno.test("batches that wait for a person keep no further one of their caller from being answered", async () => {
  const decided = Promise.withResolvers<void>();
  let [waiting, running, most] = [0, 0, 0];
  const held = Promise.withResolvers<void>();
  const common = { scopes: [], annotations: {}, input: z.object({}) };
  const tools = createToolRegistry([
    defineTool({
      ...{ ...common, name: "asks", title: "Asks", description: "Asks." },
      async run(_input, context) {
        const comeBack = context.standAside();
        waiting++;
        await decided.promise;
        comeBack();
        return { ok: true, content: [], structuredContent: {} };
      },
    }),
    defineTool({
      ...{ ...common, name: "waits", title: "Waits", description: "Waits." },
      async run() {
        most = Math.max(most, ++running);
        await held.promise;
        running--;
        return { ok: true, content: [], structuredContent: {} };
      },
    }),
  ]);
  const { post } = createHarness({ tools });
  const asking = Array.from({ length: 6 }, () => post([toolCall("asks", {}, 1), toolCall("asks", {}, 2)]));
  await until("six batches wait for a person", () => waiting === 6);
  const others = Array.from({ length: 6 }, () => post([toolCall("waits", {}, 1)]));
  await until("four run, of those that wait for no person", () => running === 4);
  await new Promise((resolve) => setTimeout(resolve, 50)); // for a fifth, which would be wrong
  decided.resolve();
  held.resolve();
  for (const { status, body } of await Promise.all([...asking, ...others])) {
    assert.equal(status, 200);
    await body?.cancel();
  }
  assert.deepEqual([waiting, most], [12, 4]);
});

Deno.test("a batch that waits while its token is revoked is refused, and never begun", async () => {
  const held = Promise.withResolvers<void>();
  let begun = 0;
  const tools = createToolRegistry([defineTool({
    name: "waits",
    title: "Waits",
    description: "Waits.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    async run() {
      begun++;
      await held.promise;
      return { ok: true, content: [], structuredContent: {} };
    },
  })]);
  const watching = new Set<() => void>();
  const { post } = createHarness({
    tools,
    watchToken(_principal, onRevoked) {
      watching.add(onRevoked);
      return () => watching.delete(onRevoked);
    },
  });
  const batches = Array.from({ length: 6 }, (_, id) => post([toolCall("waits", {}, id)]));
  await until("four have begun, and two wait", () => begun === 4 && watching.size === 2);
  for (const revoke of [...watching].slice(0, 1)) revoke();
  await new Promise((resolve) => setTimeout(resolve, 5));
  held.resolve();
  const statuses = (await Promise.all(batches)).map(({ status }) => status);
  assert.deepEqual([statuses, begun], [[200, 200, 200, 200, 401, 200], 5]);
  assert.equal(watching.size, 0, "who has begun or ended is watched no more");
});

Deno.test("a batch whose caller has gone begins no call that it has not begun, and still takes its notices", async () => {
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const tools = createToolRegistry([defineTool({
    name: "waits",
    title: "Waits",
    description: "Waits.",
    scopes: [],
    annotations: {},
    input: z.object({ whose: z.string().describe("Whose") }),
    async run({ whose }) {
      begun.push(whose);
      await held.promise;
      return { ok: true, content: [], structuredContent: {} };
    },
  })]);
  const watching = new Set<() => void>();
  const { endpoint, logged } = createHarness({
    tools,
    watchToken(_principal, onRevoked) {
      watching.add(onRevoked);
      return () => watching.delete(onRevoked);
    },
  });
  const post = (whose: string, signal: AbortSignal | null = null) => {
    const batch = [1, 2].map((id) => toolCall("waits", { whose: `${whose}${id}` }, id));
    return endpoint(new Request(postRequest([...batch, notification]), { signal }), { address: "" });
  };
  const callers = ["a", "b", "c", "d", "e", "f"].map((whose) => ({ whose, gone: new AbortController() }));
  const answers = callers.map(({ whose, gone }) => post(whose, gone.signal));
  await until("four have begun, and two wait", () => begun.length === 4 && watching.size === 2);
  assert.deepEqual(begun, ["a1", "b1", "c1", "d1"]);
  for (const { whose, gone } of callers) if ("ae".includes(whose)) gone.abort();
  held.resolve();
  for (const { body } of await Promise.all(answers)) await body?.cancel();
  assert.deepEqual(begun.toSorted(), ["a1", "b1", "b2", "c1", "c2", "d1", "d2", "f1", "f2"]);
  assert.equal(logged.filter(({ event }) => event === "client_ready").length, 5);
  assert.equal(watching.size, 0, "none waits any more");
});

Deno.test("2026-07-28: a call that waited for a turn is not begun when its caller has gone meanwhile", async () => {
  let begun = 0;
  const gone = new AbortController();
  const tools = createToolRegistry([defineTool({
    name: "works",
    title: "Works",
    description: "Works.",
    scopes: [],
    annotations: {},
    input: z.object({}),
    run() {
      begun++;
      const until = performance.now() + 10; // more than a turn
      while (performance.now() < until) continue;
      gone.abort();
      return { ok: true, content: [], structuredContent: {} };
    },
  })]);
  const { endpoint } = createHarness({ tools });
  const { message, headers } = modernRequest("tools/call", { name: "works", arguments: {} });
  const answers = Array.from(
    { length: 10 },
    () => endpoint(new Request(postRequest(message, headers), { signal: gone.signal }), { address: "" }),
  );
  for (const { body } of await Promise.all(answers)) await body?.cancel();
  assert.equal(begun, 1);
});
