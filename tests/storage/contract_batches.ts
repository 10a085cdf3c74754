/** The contract's promises about batches: versions, all or nothing, limits, order. */
import assert from "node:assert/strict";
import { type StorageKey, storageLimits } from "../../src/storage/port.ts";
import { put, type RegisterPromise, valuesOf } from "./contract.ts";

/** Registers them. */
export function testBatches(promise: RegisterPromise): void {
  promise("versions change with every write and never come back", async (storage) => {
    const seen = new Set<string>();
    for (let round = 0; round < 5; round++) {
      await put(storage, ["k"], "the same");
      seen.add((await storage.get(["k"]))?.version ?? "");
      await put(storage, ["k"], "the same");
      seen.add((await storage.get(["k"]))?.version ?? "");
      await storage.commit({ deletes: [["k"]] });
    }
    assert.equal(seen.size, 10);
  });

  promise("commit() applies all of a batch or nothing", async (storage) => {
    await put(storage, ["a"], 1);
    const version = (await storage.get(["a"]))?.version ?? null;
    const batch = { checks: [{ key: ["a"], version }], puts: [{ key: ["b"], value: 2 }], deletes: [["a"]] } as const;
    assert.equal(await storage.commit({ ...batch, checks: [{ key: ["a"], version: "stale" }] }), false);
    assert.equal(await storage.commit({ ...batch, checks: [...batch.checks, { key: ["a"], version: null }] }), false);
    assert.equal((await storage.get(["a"]))?.value, 1);
    assert.equal(await storage.get(["b"]), null);
    assert.equal(await storage.commit(batch), true);
    assert.equal(await storage.get(["a"]), null);
    assert.equal((await storage.get(["b"]))?.value, 2);
    assert.equal(await storage.commit({}), true);
  });

  promise("commit() takes an expired entry for absent in its checks", async (storage, place) => {
    await put(storage, ["k"], 1, place.now() + 10);
    const version = (await storage.get(["k"]))?.version ?? null;
    place.advance(10);
    const puts = [{ key: ["k"], value: 2 }] as const;
    assert.equal(await storage.commit({ checks: [{ key: ["k"], version }], puts }), false);
    assert.equal(await storage.commit({ checks: [{ key: ["k"], version: null }], puts }), true);
    assert.equal(await storage.commit({ checks: [{ key: ["k"], version: null }], puts }), false);
    assert.equal((await storage.get(["k"]))?.value, 2);
    assert.equal(await storage.sweep(place.now()), 0);
  });

  promise("the last write of a key counts, and deletes come after puts", async (storage) => {
    await storage.commit({ puts: [{ key: ["a"], value: 1 }, { key: ["a"], value: 2 }, { key: ["b"], value: 3 }] });
    assert.equal((await storage.get(["a"]))?.value, 2);
    await storage.commit({ puts: [{ key: ["b"], value: 4 }], deletes: [["b"], ["b"]] });
    assert.equal(await storage.get(["b"]), null);
  });

  promise("what is not JSON is refused, with everything else in its batch", async (storage) => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [undefined, () => 1, 1n, cycle]) {
      await assert.rejects(
        storage.commit({ puts: [{ key: ["ok"], value: 1 }, { key: ["bad"], value }] }),
        TypeError,
      );
    }
    assert.equal(await storage.get(["ok"]), null);
  });

  promise("values reach the limit whole, are replaced, listed, consumed and swept, and beyond it refused", async (
    storage,
    place,
  ) => {
    const sizes = [59_000, 61_000, 130_000, storageLimits.valueBytes - 2, 10];
    for (const size of sizes) {
      const value = "ä".repeat(Math.floor(size / 2));
      await put(storage, ["big", "k"], value, place.now() + 10);
      assert.equal((await storage.get(["big", "k"]))?.value, value);
      assert.deepEqual(valuesOf(await storage.list(["big"], { limit: 5 })), [value]);
    }
    const value = "x".repeat(300_000);
    await put(storage, ["big", "k"], value);
    assert.equal((await storage.consume(["big", "k"]))?.value, value);
    await put(storage, ["big", "k"], value, place.now() + 10);
    place.advance(10);
    assert.equal(await storage.get(["big", "k"]), null);
    assert.equal(await storage.sweep(place.now()), 1);
    await assert.rejects(put(storage, ["big", "k"], "x".repeat(storageLimits.valueBytes)), RangeError);
  });

  promise("a batch reaches every limit at once, and no further", async (storage) => {
    const key = (at: number, size: number): StorageKey => [String(at).padStart(size - 1, "k")];
    const keySize = Math.floor(storageLimits.batchKeyBytes / 200);
    const valueSize = Math.floor(storageLimits.batchValueBytes / storageLimits.writes);
    const puts = Array.from({ length: storageLimits.writes }, (_, at) => ({
      key: key(at, keySize),
      value: "v".repeat(valueSize - 2),
      expiresAt: 4_000_000_000_000,
    }));
    const checks = puts.map((each) => ({ key: each.key, version: null }));
    assert.equal(await storage.commit({ checks, puts }), true);
    const stored = await storage.get(key(0, keySize));
    assert.equal((stored?.value as string).length, valueSize - 2);
    const one = { key: ["one"], value: 1 } as const;
    await assert.rejects(storage.commit({ puts: [...puts, one] }), RangeError);
    await assert.rejects(storage.commit({ puts, deletes: [["one"]] }), RangeError);
    await assert.rejects(storage.commit({ checks: [...checks, { key: ["one"], version: null }] }), RangeError);
    const long = Array.from({ length: 33 }, (_, at) => ({ key: key(at, 1_000), value: 1 }));
    await assert.rejects(storage.commit({ puts: long }), RangeError);
    const heavy = [1, 2].map((at) => ({ key: key(at, 9), value: "v".repeat(storageLimits.batchValueBytes / 2) }));
    await assert.rejects(storage.commit({ puts: heavy }), RangeError);
  });

  promise("of racing commits that want a key absent, one succeeds", async (storage, place) => {
    const other = await place.open();
    try {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 === 0 ? storage : other).commit({
            checks: [{ key: ["only"], version: null }],
            puts: [{ key: ["only"], value: at }, { key: ["by", String(at)], value: at }],
          })),
      );
      assert.equal(results.filter((done) => done).length, 1);
      assert.deepEqual(valuesOf(await storage.list(["by"], { limit: 99 })), [(await storage.get(["only"]))?.value]);
    } finally {
      await other.close();
    }
  });

  promise("two commits cannot each overlook the other's write (write skew)", async (storage, place) => {
    const other = await place.open();
    try {
      for (let round = 0; round < 10; round++) {
        const [left, right] = [["left", `${round}`], ["right", `${round}`]] as const;
        const results = await Promise.all([
          storage.commit({ checks: [{ key: right, version: null }], puts: [{ key: left, value: 1 }] }),
          other.commit({ checks: [{ key: left, version: null }], puts: [{ key: right, value: 1 }] }),
        ]);
        assert.equal(results.filter((done) => done).length, 1);
      }
    } finally {
      await other.close();
    }
  });

  promise("a version that was consumed no longer holds: consume() or commit() wins, never both", async (
    storage,
    place,
  ) => {
    const other = await place.open();
    try {
      for (let round = 0; round < 10; round++) {
        const key: StorageKey = ["code", `${round}`];
        await put(storage, key, 1);
        const version = (await storage.get(key))?.version ?? null;
        const [taken, replaced] = await Promise.all([
          other.consume(key),
          storage.commit({ checks: [{ key, version }], puts: [{ key, value: 2 }] }),
        ]);
        const left = (await storage.get(key))?.value;
        if (replaced) assert.deepEqual([taken?.value, left], taken === null ? [undefined, 2] : [2, undefined]);
        else assert.deepEqual([taken?.value, left], [1, undefined]);
      }
    } finally {
      await other.close();
    }
  });

  promise("increments by compare-and-set lose nothing under contention", async (storage, place) => {
    const other = await place.open();
    try {
      const increment = async (on: typeof storage): Promise<void> => {
        for (;;) {
          const entry = await on.get(["n"]);
          const checks = [{ key: ["n"], version: entry?.version ?? null }] as const;
          if (await on.commit({ checks, puts: [{ key: ["n"], value: Number(entry?.value ?? 0) + 1 }] })) return;
        }
      };
      await Promise.all(Array.from({ length: 12 }, (_, at) => increment(at % 2 === 0 ? storage : other)));
      assert.equal((await storage.get(["n"]))?.value, 12);
    } finally {
      await other.close();
    }
  });
}
