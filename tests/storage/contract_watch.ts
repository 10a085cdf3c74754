/** What the storage port promises of `watch()`. */
import assert from "node:assert/strict";
import type { Storage, StorageKey } from "../../src/storage/port.ts";
import { put, type RegisterPromise } from "./contract.ts";

/** The calls of one watch. */
export interface WatchedCalls {
  readonly count: () => number;
  /** Resolves at the next call after this one. */
  readonly next: () => Promise<void>;
  readonly stop: () => void;
}

/** Watches a key and counts. */
export function countCalls(storage: Storage, key: StorageKey): WatchedCalls {
  let count = 0;
  let waiting = Promise.withResolvers<void>();
  const stop = storage.watch(key, () => {
    count += 1;
    waiting.resolve();
    waiting = Promise.withResolvers();
  });
  return { count: () => count, next: () => waiting.promise, stop };
}

/** Resolves once `storage` holds `value` under `key`, looking only when a watch of the key says so. */
export async function watchedValue(storage: Storage, key: StorageKey, value: unknown): Promise<void> {
  const calls = countCalls(storage, key);
  try {
    for (;;) {
      const called = calls.next();
      if ((await storage.get(key))?.value === value) return;
      await called;
    }
  } finally {
    calls.stop();
  }
}

/** A watch of `["grant", "standing"]` that has been called: the way from the database to here is open. */
async function standingWatch(storage: Storage): Promise<WatchedCalls> {
  const calls = countCalls(storage, ["grant", "standing"]);
  const called = calls.next();
  await put(storage, ["grant", "standing"], 1);
  await called;
  return calls;
}

/** Registers the tests. */
export function testWatching(promise: RegisterPromise): void {
  promise("watch() tells of a put, a delete and a consume, by this opening and by another", async (storage, place) => {
    const other = await place.open();
    try {
      const key = ["grant", "a b!"] as const;
      const calls = countCalls(storage, key);
      for (const writer of [other, storage]) {
        const steps = [
          () => put(writer, key, 1),
          () => writer.consume(key),
          () => put(writer, key, 2),
          () => writer.commit({ deletes: [key] }),
        ];
        for (const step of steps) {
          const called = calls.next();
          await step();
          await called;
        }
      }
      calls.stop();
    } finally {
      await other.close();
    }
  });

  promise(
    "watch() loses no change from the moment it returns, however soon the change comes",
    async (storage, place) => {
      const other = await place.open();
      try {
        for (let round = 0; round < 10; round++) {
          const key = ["grant", String(round)] as const;
          const seen = watchedValue(storage, key, round);
          await put(other, key, round);
          await seen;
        }
      } finally {
        await other.close();
      }
    },
  );

  promise("watch() keeps to its key, and to its end", async (storage, place) => {
    const other = await place.open();
    try {
      const standing = await standingWatch(storage);
      const [one, sibling, below] = [["user", "one"], ["user", "two"], ["user", "one", "x"]] as const;
      const [mine, again, its, lower] = [one, one, sibling, below].map((key) => countCalls(storage, key));
      assert.ok(mine && again && its && lower);
      again.stop();
      const called = mine.next();
      await put(other, one, 1);
      await called;
      mine.stop();
      // Changes are told in their order: with the last one, the earlier ones were told.
      const calledToo = its.next();
      await put(other, one, 2);
      await put(other, sibling, 3);
      await calledToo;
      assert.deepEqual([mine, again, its, lower].map((each) => each.count()), [1, 0, 1, 0]);
      its.stop();
      lower.stop();
      standing.stop();
    } finally {
      await other.close();
    }
  });

  promise("watch() tells of every key of many, changed in one batch or in many", async (storage, place) => {
    const other = await place.open();
    try {
      const keys = Array.from({ length: 300 }, (_, at) => ["mcp_session", `${at}-${"x".repeat(80)}`] as const);
      const told = Promise.all(keys.map((key) => watchedValue(storage, key, "new")));
      for (let at = 0; at < keys.length; at += 100) {
        await other.commit({ puts: keys.slice(at, at + 100).map((key) => ({ key, value: "new" })) });
      }
      await told;
      const toldAgain = Promise.all(keys.slice(0, 60).map((key) => watchedValue(storage, key, "newer")));
      await Promise.all(keys.slice(0, 60).map((key) => put(other, key, "newer")));
      await toldAgain;
    } finally {
      await other.close();
    }
  });

  promise("a commit that fails, and a key that cannot be watched or stored, are told of nothing", async (storage) => {
    const standing = await standingWatch(storage);
    assert.throws(() => storage.watch(["chunk", "x"], () => {}), TypeError);
    const impossible = countCalls(storage, ["grant", ""]);
    const failing = countCalls(storage, ["grant", "f"]);
    const checks = [{ key: ["grant", "f"], version: "no" }] as const;
    assert.equal(await storage.commit({ checks, puts: [{ key: ["grant", "f"], value: 1 }] }), false);
    assert.equal(await storage.consume(["grant", "f"]), null);
    const called = standing.next();
    await put(storage, ["grant", "standing"], 2);
    await called;
    assert.deepEqual([failing.count(), impossible.count()], [0, 0]);
    for (const each of [impossible, failing, standing]) each.stop();
  });
}
