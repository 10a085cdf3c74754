import assert from "node:assert/strict";
import { createSharedRateLimiter } from "../../src/http/shared_rate_limit.ts";
import { openSqliteStorage } from "../../src/storage/sqlite.ts";
import type { Batch, Storage } from "../../src/storage/port.ts";

const quiet = { write: () => {}, flush: () => {} };

/** Instances of one limit on one database, under one clock that the test moves. */
async function open(options: { readonly count: number; readonly instances: number }) {
  const directory = await Deno.makeTempDir();
  const time = { now: 1_000_000_000 };
  const clock = (): number => time.now;
  const lost = { isLost: false, commits: 0 };
  const instances = Array.from({ length: options.instances }, () => {
    const storage = openSqliteStorage({ path: `${directory}/a.db`, clock });
    const watched: Storage = {
      ...storage,
      async commit(batch: Batch) {
        if (lost.isLost) throw new Error("connection lost");
        lost.commits++;
        return await storage.commit(batch);
      },
    };
    const make = () =>
      createSharedRateLimiter({
        name: "test",
        count: options.count,
        windowMilliseconds: 960_000,
        storage: watched,
        hideKey: (key) => `hidden ${key.length}`,
        clock,
        log: quiet,
      });
    return { storage, make, limiter: make() };
  });
  const at = (index: number) => instances[index % instances.length]?.limiter ?? assert.fail("no instance");
  return {
    time,
    lost,
    instances,
    at,
    async [Symbol.asyncDispose]() {
      await Promise.all(instances.map(({ limiter }) => limiter.close()));
      await Promise.all(instances.map(({ storage }) => storage.close()));
      await Deno.remove(directory, { recursive: true });
    },
  };
}

async function admissions(answers: readonly unknown[]): Promise<number> {
  return (await Promise.all(answers) as { readonly ok: boolean }[]).filter(({ ok }) => ok).length;
}

Deno.test("shared rate limit: one instance admits exactly the allowance, in a burst and one by one", async () => {
  await using place = await open({ count: 96, instances: 1 });
  assert.equal(await admissions(Array.from({ length: 300 }, () => place.at(0).take("a"))), 96);
  place.time.now += 10_000; // one place is free again each 10 s
  assert.equal(await admissions([place.at(0).take("a"), place.at(0).take("a")]), 1);
});

Deno.test("shared rate limit: four instances under one burst admit at most a sixteenth each beyond the allowance", async () => {
  await using place = await open({ count: 96, instances: 4 });
  const admitted = await admissions(Array.from({ length: 800 }, (_, index) => place.at(index).take("a")));
  assert.ok(admitted >= 96 && admitted <= 96 + 4 * 6, `${admitted} admitted`);
  place.time.now += 960_000;
  const again = await admissions(Array.from({ length: 800 }, (_, index) => place.at(index).take("a")));
  assert.ok(again <= 96 + 4 * 6, `${again} admitted in the second window`);
});

Deno.test("shared rate limit: what one instance admitted is missing in another, and other keys are untouched", async () => {
  await using place = await open({ count: 16, instances: 2 });
  for (let call = 0; call < 16; call++) assert.equal((await place.at(0).take("a")).ok, true);
  assert.equal((await place.at(1).take("a")).ok, true, "its own sixteenth it gives unasked");
  assert.equal((await place.at(1).take("a")).ok, false);
  assert.equal((await place.at(1).take("another")).ok, true);
});

Deno.test("shared rate limit: a charge counts in every instance once it is settled", async () => {
  await using place = await open({ count: 16, instances: 2 });
  place.at(0).charge("a", 20);
  assert.equal((await place.at(0).take("a")).ok, false);
  await place.at(0).close();
  assert.equal((await place.at(1).take("a")).ok, true);
  assert.equal((await place.at(1).take("a")).ok, false);
});

Deno.test("shared rate limit: few calls are admitted at once without a word to the storage, refused ones write nothing", async () => {
  await using place = await open({ count: 160, instances: 1 });
  for (let call = 0; call < 10; call++) assert.ok(!(place.at(0).take("a") instanceof Promise), `call ${call}`);
  assert.equal(place.lost.commits, 0);
  await admissions(Array.from({ length: 200 }, () => place.at(0).take("a")));
  const { commits } = place.lost;
  assert.ok(commits <= 17, `${commits} commits for the whole allowance`);
  await admissions(Array.from({ length: 200 }, () => place.at(0).take("a")));
  assert.equal(place.lost.commits, commits);
});

Deno.test("shared rate limit: a restart forgets nothing that was settled, a kill at most a sixteenth", async () => {
  await using place = await open({ count: 96, instances: 1 });
  assert.equal(await admissions(Array.from({ length: 96 }, () => place.at(0).take("a"))), 96);
  const afterKill = place.instances[0]?.make() ?? assert.fail("no instance");
  const admitted = await admissions(Array.from({ length: 96 }, () => afterKill.take("a")));
  assert.ok(admitted <= 12, `${admitted} admitted: a sixteenth that was forgotten, and one that is given unasked`);
  await afterKill.close();
});

Deno.test("shared rate limit: while the storage is lost each instance counts for itself, and settles when it is back", async () => {
  await using place = await open({ count: 16, instances: 2 });
  place.lost.isLost = true;
  assert.equal(await admissions(Array.from({ length: 50 }, () => place.at(0).take("a"))), 16);
  place.lost.isLost = false;
  place.time.now += 2_000;
  await place.at(0).close();
  assert.equal((await place.at(1).take("a")).ok, true);
  assert.equal((await place.at(1).take("a")).ok, false);
});

Deno.test("shared rate limit: a clock that was years ahead for a while locks nobody out for more than two windows", async () => {
  await using place = await open({ count: 16, instances: 1 });
  const right = place.time.now;
  place.time.now += 1e12;
  await admissions(Array.from({ length: 50 }, () => place.at(0).take("a")));
  await place.at(0).close();
  place.time.now = right;
  const fresh = place.instances[0]?.make() ?? assert.fail("no instance");
  await admissions([fresh.take("a"), fresh.take("a"), fresh.take("a")]);
  place.time.now += 2 * 960_000;
  assert.equal((await fresh.take("a")).ok, true);
  await fresh.close();
});
