/** Which callers get structured content beside the text of a result, and what they get where a tool has none. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { StructuredResults } from "../../src/mcp/runtime.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { serviceNowProfile } from "../../src/mcp/revision.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { until } from "../fixtures/until.ts";
import { createHarness, type Harness, rpc, toolCall } from "./harness.ts";

const eventStream = "application/json, text/event-stream";
const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;

const common = { title: "T", description: "Answers.", scopes: [], annotations: {} };
const shape = z.object({ fail: z.boolean().optional().describe("Whether to fail") });
const failed = { ok: false, code: "no", message: "No" } as const;

function makeTools() {
  // one outcome for all callers, as that of a file that did not change: what it keeps of one must not reach another
  const typed = { ok: true, content: [image], structuredContent: { count: 1 }, encoded: new Map() } as const;
  return createToolRegistry([
    defineTool({
      ...common,
      name: "bare",
      input: shape,
      run: ({ fail }) => fail ? failed : { ok: true, content: [{ type: "text", text: "One" }, image] },
    }),
    defineTool({
      ...common,
      name: "typed",
      input: shape,
      output: z.object({ count: z.int().describe("How many") }),
      maxResultCharacters: 500_000,
      run: ({ fail }) => fail ? failed : typed,
    }),
  ]);
}

interface Seen {
  readonly schemas: readonly boolean[];
  readonly results: readonly unknown[];
}

type Send = (method: string, params?: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** What a caller gets from tools/list and from four calls. */
async function look(send: Send): Promise<Seen> {
  const { tools } = await send("tools/list") as { tools: Record<string, unknown>[] };
  const results: unknown[] = [];
  for (const name of ["bare", "typed"]) {
    for (const fail of [false, true]) {
      const result = await send("tools/call", { name, arguments: { fail } });
      assert.equal(result["isError"], fail);
      assert.ok((result["content"] as unknown[]).length > 0);
      results.push(result["structuredContent"]);
    }
  }
  return { schemas: tools.map((tool) => "outputSchema" in tool), results };
}

function sender(harness: Harness, headers: Record<string, string> = {}): Send {
  return async (method, params) => (await (await harness.post(rpc(method, params), headers)).json()).result;
}

/** What a program declares that reads structured content. */
const asking = { experimental: { structuredContent: {} } };

async function legacySender(harness: Harness, capabilities: object, version = "2025-11-25"): Promise<Send> {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } };
  const response = await harness.post(rpc("initialize", params), { accept: eventStream });
  const id = response.headers.get("mcp-session-id") ?? assert.fail("no session");
  return sender(harness, { "mcp-session-id": id, "mcp-protocol-version": version });
}

function modernSender(harness: Harness, capabilities: object): Send {
  const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
  return async (method, params) => (await (await harness.modern(method, params, { meta })).json()).result;
}

const whole: Seen = {
  schemas: [false, true],
  results: [{ text: "One\n(image, image/png)" }, { text: "No" }, { count: 1 }, undefined],
};
const textAlone: Seen = { schemas: [false, false], results: [undefined, undefined, undefined, undefined] };
const asServiceNow: Seen = { schemas: [false, true], results: [{}, {}, { count: 1 }, undefined] };

Deno.test("a client gets each text once; one that declares that it reads structured content gets that too", async () => {
  const harness = createHarness({ tools: makeTools(), structuredResults: "auto" });
  for (const capabilities of [{}, { experimental: {} }, { experimental: { structuredContent: null } }, { roots: {} }]) {
    const words = JSON.stringify(capabilities);
    assert.deepEqual(await look(await legacySender(harness, capabilities)), textAlone, words);
    assert.deepEqual(await look(modernSender(harness, capabilities)), textAlone, words);
  }
  assert.deepEqual(await look(await legacySender(harness, asking)), whole);
  assert.deepEqual(await look(modernSender(harness, asking)), whole);
  assert.deepEqual(await look(sender(harness, { "mcp-protocol-version": "2025-11-25" })), textAlone, "no handshake");
});

Deno.test("what a client gets follows its session, not the last handshake of its OAuth client", async () => {
  const harness = createHarness({ tools: makeTools(), structuredResults: "auto" });
  const reader = await legacySender(harness, {});
  const program = await legacySender(harness, asking);
  assert.deepEqual(await look(reader), textAlone);
  assert.deepEqual(await look(program), whole);
});

Deno.test("structured content is for all clients, or for those that ask for it", async () => {
  const cases: [StructuredResults, Seen, Seen, Seen][] = [
    ["auto", textAlone, whole, asServiceNow],
    ["always", whole, whole, asServiceNow],
  ];
  for (const [structuredResults, reader, program, serviceNow] of cases) {
    const harness = createHarness({ tools: makeTools(), structuredResults });
    assert.deepEqual(await look(modernSender(harness, {})), reader, structuredResults);
    assert.deepEqual(await look(modernSender(harness, asking)), program, structuredResults);
    const now = createHarness({ tools: makeTools(), structuredResults, profileOf: () => serviceNowProfile });
    assert.deepEqual(await look(sender(now, { "mcp-protocol-version": "2025-06-18" })), serviceNow, structuredResults);
  }
});

Deno.test("tools/list names the largest answer that a caller may ask for, where the revision has a place for it", async () => {
  const { post } = createHarness({ tools: makeTools() });
  const metaIn = async (version: string): Promise<unknown[]> => {
    const { result } = await (await post(rpc("tools/list"), { "mcp-protocol-version": version })).json();
    return result.tools.map(({ _meta }: { _meta?: unknown }) => _meta);
  };
  const meta = { "anthropic/maxResultSizeChars": 500_000 };
  assert.deepEqual(await metaIn("2025-11-25"), [undefined, meta]);
  assert.deepEqual(await metaIn("2025-03-26"), [undefined, undefined]);
});

Deno.test("the result of a task has the form of the call that began it", async () => {
  const slow = defineTool({
    ...common,
    name: "slow",
    input: z.object({}),
    async run(_input, context) {
      await context.handOut();
      return { ok: true, content: [{ type: "text", text: "Later" }] };
    },
  });
  const harness = createHarness({ tools: createToolRegistry([slow]), structuredResults: "auto" });
  const resultFor = async (more: object): Promise<unknown> => {
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} }, ...more };
    const ask = async (method: string, params: Record<string, unknown>) =>
      (await (await harness.modern(method, params, { capabilities })).json()).result;
    const { taskId } = await ask("tools/call", { name: "slow", arguments: {} });
    return await until("the task's end", async () => {
      const task = await ask("tasks/get", { taskId });
      return task.status === "completed" && [task.result.content, task.result.structuredContent];
    });
  };
  const content = [{ type: "text", text: "Later" }];
  assert.deepEqual(await resultFor({}), [content, undefined]);
  assert.deepEqual(await resultFor(asking), [content, { text: "Later" }]);
});

Deno.test("a batch's results have the form of its session", async () => {
  const harness = createHarness({ tools: makeTools(), structuredResults: "auto" });
  const send = async (capabilities: object): Promise<unknown> => {
    const params = { protocolVersion: "2025-03-26", capabilities, clientInfo: { name: "test", version: "1" } };
    const opened = await harness.post(rpc("initialize", params), { accept: eventStream });
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const [answer] = await (await harness.post([toolCall("bare")], headers)).json();
    return answer.result.structuredContent;
  };
  assert.equal(await send({}), undefined);
  assert.deepEqual(await send(asking), { text: "One\n(image, image/png)" });
});

Deno.test("a text of any length arrives whole in a block, in structured content, and in both", async () => {
  const texts = ["short\n", '\u0001"\\ \u{1f600}\ud800\n'.repeat(2_000)];
  for (const text of texts) {
    for (const other of texts) {
      const structuredContent = { before: 1, text: other, absent: undefined, after: { text: other } };
      const content = [{ type: "text", text: "first" }, image, { type: "text", text }] as const;
      const tool = defineTool({
        ...common,
        name: "texts",
        input: z.object({}),
        run: () => ({ ok: true, content, structuredContent }),
      });
      const harness = createHarness({ tools: createToolRegistry([tool]) });
      const result = await sender(harness)("tools/call", { name: "texts", arguments: {} });
      assert.deepEqual(result["content"], [{ type: "text", text: "first" }, image, { type: "text", text }]);
      const { absent: _, ...members } = structuredContent;
      assert.deepEqual(result["structuredContent"], members);
    }
  }
});
