/** Which callers get structured content beside the text of a result, and what they get where a tool has none. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { StructuredResults } from "../../src/mcp/limits.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createProfiles, readsTextAlone, serviceNowProfile } from "../../src/mcp/profile.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { createHarness, type Harness, principalWith, rpc, toolCall } from "./harness.ts";

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

async function legacySender(harness: Harness, name: string, version = "2025-11-25"): Promise<Send> {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name, version: "1" } };
  const response = await harness.post(rpc("initialize", params), { accept: eventStream });
  const id = response.headers.get("mcp-session-id") ?? assert.fail("no session");
  return sender(harness, { "mcp-session-id": id, "mcp-protocol-version": version });
}

function modernSender(harness: Harness, name?: string): Send {
  const meta = name === undefined ? {} : { "io.modelcontextprotocol/clientInfo": { name, version: "1" } };
  return async (method, params) => (await (await harness.modern(method, params, { meta })).json()).result;
}

const whole: Seen = {
  schemas: [false, true],
  results: [{ text: "One\n(image, image/png)" }, { text: "No" }, { count: 1 }, undefined],
};
const textAlone: Seen = { schemas: [false, false], results: [undefined, undefined, undefined, undefined] };
const asServiceNow: Seen = { schemas: [false, true], results: [{}, {}, { count: 1 }, undefined] };

const textReaders = [
  "claude-code",
  "Claude Code (portcullis)",
  "codex-mcp-client",
  "Codex",
  "opencode",
  "Visual Studio Code",
  "Visual Studio Code - Insiders",
  "Visual-Studio-Code",
  "github-copilot-developer",
];
const others = [
  "claude-ai",
  "ChatGPT",
  "cursor-vscode",
  "gemini-cli-mcp-client",
  "codexa",
  "my claude-code",
  "",
  "test",
];

Deno.test("clients that drop text for structured content are known by name", () => {
  for (const name of textReaders) assert.equal(readsTextAlone(name), true, name);
  for (const name of [...others, null, undefined, 1]) assert.equal(readsTextAlone(name), false, String(name));
});

Deno.test("a client that drops text for structured content gets text alone, in both eras; others get both", async () => {
  const harness = createHarness({ tools: makeTools() });
  for (const name of textReaders) {
    assert.deepEqual(await look(await legacySender(harness, name)), textAlone, name);
    assert.deepEqual(await look(modernSender(harness, name)), textAlone, name);
  }
  for (const name of others) {
    assert.deepEqual(await look(await legacySender(harness, name)), whole, name);
    assert.deepEqual(await look(modernSender(harness, name)), whole, name);
  }
  assert.deepEqual(await look(modernSender(harness)), whole);
  assert.deepEqual(await look(sender(harness, { "mcp-protocol-version": "2025-11-25" })), whole, "no handshake");
});

Deno.test("what a client gets follows its session, not the last handshake of its OAuth client", async () => {
  const harness = createHarness({ tools: makeTools() });
  const reader = await legacySender(harness, "claude-code");
  const other = await legacySender(harness, "a script");
  assert.deepEqual(await look(reader), textAlone);
  assert.deepEqual(await look(other), whole);
});

Deno.test("a client without a handshake is known by the name in its registration", async () => {
  const named = async (name: string): Promise<Seen> => {
    const profiles = createProfiles({
      compatibility: "auto",
      findClient: () => Promise.resolve({ name, redirectHosts: ["localhost"] }),
      toolFailureIsProtocolError: false,
    });
    assert.equal((await profiles.of(principalWith([]))).name, "spec");
    const harness = createHarness({ tools: makeTools(), profileOf: profiles.of });
    return await look(sender(harness, { "mcp-protocol-version": "2025-11-25" }));
  };
  assert.deepEqual(await named("Claude Code (files)"), textAlone);
  assert.deepEqual(await named("Some app"), whole);
});

Deno.test("STRUCTURED_RESULTS decides for all clients, or by their names", async () => {
  const cases: [StructuredResults, Seen, Seen, Seen][] = [
    ["auto", textAlone, whole, asServiceNow],
    ["always", whole, whole, asServiceNow],
    ["never", textAlone, textAlone, textAlone],
  ];
  for (const [structuredResults, reader, other, serviceNow] of cases) {
    const harness = createHarness({ tools: makeTools(), structuredResults });
    assert.deepEqual(await look(modernSender(harness, "claude-code")), reader, structuredResults);
    assert.deepEqual(await look(modernSender(harness, "test")), other, structuredResults);
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
  const harness = createHarness({ tools: createToolRegistry([slow]) });
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const resultFor = async (name: string): Promise<unknown> => {
    const meta = { "io.modelcontextprotocol/clientInfo": { name, version: "1" } };
    const ask = async (method: string, params: Record<string, unknown>) =>
      (await (await harness.modern(method, params, { meta, capabilities })).json()).result;
    const { taskId } = await ask("tools/call", { name: "slow", arguments: {} });
    for (let attempt = 0; attempt < 500; attempt++) {
      const task = await ask("tasks/get", { taskId });
      if (task.status === "completed") return [task.result.content, task.result.structuredContent];
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return assert.fail("the task did not end");
  };
  const content = [{ type: "text", text: "Later" }];
  assert.deepEqual(await resultFor("claude-code"), [content, undefined]);
  assert.deepEqual(await resultFor("test"), [content, { text: "Later" }]);
});

Deno.test("a batch's results have the form of its session", async () => {
  const harness = createHarness({ tools: makeTools() });
  const send = async (name: string): Promise<unknown> => {
    const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name, version: "1" } };
    const opened = await harness.post(rpc("initialize", params), { accept: eventStream });
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const [answer] = await (await harness.post([toolCall("bare")], headers)).json();
    return answer.result.structuredContent;
  };
  assert.equal(await send("codex-mcp-client"), undefined);
  assert.deepEqual(await send("test"), { text: "One\n(image, image/png)" });
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
