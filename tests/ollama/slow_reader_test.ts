import assert from "node:assert/strict";
import { pause } from "../../src/lib/time.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";

const call = (fairnessKey: string) => ({ signal: noSignal(), fairnessKey, totalMilliseconds: 60_000 });

Deno.test("of two callers, one stuck, the other gets its answers, and the stuck one gets its own whole in the end", async () => {
  const answer = `${"x".repeat(2000)} `.repeat(200);
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => answer }] });
  using local = testModel(ollama.url, { totalMs: 60_000, idleMs: 2_000 });
  const request = ask("x", { options: { maxTokens: 4096 } });
  const fastDone = Promise.withResolvers<void>();
  let slowRead = "";
  const slow = (async () => {
    for await (const event of local.model.ask(request, call("slow"))) {
      if (event.type !== "delta") continue;
      const isFirst = slowRead === "";
      slowRead += event.text;
      if (!isFirst) continue;
      await fastDone.promise;
      await pause(2_500); // above the idle limit: that the consumer is slow says nothing about the model
    }
  })();
  for (let round = 0; round < 3; round++) {
    assert.equal((await gather(local.model.ask(request, call("fast")))).text, answer);
  }
  fastDone.resolve();
  assert.ok(slowRead.length < answer.length, "the slow caller is still reading");
  await slow;
  assert.equal(slowRead, answer);
});
