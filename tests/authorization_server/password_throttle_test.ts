import assert from "node:assert/strict";
import { createPasswordThrottle } from "../../src/authorization_server/password_throttle.ts";

function start() {
  const time = { now: 1_000_000_000 };
  return { time, throttle: createPasswordThrottle(() => time.now) };
}

Deno.test("the delay of an address doubles up to five minutes, never further", () => {
  const { time, throttle } = start();
  const waits: number[] = [];
  for (let count = 0; count < 40; count++) {
    const decision = throttle.begin("a", true);
    if (decision.ok) continue;
    waits.push(decision.retryAfterSeconds);
    time.now += decision.retryAfterSeconds * 1_000;
  }
  assert.deepEqual(waits.slice(0, 9), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
  assert.ok(waits.slice(9).every((wait) => wait === 300));
});

Deno.test("an hour of quiet wipes an address clean; success takes back one attempt and no more", () => {
  const { time, throttle } = start();
  for (let count = 0; count < 6; count++) throttle.begin("a", true);
  assert.ok(!throttle.begin("a", true).ok);
  time.now += 3_600_000;
  for (let count = 0; count < 5; count++) assert.ok(throttle.begin("a", true).ok);
  throttle.succeed("a", true);
  assert.ok(throttle.begin("a", true).ok);
  assert.ok(throttle.begin("a", true).ok);
  assert.ok(!throttle.begin("a", true).ok);
});

Deno.test("somebody who signs in as themselves in between guesses another's passphrase no faster", () => {
  const { time, throttle } = start();
  const began = time.now;
  for (let guesses = 0; guesses < 20;) {
    for (const isOwn of [true, false]) {
      const decision = throttle.begin("insider", true);
      if (!decision.ok) {
        time.now += decision.retryAfterSeconds * 1_000;
        throttle.begin("insider", true);
      }
      if (isOwn) throttle.succeed("insider", true);
      else guesses++;
    }
  }
  assert.ok(time.now - began > 1_000_000, `${(time.now - began) / 1_000} s for 20 guesses`);
});

Deno.test("an attack from many addresses slows strangers by seconds, and a browser that signed in before not at all", () => {
  const { throttle } = start();
  for (let count = 0; count < 51; count++) assert.ok(throttle.begin(`address ${count}`, false).ok);
  const stranger = throttle.begin("somebody new", false);
  assert.ok(!stranger.ok && stranger.retryAfterSeconds <= 5);
  assert.ok(throttle.begin("browser of the owner", true).ok);
});

Deno.test("a flood of addresses does not grow memory without bound, and does not free an attacker's address", () => {
  const { throttle } = start();
  for (let count = 0; count < 20_000; count++) throttle.begin(`address ${count}`, true);
  for (let count = 0; count < 6; count++) throttle.begin("a", true);
  assert.ok(!throttle.begin("a", true).ok);
});
