import assert from "node:assert/strict";
import { createParallelShare } from "../../src/lib/parallel_share.ts";

Deno.test("so many calls of one caller run at once, the others in their order; another caller's begin at once", async () => {
  const share = createParallelShare(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const begin = (caller: string, name: string) =>
    Promise.resolve(share(caller, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    }));
  const all = [begin("a", "a1"), begin("a", "a2"), begin("a", "a3"), begin("a", "a4"), begin("b", "b1")];
  assert.deepEqual(begun, ["a1", "a2", "b1"]);
  ends[0]?.();
  await all[0];
  assert.deepEqual(begun, ["a1", "a2", "b1", "a3"]);
  for (let index = 1; index < 5; index++) {
    await Promise.resolve();
    ends[index]?.();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await Promise.all(all);
  assert.deepEqual(begun.at(-1), "a4");
});

Deno.test("a call that fails gives its place up, and one without a promise takes none", async () => {
  const share = createParallelShare(1);
  assert.equal(share("a", () => 1), 1);
  await assert.rejects(Promise.resolve(share("a", () => Promise.reject(new Error("broken")))));
  assert.equal(await share("a", () => Promise.resolve(2)), 2);
});
