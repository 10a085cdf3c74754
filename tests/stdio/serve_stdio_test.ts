/** The stdio transport (MCP 2025-11-25, basic/transports: stdio; basic/utilities/cancellation). */
import assert from "node:assert/strict";
import { inTime, until } from "../fixtures/until.ts";
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { startStdio, type StdioClient } from "./harness.ts";

const call = (id: string | number, name: string, input: Record<string, unknown> = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input },
});
const cancel = (requestId: string | number) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

function openWith(protocolVersion: string): object {
  return {
    jsonrpc: "2.0",
    id: "open",
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
}

async function open(client: StdioClient, protocolVersion = "2025-11-25"): Promise<void> {
  await client.send(openWith(protocolVersion));
  assert.equal((await client.receive())["id"], "open");
}

Deno.test("stdio answers requests a line each and takes notifications in silence", async () => {
  await using client = startStdio();
  await open(client);
  await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await client.send(call(1, "echo", { text: "one\ntwo" }));
  const { id, result } = await client.receive() as { id: number; result: { content: { text: string }[] } };
  assert.equal(id, 1);
  assert.equal(result.content[0]?.text, "one\ntwo");
});

Deno.test("stdio reads what follows initialize under the version that it settled, even when all comes at once", async () => {
  // From 2025-11-25 on, an argument that does not fit is a tool's failure; before, a JSON-RPC error.
  for (const [version, member] of [["2025-11-25", "result"], ["2025-06-18", "error"]] as const) {
    await using client = startStdio();
    await client.send(`${JSON.stringify(openWith(version))}\n${JSON.stringify(call(1, "echo", { text: 7 }))}\n`);
    await client.receive();
    assert.ok(member in await client.receive(), version);
  }
});

Deno.test("stdio tells a legacy client of new tools without being asked, and a modern one that listens", async () => {
  await using legacy = startStdio();
  await open(legacy);
  await legacy.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await legacy.send(call(1, "echo", { text: "x" }));
  await legacy.receive();
  legacy.addTool();
  assert.deepEqual((await legacy.receive())["method"], "notifications/tools/list_changed");

  await using modern = startStdio();
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { _meta, notifications: { toolsListChanged: true } };
  await modern.send({ jsonrpc: "2.0", id: "listen", method: "subscriptions/listen", params });
  assert.equal((await modern.receive())["method"], "notifications/subscriptions/acknowledged");
  modern.addTool();
  assert.deepEqual((await modern.receive())["method"], "notifications/tools/list_changed");
  await modern.send(cancel("listen"));
  await modern.send({ jsonrpc: "2.0", id: 2, method: "tools/list", params: { _meta } });
  const { id, result } = await modern.receive() as { id: number; result: { tools: { name: string }[] } };
  assert.equal(id, 2);
  assert.ok(result.tools.some(({ name }) => name === "echo_too"));
});

Deno.test("stdio answers a quick call while a slow one runs", async () => {
  await using client = startStdio();
  await client.send(call("slow", "wait"));
  await client.send(call("quick", "echo", { text: "x" }));
  assert.equal((await client.receive())["id"], "quick");
  client.release();
  assert.equal((await client.receive())["id"], "slow");
});

Deno.test("stdio ends a cancelled call and does not answer it; a stray cancellation changes nothing", async () => {
  await using client = startStdio();
  await client.send(cancel("nobody"));
  await client.send(call(7, "wait"));
  await until("the call", () => client.seen.includes("started"));
  await client.send(cancel(7));
  await until("its end", () => client.seen.includes("ended"));
  await client.send(call(8, "echo", { text: "x" }));
  assert.equal((await client.receive())["id"], 8);
  await client.send(call(7, "echo", { text: "its id is free again" }));
  assert.equal((await client.receive())["id"], 7);
});

Deno.test("stdio refuses an id that is in use, and more requests at once than it bears", async () => {
  await using client = startStdio({ maxInFlight: 2 });
  await client.send(call(1, "wait"));
  await client.send(call(1, "echo", { text: "x" }));
  assert.deepEqual(await client.receive(), {
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32600, message: "Invalid Request: this id is in use" },
  });
  await client.send(call(2, "wait"));
  await client.send(call(3, "echo", { text: "x" }));
  const refused = await client.receive() as { id: number; error: { code: number } };
  assert.deepEqual([refused.id, refused.error.code], [3, 429]);
  await client.send(cancel(1)); // still heard
  await until("its end", () => client.seen.includes("ended"));
});

Deno.test("stdio answers what is no message with an error, and goes on", async () => {
  await using client = startStdio();
  const cases: [string, number][] = [
    ["{not json}\n", -32700],
    ['"a string"\n', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600],
    [`${" ".repeat(10)}{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(10_000)}"}\n`, -32600],
  ];
  for (const [text, code] of cases) {
    await client.send(text);
    const { error } = await client.receive() as { error: { code: number } };
    assert.equal(error.code, code, text.slice(0, 40));
  }
  await client.send(call(1, "echo", { text: "x" }));
  assert.equal((await client.receive())["id"], 1);
});

Deno.test("stdio finishes what runs when the input ends, and then ends the output", async () => {
  const client = startStdio();
  await client.send(call(1, "wait"));
  await until("the call", () => client.seen.includes("started"));
  void client.inputEnded.then(client.release);
  const rest = await client.end();
  assert.deepEqual(rest.map(({ id }) => id), [1]);
  assert.deepEqual(client.seen, ["started", "released"]);
});

Deno.test("stdio does not wait for a client that only listens when the input ends", async () => {
  const client = startStdio();
  const params = {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
    notifications: { toolsListChanged: true },
  };
  await client.send({ jsonrpc: "2.0", id: "listen", method: "subscriptions/listen", params });
  await client.receive();
  await inTime("the end: calls would have ten minutes", client.end());
});

Deno.test("stdio ends what takes too long after the end of the input", async () => {
  const client = startStdio({ finishTimeoutMs: 20 });
  await client.send(call(1, "wait"));
  await until("the call", () => client.seen.includes("started"));
  assert.deepEqual(await client.end(), []);
  assert.deepEqual(client.seen, ["started", "ended"]);
});

Deno.test("stdio reads no more when it is told to stop, and ends what takes too long", async () => {
  await using client = startStdio({ finishTimeoutMs: 20 });
  await client.send(call(1, "wait"));
  await until("the call", () => client.seen.includes("started"));
  client.stop.abort();
  await client.served;
  assert.deepEqual(client.seen, ["started", "ended"]);
});

Deno.test("stdio lets a call finish when it is told to stop", async () => {
  await using client = startStdio();
  await client.send(call(1, "wait"));
  await until("the call", () => client.seen.includes("started"));
  client.stop.abort();
  client.release();
  assert.match(JSON.stringify(await client.receive()), /"id":1/);
  await client.served;
  assert.deepEqual(client.seen, ["started", "released"]);
});

Deno.test("stdio ends when nobody reads its output any more", async () => {
  const broken = new WritableStream<Uint8Array>({
    write: () => Promise.reject(new Error("EPIPE")),
  });
  const client = startStdio({ output: broken });
  await client.send(call(1, "echo", { text: "x" }));
  await client.served;
});

Deno.test("stdio takes server/discover and initialize in either order on one pipe, and calls of both eras after them", async () => {
  const modern = (id: string, method: string, params: Record<string, unknown> = {}) => ({
    jsonrpc: "2.0",
    id,
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  const openings = [modern("discover", "server/discover"), openWith("2025-11-25")] as const;
  for (const order of [[0, 1], [1, 0], [0, 1, 0], [1, 0, 0]] as const) {
    await using client = startStdio();
    for (const index of order) {
      await client.send(openings[index]);
      const { id, result } = await client.receive() as { id: string; result: Record<string, unknown> };
      assert.equal(id, openings[index]["id" as never]);
      if (index === 0) assert.deepEqual(result["supportedVersions"], ["2026-07-28"]);
      else assert.equal(result["protocolVersion"], "2025-11-25");
    }
    await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await client.send(modern("modern", "tools/call", { name: "echo", arguments: { text: "new" } }));
    const later = await client.receive() as { result: Record<string, unknown> };
    assert.equal(later.result["resultType"], "complete");
    await client.send(call("legacy", "echo", { text: "old" }));
    const earlier = await client.receive() as { result: Record<string, unknown> };
    assert.ok("content" in earlier.result && !("resultType" in earlier.result));
  }
});

Deno.test("stdio answers what the database keeps it from answering with a refusal, and the rest", async () => {
  const memory = createMemoryStorage();
  let fault: Error | null = null;
  const changeCount = (): number | Promise<number> => {
    if (fault !== null) throw fault;
    return memory.changeCount();
  };
  await using client = startStdio({}, { ...memory, changeCount });
  await open(client);
  for (
    const [error, words] of [
      [
        new StorageUnavailableError("database is locked"),
        /^The server cannot use its database right now\. Try again in/,
      ],
      [new TypeError("a fault of ours"), /^Internal server error$/],
    ] as const
  ) {
    fault = error;
    await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await client.send(call(1, "echo", { text: "one" }));
    const refused = await client.receive() as { id: number; error: { message: string } };
    assert.equal(refused.id, 1);
    assert.match(refused.error.message, words);
    fault = null;
    await client.send(call(2, "echo", { text: "two" }));
    assert.ok("result" in await client.receive());
  }
  fault = new StorageUnavailableError("database is locked");
  assert.deepEqual(await client.end(), []);
});
