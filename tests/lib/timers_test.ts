import assert from "node:assert/strict";
import { longestTimerMs, systemTimers } from "../../src/lib/time.ts";

Deno.test("a timer longer than 2^31 milliseconds does not fire at once, and can be stopped", async () => {
  const fired: string[] = [];
  const stops = [longestTimerMs + 1, 2 ** 32, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER, Infinity].flatMap((delay) => [
    systemTimers.after(delay, () => void fired.push(`after ${delay}`)),
    systemTimers.every(delay, () => void fired.push(`every ${delay}`)),
  ]);
  await new Promise<void>((resolve) => void systemTimers.after(20, resolve));
  for (const stop of stops) stop();
  assert.deepEqual(fired, []);
});

Deno.test("a timer fires once, a repeated one until it is stopped, and neither after that", async () => {
  const fired: string[] = [];
  const stopped = systemTimers.after(1, () => void fired.push("stopped"));
  stopped();
  const stop = systemTimers.every(1, () => {
    fired.push("every");
    if (fired.length === 3) stop();
  });
  await new Promise<void>((resolve) => void systemTimers.after(-5, resolve));
  await new Promise<void>((resolve) => void systemTimers.after(100, resolve));
  assert.deepEqual(fired, ["every", "every", "every"]);
});
