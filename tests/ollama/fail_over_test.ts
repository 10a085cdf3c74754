import assert from "node:assert/strict";
import type { PrincipalCall } from "../../src/ollama/port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";

const call = (signal = noSignal()): PrincipalCall => ({ signal, fairnessKey: "ann" });
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
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using b = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(`127.0.0.1:${silent.addr.port},${b.url}`, { probeSeconds: 0.3, firstByteSeconds: 60 });
  const started = performance.now();
  for (let round = 0; round < 3; round++) assert.ok((await gather(local.model.generate(ask("x"), call()))).completion);
  const took = performance.now() - started;
  assert.ok(took >= 300 && took < 800, `${took} ms: the host is asked once while its health is known`);
  silent.close();
});

Deno.test("a host that comes back is used again when its health is looked up again", async () => {
  const gone = await startOllama({ models: [] });
  await gone[Symbol.asyncDispose]();
  await using b = await startOllama({ models: [{ name: "tinyllama", answer: () => "b" }] });
  using local = testModel(`${gone.url},${b.url}`, { healthSeconds: 0.05 });
  assert.equal((await gather(local.model.generate(ask("x"), call()))).text, "b");
  await using _back = await startOllama({ models: [{ name: "tinyllama", answer: () => "a" }], port: gone.port });
  await new Promise((resolve) => setTimeout(resolve, 60));
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
