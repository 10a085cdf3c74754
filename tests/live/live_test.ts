import assert from "node:assert/strict";
import * as z from "zod";
import { argumentsInShort, openLive } from "../../src/console/live/live.ts";
import type { Log } from "../../src/lib/log.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { answerFirstCommitLate } from "../fixtures/late_answer.ts";
import { until } from "../fixtures/until.ts";
import { createHarness, type Harness, harnessTools, rpc, toolCall } from "../mcp/harness.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

type Live = Awaited<ReturnType<typeof openLive>>;

interface Instance {
  readonly live: Live;
  readonly mcp: Harness;
}

let ids = 0;

const linger = defineTool({
  name: "linger",
  title: "Linger",
  description: "Waits until it is told to stop.",
  scopes: [],
  annotations: {},
  input: z.object({ path: z.string().describe("Anything"), long: z.string().describe("Anything") }),
  run: (_input, { signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ ok: false, code: "stopped", message: "stopped" }));
    }),
});

async function startInstance(storage: Storage, log: Log = { write: () => {}, flush() {} }): Promise<Instance> {
  const live = await openLive({ storage, log, clock: Date.now, createId: () => `id${++ids}`, hasOthers: true });
  const mcp = createHarness({
    storage,
    tools: createToolRegistry([...harnessTools(), linger]),
    callWatch: live.callWatch,
  });
  return { live, mcp };
}

const textOf = async (response: Response): Promise<{ readonly text: string; readonly isError: boolean }> => {
  const { result } = await response.json();
  return { text: result?.content[0].text, isError: result?.isError };
};
const slow = toolCall("linger", { path: "notes/a.md", long: "x".repeat(500) });

Deno.test("a call that runs is seen with its arguments cut short, and has ended when it was cancelled", async () => {
  const { live, mcp } = await startInstance(createMemoryStorage());
  const answer = mcp.post(slow);
  const [call = assert.fail()] = await until("the call", async () => {
    const calls = await live.view();
    return calls.length === 1 && calls;
  });
  assert.deepEqual([call.person, call.client, call.tool, call.target], ["user-1", "client-1", "linger", "notes/a.md"]);
  assert.ok(call.arguments.length < 200 && call.arguments.startsWith('{"path":"notes/a.md"'));
  assert.equal(await live.cancel(call.id, "owner"), true);
  assert.deepEqual(await textOf(await answer), {
    isError: true,
    text: "An administrator of this server stopped this call. Do not repeat it; tell your user.",
  });
  assert.deepEqual(await live.view(), []);
  assert.equal(await live.cancel(call.id, "owner"), false);
  live.close();
});

Deno.test("the calls of another instance are seen, and cancelled there", async () => {
  const storage = createMemoryStorage();
  const [first, second] = [await startInstance(storage), await startInstance(storage)];
  const answer = first.mcp.post(slow);
  const [call = assert.fail()] = await until("the call", async () => {
    const calls = await second.live.view();
    return calls.length === 1 && calls;
  });
  assert.equal(await second.live.cancel(call.id, "owner"), true);
  assert.equal((await textOf(await answer)).isError, true);
  first.live.close();
  second.live.close();
});

Deno.test("the switch stops every call on every instance, those that run too, over a restart, until it is undone", async () => {
  const storage = createMemoryStorage();
  const [first, second] = [await startInstance(storage), await startInstance(storage)];
  const running = first.mcp.post(slow);
  await until("the call", async () => (await first.live.view()).length === 1);
  await second.live.switches.stopAll("owner");
  assert.equal((await textOf(await running)).isError, true);
  const stopped = "An administrator of this server has stopped all calls. Do not repeat the call; tell your user.";
  for (const { mcp } of [first, second]) {
    assert.deepEqual(await textOf(await mcp.post(toolCall("echo", { text: "hi" }))), { text: stopped, isError: true });
  }
  assert.ok((await (await first.mcp.post(rpc("tools/list"))).json()).result.tools.length > 0, "lists go on");
  const later = await startInstance(storage);
  assert.equal((await textOf(await later.mcp.post(toolCall("echo", { text: "hi" })))).isError, true);
  assert.equal(later.live.switches.state.stopped?.by, "owner");
  await later.live.switches.resumeAll("owner");
  assert.equal((await textOf(await later.mcp.post(toolCall("echo", { text: "hi" })))).text, "hi");
  await until("the first instance to go on", () => first.live.switches.state.stopped === null);
  assert.equal((await textOf(await first.mcp.post(toolCall("echo", { text: "hi" })))).text, "hi");
  for (const { live } of [first, second, later]) live.close();
});

Deno.test("calls that were stopped stay so where the answer of an earlier change comes late", async () => {
  const shared = createMemoryStorage();
  const { storage, committed, answer } = answerFirstCommitLate(shared);
  const { live, mcp } = await startInstance(storage);
  const other = await startInstance(shared); // in one process the changes take turns
  const resumed = live.switches.resumeAll("owner");
  await committed;
  await other.live.switches.stopAll("owner");
  answer();
  await resumed;
  assert.match((await textOf(await mcp.post(toolCall("echo", { text: "hi" })))).text, /has stopped all calls/);
  live.close();
  other.live.close();
});

Deno.test("a paused client is refused and others are not; the audit has who did it", async () => {
  const events: unknown[] = [];
  const log: Log = {
    write: (level, event, fields) => void events.push([level, event, fields?.["client"]]),
    flush() {},
  };
  const { live, mcp } = await startInstance(createMemoryStorage(), log);
  await live.switches.pauseClient("another", "owner");
  assert.equal((await textOf(await mcp.post(toolCall("echo", { text: "hi" })))).text, "hi");
  await live.switches.pauseClient("client-1", "owner");
  const { text } = await textOf(await mcp.post(toolCall("echo", { text: "hi" })));
  assert.match(text, /has paused this client/);
  assert.deepEqual(live.switches.state.paused.map(({ client, by }) => [client, by]), [["another", "owner"], [
    "client-1",
    "owner",
  ]]);
  await live.switches.resumeClient("client-1", "owner");
  assert.equal((await textOf(await mcp.post(toolCall("echo", { text: "hi" })))).text, "hi");
  assert.deepEqual(events, [
    ["audit", "client_paused", "another"],
    ["audit", "client_paused", "client-1"],
    ["audit", "client_resumed", "client-1"],
  ]);
  live.close();
});

Deno.test("arguments in short are bounded, whatever was sent", () => {
  assert.equal(
    argumentsInShort({ arguments: { path: "a", list: [1, 2], nested: { a: 1 }, at: 3 } }),
    '{"path":"a","list":"[2]","nested":"{…}","at":3}',
  );
  assert.equal(argumentsInShort({ uri: "file:///a", _meta: {} }), '{"uri":"file:///a"}');
  const many = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`${"n".repeat(500)}${at}`, "x".repeat(99)]),
  );
  assert.ok(argumentsInShort({ arguments: many }).length <= 300);
  for (const params of [undefined, null, 3, "x", [], { arguments: "x" }]) {
    assert.ok(argumentsInShort(params).length < 9);
  }
});
