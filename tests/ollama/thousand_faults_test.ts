import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, noSignal, testModel } from "../fixtures/ollama_calls.ts";
import { type FaultName, faults } from "../fixtures/ollama_faults.ts";
import { until } from "../fixtures/until.ts";

/** Descriptors of this process; where they cannot be counted, none. */
function descriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

Deno.test("after 1,000 faults, cancellations and early ends no place, timer, connection or descriptor is left", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 1, answer: () => "word ".repeat(200) }],
  });
  using local = testModel(ollama.url, {
    maxInFlight: 16,
    maxWaiting: 1000,
    maxAttempts: 2,
    idleMs: 50,
    totalMs: 200,
    retryDelayMs: 1,
    maxOutputBytes: 20_000,
    maxLineBytes: 100_000,
  });
  const names = Object.keys(faults) as FaultName[];
  const ask1 = async (index: number): Promise<void> => {
    const fault = names[index % names.length];
    const controller = new AbortController();
    const call = { signal: controller.signal, fairnessKey: `principal ${index % 5}`, totalMs: 60_000 };
    switch (Math.floor(index / names.length) % 4) {
      case 0: { // the fault by itself
        if (fault !== undefined) ollama.play(fault);
        return void await gather(local.model.ask(ask("x"), call));
      }
      case 1: { // the caller cancels somewhere in between
        if (fault !== undefined) ollama.play(fault);
        const timer = setTimeout(() => controller.abort(), index % 13);
        await gather(local.model.ask(ask("x"), call));
        return clearTimeout(timer);
      }
      case 2: // the consumer leaves after the first event
        for await (const _ of local.model.ask(ask("x"), call)) return;
        return;
      default: // cancelled in mid-sentence
        for await (
          const event of local.model.ask({
            model: "tinyllama",
            messages: [{ role: "user", content: "x" }],
            options: { maxTokens: 9 },
          }, call)
        ) {
          if (event.type === "delta") controller.abort();
        }
    }
  };
  const settled = async (): Promise<void> => {
    await ollama.until((requests) => requests.every((request) => request.outcome !== "running"));
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => ask1(index))); // what is opened once is open now
  await settled();
  const before = descriptors();
  // On a busy machine many calls time out in the queue: it gets more of them.
  for (let round = 0; round < 10 || ollama.requests.length <= 100; round++) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => ask1(round * 100 + index)));
  }
  await settled();
  assert.deepEqual(local.occupancy(), { inFlight: 0, waiting: 0 });
  await until("all connections but the idle ones to end", () => ollama.connections() <= 16);
  // Both ends of a connection are in this process.
  await until(`no more than ${before} descriptors and those of 16 connections`, () => descriptors() <= before + 2 * 16);
  ollama.forgetPlays();
  await until("a whole answer within these short limits", async () => {
    ollama.play("missing_counts");
    const last = await gather(local.model.ask(ask("x"), { signal: noSignal(), fairnessKey: "ann" }));
    return last.completion?.type === "done";
  });
});
