import assert from "node:assert/strict";
import { createParallelShare } from "../../src/lib/turns.ts";

const never = new AbortController().signal;

Deno.test("so many calls of one caller run at once, the others in their order; another caller's begin at once", async () => {
  const share = createParallelShare(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const begin = (caller: string, name: string) =>
    Promise.resolve(share(caller, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    }, () => never));
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
  assert.equal(share("a", () => 1, () => never), 1);
  await assert.rejects(Promise.resolve(share("a", () => Promise.reject(new Error("broken")), () => never)));
  assert.equal(await share("a", () => Promise.resolve(2), () => never), 2);
});

Deno.test("a call that is cancelled while it waits is never begun, and those behind it are", async () => {
  const share = createParallelShare(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = share("a", () => promise, () => never);
  const cancelling = new AbortController();
  let isBegun = false;
  const second = Promise.resolve(share("a", () => Promise.resolve(isBegun = true), () => cancelling.signal));
  const third = Promise.resolve(share("a", () => Promise.resolve("third"), () => never));
  cancelling.abort();
  await assert.rejects(second, { name: "AbortError" });
  resolve();
  await first;
  assert.equal(await third, "third");
  assert.equal(isBegun, false);
});

Deno.test("a call that stands aside gives its place to the next, and goes on at once as one more", async () => {
  const share = createParallelShare(1);
  const [asked, end, last] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const begun: string[] = [];
  const first = share("a", async (standAside) => {
    await Promise.resolve();
    const comeBack = standAside();
    await asked?.promise;
    comeBack();
    begun.push("first again");
    await end?.promise;
  }, () => never);
  const begin = (name: string) => Promise.resolve(share("a", () => (begun.push(name), last?.promise), () => never));
  await new Promise((resolve) => setTimeout(resolve, 0));
  const others = [begin("second"), begin("third")];
  assert.deepEqual(begun, ["second"]);
  asked?.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(begun, ["second", "first again"]);
  end?.resolve();
  await first;
  assert.deepEqual(begun, ["second", "first again"], "there is one place, and it is taken");
  last?.resolve();
  await Promise.all(others);
  assert.deepEqual(begun, ["second", "first again", "third"]);
});
