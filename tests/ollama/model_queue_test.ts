import assert from "node:assert/strict";
import { createModelQueue, type ModelQueue, type Place } from "../../src/llm/local_model.ts";

const wait = { maxWaitMs: 5000 };
const queueOf = (limits: { maxInFlight: number; maxWaiting?: number; shareMs?: number }) =>
  createModelQueue({
    clock: () => performance.now(),
    limits: { maxWaiting: 10, shareMs: 30_000, ...limits },
  });
/** A person with one client, or one of a person's clients: `ann/desk`. */
const caller = (name: string): { person: string; client: string } => ({
  person: name.split("/")[0] ?? "",
  client: name,
});
const never = (): AbortSignal => new AbortController().signal;

async function enterNow(queue: ModelQueue, key: string): Promise<Place> {
  const entered = await queue.enter(caller(key), { signal: never(), ...wait });
  assert.ok(entered.ok);
  return entered.value;
}

/** Queues calls under the keys, then lets them in one after the other and says in which order. */
async function order(queue: ModelQueue, keys: readonly string[]): Promise<string[]> {
  const first = await enterNow(queue, "first");
  const seen: string[] = [];
  const calls = keys.map(async (key) => {
    const entered = await queue.enter(caller(key), { signal: never(), ...wait });
    seen.push(entered.ok ? key : `${key}!`);
    if (entered.ok) entered.value.release();
  });
  first.release();
  await Promise.all(calls);
  return seen;
}

Deno.test("createModelQueue() admits N calls, lets M wait, and refuses the next at once", async () => {
  const queue = queueOf({ maxInFlight: 2, maxWaiting: 1 });
  const [a, b] = [await enterNow(queue, "a"), await enterNow(queue, "a")];
  const waiting = queue.enter(caller("a"), { signal: never(), ...wait });
  assert.deepEqual(queue.occupancy(), { inFlight: 2, waiting: 1 });
  assert.deepEqual(await queue.enter(caller("a"), { signal: never(), ...wait }), { ok: false, error: "full" });
  a.release();
  a.release(); // a second release frees nothing
  const c = await waiting;
  assert.ok(c.ok);
  assert.deepEqual(queue.occupancy(), { inFlight: 2, waiting: 0 });
  b.release();
  c.value.release();
  assert.deepEqual(queue.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("createModelQueue() takes turns between principals", async () => {
  const queue = queueOf({ maxInFlight: 1, maxWaiting: 10 });
  assert.deepEqual(await order(queue, ["a", "a", "a", "b", "b", "c"]), ["a", "b", "c", "a", "b", "a"]);
});

Deno.test("createModelQueue() prefers the caller with fewer calls running", async () => {
  const queue = queueOf({ maxInFlight: 3, maxWaiting: 10 });
  const releases = [await enterNow(queue, "a"), await enterNow(queue, "a"), await enterNow(queue, "b")];
  const seen: string[] = [];
  const queued = ["a", "b"].map(async (key) => {
    const entered = await queue.enter(caller(key), { signal: never(), ...wait });
    assert.ok(entered.ok);
    seen.push(key);
    releases.push(entered.value);
  });
  releases[0]?.release();
  await queued[0];
  assert.deepEqual(seen, ["a"]); // one of a's two ended: a and b are equal then, and a came first
  releases[1]?.release();
  await Promise.all(queued);
  releases.forEach(({ release }) => release());
  assert.deepEqual(queue.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("createModelQueue() gives a newcomer the last place of the caller with the most, when the queue is full", async () => {
  const queue = queueOf({ maxInFlight: 1, maxWaiting: 3 });
  assert.deepEqual(await order(queue, ["a", "a", "a", "b"]), ["a!", "a", "b", "a"]);
});

Deno.test("createModelQueue() frees the place of a waiter that cancels or waits too long", async () => {
  const queue = queueOf({ maxInFlight: 1, maxWaiting: 2 });
  const held = await enterNow(queue, "a");
  const controller = new AbortController();
  const cancelled = queue.enter(caller("b"), { signal: controller.signal, ...wait });
  const impatient = queue.enter(caller("c"), { signal: never(), maxWaitMs: 10 });
  controller.abort();
  assert.deepEqual(await cancelled, { ok: false, error: "cancelled" });
  assert.deepEqual(await impatient, { ok: false, error: "timed_out" });
  assert.deepEqual(queue.occupancy(), { inFlight: 1, waiting: 0 });
  assert.deepEqual(await queue.enter(caller("d"), { signal: AbortSignal.abort(), ...wait }), {
    ok: false,
    error: "cancelled",
  });
  held.release();
  (await enterNow(queue, "e")).release();
});

Deno.test("createModelQueue() goes round the people before their clients, in turns and in a full queue", async () => {
  const queue = queueOf({ maxInFlight: 1, maxWaiting: 10 });
  const keys = ["a/1", "a/2", "a/3", "b/1", "a/1"];
  assert.deepEqual(await order(queue, keys), ["a/1", "b/1", "a/2", "a/3", "a/1"]);
  const small = queueOf({ maxInFlight: 1, maxWaiting: 3 });
  assert.deepEqual(await order(small, ["a/1", "a/2", "a/3", "b/1"]), ["a/3!", "a/1", "b/1", "a/2"]);
});

Deno.test("createModelQueue() lets no person keep a second place longer than a share while another person has none", async () => {
  const queue = queueOf({ maxInFlight: 2, shareMs: 50 });
  const [first, second] = [await enterNow(queue, "a/1"), await enterNow(queue, "a/2")];
  const own = queue.enter(caller("a/3"), { signal: never(), ...wait });
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.deepEqual([first.signal.aborted, second.signal.aborted], [false, false]); // no other person waits
  const other = queue.enter(caller("b/1"), { signal: never(), ...wait });
  await new Promise<void>((resolve) => {
    if (second.signal.aborted) resolve();
    else second.signal.addEventListener("abort", () => resolve());
  });
  assert.equal(first.signal.aborted, false);
  second.release();
  const entered = await other;
  assert.ok(entered.ok);
  entered.value.release();
  const last = await own;
  assert.ok(last.ok);
  last.value.release();
  first.release();
  assert.deepEqual(queue.occupancy(), { inFlight: 0, waiting: 0 });
});
