import assert from "node:assert/strict";
import { type Admission, createAdmission, type Release } from "../../src/ollama/admission.ts";

const wait = { maxWaitMilliseconds: 5000 };
const never = (): AbortSignal => new AbortController().signal;

async function enterNow(admission: Admission, key: string): Promise<Release> {
  const entered = await admission.enter(key, { signal: never(), ...wait });
  assert.ok(entered.ok);
  return entered.value;
}

/** Queues calls under the keys, then lets them in one after the other and says in which order. */
async function order(admission: Admission, keys: readonly string[]): Promise<string[]> {
  const first = await enterNow(admission, "first");
  const seen: string[] = [];
  const calls = keys.map(async (key) => {
    const entered = await admission.enter(key, { signal: never(), ...wait });
    seen.push(entered.ok ? key : `${key}!`);
    if (entered.ok) entered.value();
  });
  first();
  await Promise.all(calls);
  return seen;
}

Deno.test("createAdmission() lets N in, M wait, and refuses the next at once", async () => {
  const admission = createAdmission({ maxInFlight: 2, maxWaiting: 1 });
  const [a, b] = [await enterNow(admission, "a"), await enterNow(admission, "a")];
  const waiting = admission.enter("a", { signal: never(), ...wait });
  assert.deepEqual(admission.occupancy(), { inFlight: 2, waiting: 1 });
  assert.deepEqual(await admission.enter("a", { signal: never(), ...wait }), { ok: false, error: "full" });
  a();
  a(); // a second release frees nothing
  const c = await waiting;
  assert.ok(c.ok);
  assert.deepEqual(admission.occupancy(), { inFlight: 2, waiting: 0 });
  b();
  c.value();
  assert.deepEqual(admission.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("createAdmission() takes turns between principals", async () => {
  const admission = createAdmission({ maxInFlight: 1, maxWaiting: 10 });
  assert.deepEqual(await order(admission, ["a", "a", "a", "b", "b", "c"]), ["a", "b", "c", "a", "b", "a"]);
});

Deno.test("createAdmission() prefers whoever has fewer calls running", async () => {
  const admission = createAdmission({ maxInFlight: 3, maxWaiting: 10 });
  const releases = [await enterNow(admission, "a"), await enterNow(admission, "a"), await enterNow(admission, "b")];
  const seen: string[] = [];
  const queued = ["a", "b"].map(async (key) => {
    const entered = await admission.enter(key, { signal: never(), ...wait });
    assert.ok(entered.ok);
    seen.push(key);
    releases.push(entered.value);
  });
  releases[0]?.();
  await queued[0];
  assert.deepEqual(seen, ["a"]); // one of a's two ended: a and b are equal then, and a came first
  releases[1]?.();
  await Promise.all(queued);
  releases.forEach((release) => release());
  assert.deepEqual(admission.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("createAdmission() gives a full room's last place of the greediest to a newcomer", async () => {
  const admission = createAdmission({ maxInFlight: 1, maxWaiting: 3 });
  assert.deepEqual(await order(admission, ["a", "a", "a", "b"]), ["a!", "a", "b", "a"]);
});

Deno.test("createAdmission() frees the place of a waiter that cancels or waits too long", async () => {
  const admission = createAdmission({ maxInFlight: 1, maxWaiting: 2 });
  const release = await enterNow(admission, "a");
  const controller = new AbortController();
  const cancelled = admission.enter("b", { signal: controller.signal, ...wait });
  const impatient = admission.enter("c", { signal: never(), maxWaitMilliseconds: 10 });
  controller.abort();
  assert.deepEqual(await cancelled, { ok: false, error: "cancelled" });
  assert.deepEqual(await impatient, { ok: false, error: "timed_out" });
  assert.deepEqual(admission.occupancy(), { inFlight: 1, waiting: 0 });
  assert.deepEqual(await admission.enter("d", { signal: AbortSignal.abort(), ...wait }), {
    ok: false,
    error: "cancelled",
  });
  release();
  (await enterNow(admission, "e"))();
});
