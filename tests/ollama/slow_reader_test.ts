import assert from "node:assert/strict";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";

const call = (fairnessKey: string) => ({ signal: noSignal(), fairnessKey, totalMilliseconds: 60_000 });

Deno.test("two callers, one of them slow: the other is not slowed, and the slow one's answer is whole", async () => {
  const answer = `${"x".repeat(2000)} `.repeat(200);
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => answer }] });
  using local = testModel(ollama.url, { totalSeconds: 60, idleSeconds: 0.1 });
  const request = ask("x", { options: { maxTokens: 4096 } });
  const alone = performance.now();
  await gather(local.model.generate(request, call("fast")));
  const aloneTook = performance.now() - alone;

  let slowRead = "";
  let fastDone = 0;
  const slow = (async () => {
    for await (const event of local.model.generate(request, call("slow"))) {
      if (event.type !== "delta") continue;
      slowRead += event.text;
      // A pause above the idle limit: that the consumer is slow says nothing about the model.
      if (slowRead.length < 4100) await new Promise((resolve) => setTimeout(resolve, 150));
    }
  })();
  const together = performance.now();
  for (let round = 0; round < 3; round++) {
    assert.equal((await gather(local.model.generate(request, call("fast")))).text, answer);
    fastDone = performance.now();
  }
  assert.ok(slowRead.length < answer.length, "the slow caller is still reading");
  assert.ok(
    (fastDone - together) / 3 < aloneTook * 5 + 50,
    `${(fastDone - together) / 3} ms against ${aloneTook} ms alone`,
  );
  await slow;
  assert.equal(slowRead, answer);
});
