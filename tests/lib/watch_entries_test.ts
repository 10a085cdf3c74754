import assert from "node:assert/strict";
import { watchEntries } from "../../src/lib/stored_entries.ts";

const quiet = { write() {}, flush() {} };

/** A storage whose entries change when told to. */
function changingEntries() {
  const watchers = new Map<string, () => void>();
  return {
    watchers,
    watch(key: string, onChange: () => void) {
      watchers.set(key, onChange);
      return () => void watchers.delete(key);
    },
  };
}

Deno.test("watchEntries() looks once at a time, and once more however often it is asked meanwhile", async () => {
  let looks = 0;
  let gate = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const watch = watchEntries(changingEntries(), ["a"], async () => {
    looks += 1;
    if (looks === 2) second.resolve();
    await gate.promise;
  }, { log: quiet });
  for (let told = 0; told < 5; told++) watch.look();
  assert.equal(looks, 1);
  const opened = gate;
  gate = Promise.withResolvers();
  opened.resolve();
  await second.promise;
  watch.stop();
  gate.resolve();
  watch.look();
  assert.equal(looks, 2);
});

Deno.test("watchEntries() repeats a look that failed and logs why, but not after its end", async () => {
  const logged: string[] = [];
  const log = { write: (_level: string, event: string) => void logged.push(event), flush() {} };
  const done = Promise.withResolvers<void>();
  let looks = 0;
  const watch = watchEntries(changingEntries(), ["a"], () => {
    looks += 1;
    if (looks === 1) return Promise.reject(new Error("lost"));
    done.resolve();
    return Promise.resolve();
  }, { log });
  watch.look();
  await done.promise;
  assert.deepEqual(logged, ["look_failed"]);
  watch.stop();
  const failing = watchEntries(changingEntries(), ["a"], () => Promise.reject(new Error("lost")), { log: quiet });
  failing.look();
  await Promise.resolve();
  failing.stop(); // its timer would be reported as left behind
});

Deno.test("watchEntries() looks after a change of any of its entries, and watches none after its end", async () => {
  const entries = changingEntries();
  let looks = 0;
  const watch = watchEntries(entries, ["a", "b"], () => Promise.resolve(void looks++), { log: quiet });
  assert.equal(looks, 0);
  entries.watchers.get("b")?.();
  await Promise.resolve();
  entries.watchers.get("a")?.();
  await Promise.resolve();
  assert.equal(looks, 2);
  watch.stop();
  assert.equal(entries.watchers.size, 0);
});
