import assert from "node:assert/strict";
import { joinNext } from "../../src/lib/turns.ts";

function countedWork() {
  const runs: PromiseWithResolvers<number>[] = [];
  const call = joinNext(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  return { runs, call };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("joinNext() never gives a caller the result of a run that began before its call", async () => {
  const { runs, call } = countedWork();
  const first = call();
  const late = [call(), call(), call()];
  assert.equal(runs.length, 1);
  runs[0]?.resolve(1);
  assert.equal(await first, 1);
  await settle();
  assert.equal(runs.length, 2, "three late callers share one run");
  const later = call();
  runs[1]?.resolve(2);
  assert.deepEqual(await Promise.all(late), [2, 2, 2]);
  await settle();
  runs[2]?.resolve(3);
  assert.equal(await later, 3);
});

Deno.test("joinNext() passes a failure to those who shared the run, and goes on", async () => {
  const { runs, call } = countedWork();
  const first = call();
  const second = call();
  runs[0]?.reject(new Error("lost"));
  await assert.rejects(first, /lost/);
  await settle();
  runs[1]?.resolve(2);
  assert.equal(await second, 2);
  await settle();
  const third = call();
  runs[2]?.resolve(3);
  assert.equal(await third, 3);
});
