import assert from "node:assert/strict";
import type { PrincipalCall } from "../../src/ollama/port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";

const call = (signal = noSignal()): PrincipalCall => ({ signal, fairnessKey: "ann" });
/** A server that accepts connections and says nothing; it knows what it was asked. */
async function startSilentServer() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.TcpConn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  return await Promise.resolve({
    port: listener.addr.port,
    /** The first line of each request, without its version; nobody asks any more afterwards. */
    async asked(): Promise<string[]> {
      listener.close();
      await accepting;
      return await Promise.all(connections.map(async (connection) => {
        const head = new Uint8Array(1024);
        const count = await connection.read(head);
        return new TextDecoder().decode(head.subarray(0, count ?? 0)).split(" HTTP/")[0] ?? "";
      }));
    },
    [Symbol.dispose]: () => connections.forEach((connection) => connection.close()),
  });
}

const modelCalls = (requests: readonly { path: string }[]): number =>
  requests.filter((request) => request.path === "/api/generate").length;

Deno.test("with several hosts the first that is well answers", async () => {
  await using a = await startOllama({ models: [{ name: "tinyllama", answer: () => "a" }] });
  await using b = await startOllama({ models: [{ name: "tinyllama", answer: () => "b" }] });
  using local = testModel(`${a.url},${b.url}`);
  for (let round = 0; round < 3; round++) {
    assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "a");
  }
  assert.equal(a.requests.filter((request) => request.path === "/api/version").length, 1);
  assert.equal(b.requests.length, 0);
});

Deno.test("with several hosts a call goes to the next before the first byte, and never after", async (t) => {
  await using a = await startOllama({ models: [{ name: "tinyllama", answer: () => "a" }] });
  await using b = await startOllama({ models: [{ name: "tinyllama", answer: () => "b" }] });
  for (
    const fault of [
      "queue_full",
      "model_missing",
      "proxy_502",
      "html_200",
      "signed_out",
    ] as const
  ) {
    await t.step(`${fault}: the next host answers`, async () => {
      using local = testModel(`${a.url},${b.url}`);
      a.play(fault);
      assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "b");
    });
  }
  for (const fault of ["reset_mid_stream", "error_mid_stream", "bad_json", "load_failure"] as const) {
    await t.step(`${fault}: the failure is told`, async () => {
      using local = testModel(`${a.url},${b.url}`);
      const before = modelCalls(b.requests);
      a.play(fault);
      assert.ok((await gather(local.model.generate(ask("x"), call()))).failure);
      assert.equal(modelCalls(b.requests), before);
    });
  }
});

Deno.test("a host that accepts connections and says nothing costs a probe, not the time to the first byte", async () => {
  using silent = await startSilentServer();
  await using b = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(`127.0.0.1:${silent.port},${b.url}`, {}, { first: { probeSeconds: 0.3 } });
  for (let round = 0; round < 3; round++) assert.ok((await gather(local.model.generate(ask("x"), call()))).completion);
  assert.deepEqual(await silent.asked(), ["GET /api/version"], "the host is asked once while its health is known");
});

Deno.test("a host that comes back is used again when its health is looked up again", async () => {
  await using b = await startOllama({ models: [{ name: "tinyllama", answer: () => "b" }] });
  const gone = await startOllama({ models: [] });
  await gone[Symbol.asyncDispose]();
  let now = 0;
  using local = testModel(`${gone.url},${b.url}`, { healthSeconds: 10 }, { clock: () => now });
  assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "b");
  await using _back = await startOllama({ models: [{ name: "tinyllama", answer: () => "a" }], port: gone.port });
  now += 9_999;
  assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "b", "what is known still counts");
  now += 1;
  assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "a");
});

Deno.test("when no host answers, the most telling failure is told", async () => {
  const gone = await startOllama({ models: [] });
  await gone[Symbol.asyncDispose]();
  await using lacking = await startOllama({ models: [] });
  using local = testModel(`${gone.url},${lacking.url}`, { maxAttempts: 1 });
  const { failure } = await gather(local.model.generate(ask("x"), call()));
  assert.equal(failure?.code, "model_not_installed");
  using none = testModel(`${gone.url},${gone.url}`, { maxAttempts: 1 });
  assert.equal((await gather(none.model.generate(ask("x"), call()))).failure?.code, "ollama_unreachable");
  assert.equal((await gather(none.model.generate(ask("x"), call(AbortSignal.abort())))).failure?.code, "cancelled");
});
