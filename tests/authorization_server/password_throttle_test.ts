import assert from "node:assert/strict";
import { createBrowsers } from "../../src/oauth/browser_sessions.ts";
import { createUserDirectory } from "../../src/oauth/manage_users.ts";
import { createPasswordHasher } from "../../src/oauth/password_hash.ts";
import { createPasswordThrottle, verifyPassphrase } from "../../src/oauth/sign_in.ts";
import { issuer, passphrase, startHarness } from "./harness.ts";
import { createAgreedClock } from "../../src/lib/time.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Storage } from "../../src/storage/port.ts";

const agreed = (clock: () => number) => createAgreedClock(clock, { elapsed: clock });
const secrets = createSecretBox(new Uint8Array(32).fill(1));

async function open(instanceCount = 1) {
  const directory = await Deno.makeTempDir();
  const time = { now: 1_000_000_000 };
  const clock = (): number => time.now;
  const storages = Array.from(
    { length: instanceCount },
    (): Storage => openSqliteStorage({ path: `${directory}/a.db`, clock }),
  );
  const throttles = storages.map((storage) =>
    createPasswordThrottle({ storage, secrets, clock, agreedClock: agreed(clock) })
  );
  const [throttle] = throttles;
  assert.ok(throttle !== undefined);
  return {
    time,
    throttle,
    throttles,
    storages,
    async [Symbol.asyncDispose]() {
      await Promise.all(storages.map((storage) => storage.close()));
      await Deno.remove(directory, { recursive: true });
    },
  };
}

Deno.test("the delay of an address doubles up to five minutes, never further", async () => {
  await using place = await open();
  const { time, throttle } = place;
  const waits: number[] = [];
  for (let count = 0; count < 40; count++) {
    const decision = await throttle.begin("a", true);
    if (decision.ok) continue;
    waits.push(decision.retryAfterSeconds);
    time.now += decision.retryAfterSeconds * 1_000;
  }
  assert.deepEqual(waits.slice(0, 9), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
  assert.ok(waits.slice(9).every((wait) => wait === 300));
});

Deno.test("an hour of quiet wipes an address clean; success takes back one attempt and no more", async () => {
  await using place = await open();
  const { time, throttle } = place;
  for (let count = 0; count < 6; count++) await throttle.begin("a", true);
  assert.ok(!(await throttle.begin("a", true)).ok);
  time.now += 3_600_000;
  for (let count = 0; count < 5; count++) assert.ok((await throttle.begin("a", true)).ok);
  await throttle.uncount("a", true);
  assert.ok((await throttle.begin("a", true)).ok);
  assert.ok((await throttle.begin("a", true)).ok);
  assert.ok(!(await throttle.begin("a", true)).ok);
});

Deno.test("somebody who signs in as themselves in between guesses another's passphrase no faster", async () => {
  await using place = await open();
  const { time, throttle } = place;
  const began = time.now;
  for (let guesses = 0; guesses < 20;) {
    for (const isOwn of [true, false]) {
      const decision = await throttle.begin("insider", true);
      if (!decision.ok) {
        time.now += decision.retryAfterSeconds * 1_000;
        await throttle.begin("insider", true);
      }
      if (isOwn) await throttle.uncount("insider", true);
      else guesses++;
    }
  }
  assert.ok(time.now - began > 1_000_000, `${(time.now - began) / 1_000} s for 20 guesses`);
});

Deno.test("an attack from many addresses slows strangers by seconds, and a browser that signed in before not at all", async () => {
  await using place = await open(2);
  const { throttles } = place;
  const at = (count: number) => throttles[count % 2] ?? place.throttle;
  for (let count = 0; count < 51; count++) assert.ok((await at(count).begin(`address ${count}`, false)).ok);
  for (const throttle of throttles) {
    const stranger = await throttle.begin("somebody new", false);
    assert.ok(!stranger.ok && stranger.retryAfterSeconds <= 5);
  }
  assert.ok((await at(1).begin("browser of the owner", true)).ok);
});

Deno.test("64 guesses at once, spread over four instances, get as many attempts as one after another", async () => {
  await using place = await open(4);
  const { throttles, time } = place;
  const guesses = await Promise.all(
    Array.from({ length: 64 }, (_, count) => (throttles[count % 4] ?? place.throttle).begin("a", false)),
  );
  assert.equal(guesses.filter(({ ok }) => ok).length, 6); // five are free, the sixth starts the delay
  time.now += 1_000;
  const next = await Promise.all(throttles.map((throttle) => throttle.begin("a", false)));
  assert.equal(next.filter(({ ok }) => ok).length, 1);
});

Deno.test("a restart forgets no failure, and everything stored about attempts ends by itself", async () => {
  await using place = await open();
  const { time, throttle, storages: [storage] } = place;
  assert.ok(storage !== undefined);
  for (let count = 0; count < 6; count++) await throttle.begin("192.0.2.1", false);
  const restarted = createPasswordThrottle({
    storage,
    secrets,
    clock: () => time.now,
    agreedClock: agreed(() => time.now),
  });
  assert.ok(!(await restarted.begin("192.0.2.1", false)).ok);
  const entries = await storage.list(["sign_in_attempts"], { limit: 10 });
  assert.equal(entries.length, 2);
  assert.ok(!JSON.stringify(entries).includes("192.0.2.1"), "no address is stored");
  time.now += 24 * 3_600_000;
  assert.equal(await storage.sweep(time.now), 2);
});

Deno.test("a wall clock that jumps an hour or half a day ahead resets no count", async () => {
  for (const jump of [3_600_000, 12 * 3_600_000]) {
    await using place = await open();
    const { time, storages: [storage] } = place;
    assert.ok(storage !== undefined);
    const steady = time.now;
    const agreedClock = createAgreedClock(() => steady, { elapsed: () => 0 });
    const throttle = createPasswordThrottle({ storage, secrets, clock: () => time.now, agreedClock });
    for (let count = 0; count < 6; count++) await throttle.begin("a", false);
    time.now += jump;
    assert.ok(!(await throttle.begin("a", false)).ok);
  }
});

const jumps = { "an hour back": -3_600_000, "half an hour back": -1_800_000, "400 days ahead": 400 * 86_400_000 };

for (const [name, jump] of Object.entries(jumps)) {
  Deno.test(`a wall clock that jumps ${name} lengthens no delay, also of an instance that starts after it`, async () => {
    await using place = await open();
    const { time, storages: [storage] } = place;
    assert.ok(storage !== undefined);
    const wall = { jump: 0 };
    const elapsed = (): number => time.now;
    const clock = (): number => time.now + wall.jump;
    const start = () =>
      createPasswordThrottle({ storage, secrets, clock, agreedClock: createAgreedClock(clock, { elapsed }) });
    const throttle = start();
    for (let count = 0; count < 12; count++) await throttle.begin("a", true);
    wall.jump = jump;
    const refused = await throttle.begin("a", true);
    assert.ok(!refused.ok && refused.retryAfterSeconds === 1);
    for (const each of [throttle, start()]) {
      const next = await each.begin("a", true);
      if (next.ok) continue;
      assert.ok(next.retryAfterSeconds <= 2, `${next.retryAfterSeconds} s`);
      time.now += next.retryAfterSeconds * 1_000;
      assert.ok((await each.begin("a", true)).ok);
    }
  });
}

Deno.test("instances whose clocks are apart count attempts together: neither guesses for free, neither waits longer", async () => {
  await using place = await open();
  const { time, storages: [storage] } = place;
  assert.ok(storage !== undefined);
  const instances = [0, 45_000, -90_000, 600_000].map((ahead) => {
    const clock = (): number => time.now + ahead;
    const agreedClock = createAgreedClock(clock, { elapsed: () => time.now });
    return createPasswordThrottle({ storage, secrets, clock: () => time.now, agreedClock });
  });
  for (const instance of instances) await instance.begin("a", true); // each has seen the stamps of the others
  for (const instance of instances) await instance.begin("a", true);
  for (const instance of instances) {
    const refused = await instance.begin("a", true);
    assert.ok(!refused.ok && refused.retryAfterSeconds <= 2);
  }
});

Deno.test("a passphrase that was not judged, since the server is busy, counts as no wrong one", async () => {
  await using harness = await startHarness();
  const { deps, storage } = harness;
  const users = createUserDirectory(storage, deps);
  const hasher = createPasswordHasher();
  let isBusy = false;
  const options = {
    ...deps,
    users,
    browsers: createBrowsers({ ...deps, users }),
    throttle: createPasswordThrottle({ ...deps, agreedClock: agreed(deps.clock) }),
    passwords: {
      ...hasher,
      verify: (text: string, hash: string) => isBusy ? Promise.resolve("busy" as const) : hasher.verify(text, hash),
    },
  };
  const browser = options.browsers.identify(new Request(issuer));
  const attempt = async (text = passphrase): Promise<string> => {
    const asked = { browser, userName: "owner", passphrase: text, address: "198.51.100.7" };
    const outcome = await verifyPassphrase(options as never, asked);
    return outcome.ok ? "in" : outcome.reason;
  };
  const flood = async () => {
    isBusy = true;
    for (let round = 0; round < 60; round++) assert.equal(await attempt(), "busy", `${round}`);
    isBusy = false;
  };
  await flood();
  for (let wrong = 0; wrong < 4; wrong++) assert.equal(await attempt("something else"), "wrong_passphrase");
  await flood();
  assert.equal(await attempt(), "in", "neither by address nor over all of them");
  for (const reason of ["wrong_passphrase", "wrong_passphrase", "too_many_attempts"]) {
    assert.equal(await attempt("something else"), reason, "wrong ones are counted as before");
  }
});
