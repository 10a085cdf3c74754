import assert from "node:assert/strict";
import { createRateLimiter } from "../../src/http/guard.ts";

function limiterAt(count: number, maxKeys = 1_000) {
  const time = { now: 1_000_000 };
  const limiter = createRateLimiter({ count, windowMs: 60_000, clock: () => time.now, maxKeys });
  return { time, limiter };
}

Deno.test("rate limit: admits a burst of the whole allowance, then says when to come back", () => {
  const { time, limiter } = limiterAt(60);
  for (let call = 0; call < 60; call++) assert.equal(limiter.take("a").ok, true, `call ${call}`);
  const refused = limiter.take("a");
  assert.deepEqual(refused, { ok: false, retryAfterSeconds: 1 });
  assert.equal(limiter.take("b").ok, true, "another key has its own allowance");
  time.now += 1_000;
  assert.equal(limiter.take("a").ok, true, "one place is free after the time that was named");
  assert.equal(limiter.take("a").ok, false);
});

Deno.test("rate limit: a refused call costs nothing, a charge counts beyond the allowance but is bounded", () => {
  const { time, limiter } = limiterAt(10);
  limiter.charge("a", 1_000);
  const refused = limiter.take("a");
  assert.ok(!refused.ok && refused.retryAfterSeconds <= 66, "the debt is at most one window");
  for (let call = 0; call < 100; call++) limiter.take("a");
  time.now += 66_000;
  assert.equal(limiter.take("a").ok, true);
});

Deno.test("rate limit: remembers a bounded number of keys and keeps admitting new ones", () => {
  const { limiter } = limiterAt(1, 50);
  for (let key = 0; key < 500; key++) assert.equal(limiter.take(`k${key}`).ok, true);
  assert.equal(limiter.take("k499").ok, false, "a fresh key is still remembered");
});

Deno.test("rate limit: when there are too many keys, a sixteenth of them is forgotten at once, the oldest", () => {
  const { limiter } = limiterAt(1, 32);
  for (let key = 0; key < 32; key++) assert.equal(limiter.take(`${key}`).ok, true);
  assert.equal(limiter.take("one more").ok, true);
  assert.deepEqual(["2", "31", "one more"].map((key) => limiter.take(key).ok), [false, false, false]);
  assert.equal(limiter.take("1").ok, true, "one more key made room for two");
});
