import assert from "node:assert/strict";
import type { PrincipalCall } from "../../src/llm/local_model.ts";
import { freePort } from "../fixtures/free_port.ts";
import { type StandInOllama, startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";

const call = (more: Partial<PrincipalCall> = {}): PrincipalCall => ({
  signal: noSignal(),
  fairnessKey: "ann",
  ...more,
});

Deno.test("the local model tries again when the server was full, and gives up after the last attempt", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(ollama.url);
  ollama.play("queue_full", "proxy_503");
  const answer = await gather(local.model.ask(ask("hi"), call()));
  assert.equal(answer.text, "tinyllama heard: hi");
  assert.equal(ollama.requests.length, 3);
  ollama.play("queue_full", "queue_full", "queue_full");
  assert.equal((await gather(local.model.ask(ask("hi"), call()))).failure?.code, "busy");
  assert.equal(ollama.requests.length, 6);
  assert.deepEqual(local.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("the local model tries again when nothing listens yet", async () => {
  const port = freePort();
  let second: Promise<StandInOllama> | undefined;
  using local = testModel(`http://127.0.0.1:${port}`, {}, {
    random() { // the first attempt has failed
      second ??= startOllama({ models: [{ name: "tinyllama" }], port });
      return 0.5;
    },
  });
  const answer = await gather(local.model.ask(ask("hi"), call()));
  await using there = await second;
  assert.equal(answer.text, "tinyllama heard: hi");
  assert.equal(there?.requests.length, 1);
});

Deno.test("the local model does not try again when the answer had begun, or the server refused the request", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(ollama.url);
  for (
    const fault of ["reset_mid_stream", "close_before_headers", "load_failure", "model_missing", "proxy_502"] as const
  ) {
    const before = ollama.requests.length;
    ollama.play(fault);
    assert.ok((await gather(local.model.ask(ask("hi"), call()))).failure, fault);
    assert.equal(ollama.requests.length, before + 1, fault);
  }
});

Deno.test("a cancelled caller does not wait for the next attempt", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], script: () => "queue_full" });
  const controller = new AbortController();
  using local = testModel(ollama.url, { retryDelayMs: 600_000, totalMs: 6_000_000 }, {
    random() { // the pause is about to begin
      queueMicrotask(() => controller.abort());
      return 0.5;
    },
  });
  const answer = await gather(local.model.ask(ask("hi"), call({ signal: controller.signal })));
  assert.equal(answer.failure?.code, "cancelled");
  assert.equal(ollama.requests.length, 1);
});

Deno.test("the local model lets N calls in, keeps M waiting, and refuses the next at once", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: (prompt) => `${prompt} `.repeat(10) }],
  });
  const release = ollama.hold();
  using local = testModel(ollama.url, { maxInFlight: 2, maxWaiting: 2 });
  const calls = ["a", "b", "c", "d"].map((prompt) => gather(local.model.ask(ask(prompt), call())));
  await ollama.until((requests) => requests.length === 2);
  assert.deepEqual(local.occupancy(), { inFlight: 2, waiting: 2 });
  const refused = await gather(local.model.ask(ask("e"), call()));
  assert.equal(refused.failure?.code, "busy");
  assert.match(refused.failure.message, /2 calls run and 2 wait;/);
  assert.equal(ollama.requests.length, 2, "nobody was answered meanwhile");
  release();
  assert.deepEqual((await Promise.all(calls)).map((it) => it.text.slice(0, 1)), ["a", "b", "c", "d"]);
  assert.deepEqual(local.occupancy(), { inFlight: 0, waiting: 0 });
  assert.equal(ollama.requests.length, 4);
});

Deno.test("a call that is cancelled while it waits is never sent", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const release = ollama.hold();
  using local = testModel(ollama.url, { maxInFlight: 1 });
  const first = gather(local.model.ask(ask("a"), call()));
  await ollama.until((requests) => requests.length === 1);
  const controller = new AbortController();
  const second = gather(local.model.ask(ask("b"), call({ signal: controller.signal })));
  controller.abort();
  assert.equal((await second).failure?.code, "cancelled");
  release();
  assert.ok((await first).completion);
  assert.equal(ollama.requests.length, 1);
});

Deno.test("time spent waiting for a place counts towards the total", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], script: () => "silent" });
  using local = testModel(ollama.url, { maxInFlight: 1 });
  const controller = new AbortController();
  const first = gather(local.model.ask(ask("a"), call({ signal: controller.signal })));
  const second = await gather(local.model.ask(ask("b"), call({ totalMs: 60 })));
  assert.equal(second.failure?.code, "busy");
  controller.abort();
  assert.equal((await first).failure?.code, "cancelled");
});

Deno.test("a prompt over the limit is refused before it is sent", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(ollama.url, { maxPromptBytes: 10 });
  const { failure } = await gather(local.model.ask(ask("éééééé"), call()));
  assert.equal(failure?.code, "invalid_request");
  assert.match(failure.message, /12 bytes and may have 10/);
  assert.equal(ollama.requests.length, 0);
});

Deno.test("leaving the iteration frees the place", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], script: () => "slow_drip" });
  using local = testModel(ollama.url, { maxInFlight: 1, maxWaiting: 0 });
  for (let round = 0; round < 3; round++) {
    for await (const event of local.model.ask(ask("hi"), call())) {
      assert.equal(event.type, "delta");
      break;
    }
    assert.deepEqual(local.occupancy(), { inFlight: 0, waiting: 0 });
  }
  await ollama.until((requests) => requests.every((it) => it.outcome === "aborted"));
});

Deno.test("a principal with one call does not wait behind another's ten", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: (prompt) => `${prompt} `.repeat(10) }],
  });
  using local = testModel(ollama.url, { maxInFlight: 1, totalMs: 60_000 });
  const finished: string[] = [];
  const ask1 = async (prompt: string, fairnessKey: string): Promise<void> => {
    await gather(local.model.ask(ask(prompt), call({ fairnessKey })));
    finished.push(prompt);
  };
  const many = Array.from({ length: 10 }, (_, index) => ask1(`a${index}`, "ann"));
  const one = ask1("b", "bob");
  await Promise.all([...many, one]);
  assert.ok(finished.indexOf("b") <= 2, finished.join(" "));
});

Deno.test("a person with two long answers gives one up, in words, when another has waited without any", async () => {
  let offset = 0;
  const clock = (): number => performance.now() + offset;
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 50, answer: () => "word ".repeat(2_000) }],
  });
  using local = testModel(ollama.url, { maxInFlight: 2, idleMs: 100_000, totalMs: 200_000 }, { clock });
  const start = (person: string, fairnessKey: string, signal: AbortSignal) =>
    gather(local.model.ask(ask("x", { options: { maxTokens: 4_000 } }), call({ person, fairnessKey, signal })));
  const stop = new AbortController();
  const first = start("ann", "ann/desk", stop.signal);
  const second = start("ann", "ann/phone", stop.signal);
  await ollama.until((requests) => requests.length === 2);
  offset = 31_000;
  const other = start("bob", "bob", stop.signal);
  const pushedOut = await second;
  assert.equal(pushedOut.failure?.code, "busy");
  assert.match(pushedOut.failure?.message ?? "", /others wait for the model, and you have another call running/);
  await ollama.until((requests) => requests.length === 3);
  stop.abort();
  assert.deepEqual([(await first).failure?.code, (await other).failure?.code], ["cancelled", "cancelled"]);
});
