import assert from "node:assert/strict";
import { createSharedRateLimiter } from "../../src/http/guard.ts";
import { createAgreedClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Batch, Storage } from "../../src/storage/port.ts";

const quiet = { write: () => {}, flush: () => {} };

/** Instances of one limit on one database, in one time that the test moves; the wall clock of each may be `ahead` of it. */
async function open(
  options: { readonly count: number; readonly instances: number; readonly ahead?: readonly number[] },
) {
  const directory = await Deno.makeTempDir();
  const time = { now: 1_800_000_000_000 };
  const wall = { jump: 0 };
  const lost = { isLost: false, commits: 0 };
  const instances = Array.from({ length: options.instances }, (_, index) => {
    const clock = (): number => time.now + wall.jump + (options.ahead?.[index] ?? 0);
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
        windowMs: 960_000,
        storage: watched,
        hideKey: (key) => `hidden ${key.length}`,
        clock,
        agreedClock: createAgreedClock(clock, { elapsed: () => time.now }),
        log: quiet,
      });
    return { storage, make, limiter: make() };
  });
  const at = (index: number) => instances[index % instances.length]?.limiter ?? assert.fail("no instance");
  return {
    time,
    wall,
    lost,
    instances,
    at,
    async [Symbol.asyncDispose]() {
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
  await new Promise((resolve) => setTimeout(resolve)); // it settles behind the request
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
});

Deno.test("shared rate limit: while the storage is lost each instance counts for itself, and settles when it is back", async () => {
  await using place = await open({ count: 16, instances: 2 });
  place.lost.isLost = true;
  assert.equal(await admissions(Array.from({ length: 50 }, () => place.at(0).take("a"))), 16);
  place.lost.isLost = false;
  place.time.now += 60_000;
  assert.equal((await place.at(0).take("a")).ok, true, "a place is free again each minute");
  assert.equal((await place.at(1).take("a")).ok, true);
  assert.equal((await place.at(1).take("a")).ok, false);
});

const jumps = { "an hour back": -3_600_000, "400 days back": -34_560_000_000, "400 days ahead": 34_560_000_000 };

for (const [name, jump] of Object.entries(jumps)) {
  Deno.test(`shared rate limit: a wall clock that jumps ${name} changes nothing, also for an instance that starts after it`, async () => {
    await using place = await open({ count: 16, instances: 1 });
    assert.equal(await admissions(Array.from({ length: 50 }, () => place.at(0).take("a"))), 16);
    place.wall.jump = jump;
    const refused = await place.at(0).take("a");
    assert.ok(!refused.ok && refused.retryAfterSeconds <= 60, "a place is free again each minute");
    const fresh = place.instances[0]?.make() ?? assert.fail("no instance");
    const admitted = await admissions(Array.from({ length: 50 }, () => fresh.take("a")));
    assert.ok(admitted <= 16, `${admitted} admitted`);
    place.time.now += 960_000;
    assert.equal((await fresh.take("a")).ok, true);
    assert.equal((await place.at(0).take("a")).ok, true);
    place.wall.jump = 0;
    assert.equal((await fresh.take("a")).ok, true);
  });
}

Deno.test("shared rate limit: an entry of an earlier version in the far future counts for two windows at most", async () => {
  await using place = await open({ count: 16, instances: 1 });
  const storage = place.instances[0]?.storage ?? assert.fail("no storage");
  await storage.commit({
    puts: [{ key: ["rate_limit", "test", "hidden 1"], value: { fullAt: 1e13 }, expiresAt: 1e13 }],
  });
  await admissions(Array.from({ length: 4 }, () => place.at(0).take("a")));
  place.time.now += 2 * 960_000;
  assert.equal((await place.at(0).take("a")).ok, true);
});

for (const apart of [45_000, 90_000, 3_600_000]) {
  Deno.test(`shared rate limit: of instances whose clocks are ${apart / 1_000} s apart neither shuts the other out`, async () => {
    await using place = await open({ count: 64, instances: 2, ahead: [apart, 0] });
    await admissions(Array.from({ length: 16 }, (_, index) => place.at(index).take("a"))); // both have settled
    let admitted = 0;
    const windows = 4;
    for (let second = 0; second < windows * 960; second += 15) {
      const [one, other] = [await place.at(0).take("a"), await place.at(1).take("a")];
      for (const answer of [one, other]) {
        if (answer.ok) admitted += 1;
        else assert.ok(answer.retryAfterSeconds <= 60 + 15, `told to wait for ${answer.retryAfterSeconds} s`);
      }
      place.time.now += 15_000;
    }
    // 64 in a window, the burst at the beginning, a sixteenth for each instance; each for itself where far apart.
    const most = 64 * (windows + 1) * (apart > 120_000 ? 2 : 1) + 2 * 4;
    assert.ok(admitted >= 64 * windows * 0.9 && admitted <= most, `${admitted} admitted`);
  });
}
