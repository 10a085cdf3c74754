import assert from "node:assert/strict";
import { createLookout } from "../../src/lib/time/lookout.ts";

const quiet = { write() {}, flush() {} };

Deno.test("a lookout looks once at a time, and once more however often it was told meanwhile", async () => {
  let looks = 0;
  let gate = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const lookout = createLookout(async () => {
    looks += 1;
    if (looks === 2) second.resolve();
    await gate.promise;
  }, { log: quiet });
  for (let told = 0; told < 5; told++) lookout.again();
  assert.equal(looks, 1);
  const opened = gate;
  gate = Promise.withResolvers();
  opened.resolve();
  await second.promise;
  lookout.stop();
  gate.resolve();
  lookout.again();
  assert.equal(looks, 2);
});

Deno.test("a lookout repeats a look that failed, says why in the log, and not after its end", async () => {
  const logged: string[] = [];
  const log = { write: (_level: string, event: string) => void logged.push(event), flush() {} };
  const done = Promise.withResolvers<void>();
  let looks = 0;
  const lookout = createLookout(() => {
    looks += 1;
    if (looks === 1) return Promise.reject(new Error("lost"));
    done.resolve();
    return Promise.resolve();
  }, { log });
  lookout.again();
  await done.promise;
  assert.deepEqual(logged, ["look_failed"]);
  lookout.stop();
  const failing = createLookout(() => Promise.reject(new Error("lost")), { log: quiet });
  failing.again();
  await Promise.resolve();
  failing.stop(); // its timer would be reported as left behind
});
