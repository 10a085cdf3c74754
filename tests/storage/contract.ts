/** What every implementation of the storage port promises. Each driver's own test file runs this suite. */
import assert from "node:assert/strict";
import type { Storage, StorageKey } from "../../src/storage/port.ts";

/** A place for the suite to open storages on: several openings see the same data. */
export interface StoragePlace extends AsyncDisposable {
  readonly open: () => Storage;
  /** Moves the clock that every opening shares. */
  readonly advance: (milliseconds: number) => void;
  readonly now: () => number;
}

/** Registers the contract's tests under the driver's name. */
export function testStorageContract(driver: string, makePlace: () => Promise<StoragePlace>): void {
  const promise = (name: string, run: (storage: Storage, place: StoragePlace) => Promise<void>): void =>
    Deno.test(`${driver} storage: ${name}`, async () => {
      await using place = await makePlace();
      const storage = place.open();
      try {
        await run(storage, place);
      } finally {
        await storage.close();
      }
    });
  const put = async (storage: Storage, key: StorageKey, value: unknown, expiresAt?: number): Promise<void> => {
    const written = await storage.commit({ puts: [{ key, value, ...(expiresAt === undefined ? {} : { expiresAt }) }] });
    assert.equal(written, true);
  };

  promise("get() gives back what was put, with its key and a version", async (storage) => {
    const value = { text: "naïve ☃ \u0000", list: [1, null, true] };
    await put(storage, ["a", "b/c", "ü"], value);
    const entry = await storage.get(["a", "b/c", "ü"]);
    assert.deepEqual(entry?.value, value);
    assert.deepEqual(entry?.key, ["a", "b/c", "ü"]);
    assert.equal(await storage.get(["a", "b", "c"]), null);
  });

  promise("get() treats an expired entry as absent at the instant it expires", async (storage, place) => {
    await put(storage, ["k"], 1, place.now() + 300);
    place.advance(299);
    assert.equal((await storage.get(["k"]))?.value, 1);
    place.advance(1);
    assert.equal(await storage.get(["k"]), null);
    assert.equal(await storage.consume(["k"]), null);
    assert.deepEqual(await storage.list(["k"], { limit: 10 }), []);
    assert.equal(await storage.commit({ checks: [{ key: ["k"], version: null }] }), true);
  });

  promise("versions change with every write and never come back", async (storage) => {
    const seen = new Set<string>();
    for (let round = 0; round < 5; round++) {
      await put(storage, ["k"], round);
      seen.add((await storage.get(["k"]))?.version ?? "");
      await storage.commit({ deletes: [["k"]] });
    }
    assert.equal(seen.size, 5);
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
  });

  promise("list() walks strictly below a prefix, in order, in pages", async (storage) => {
    for (const name of ["b", "a", "c", "a!", "a b"]) await put(storage, ["x", name], name);
    await put(storage, ["x"], "the prefix itself");
    await put(storage, ["xy", "z"], "a neighbour");
    await put(storage, ["x", "a", "deep"], "deep");
    const all = await storage.list(["x"], { limit: 100 });
    assert.equal(all.length, 6);
    assert.ok(all.every(({ key }) => key[0] === "x" && key.length > 1));
    const paged: unknown[] = [];
    let after: StorageKey | undefined;
    while (paged.length < all.length) {
      const page = await storage.list(["x"], { limit: 2, ...(after ? { after } : {}) });
      paged.push(...page.map(({ value }) => value));
      after = page.at(-1)?.key;
      assert.ok(page.length > 0, "a page before the end is not empty");
    }
    assert.deepEqual(paged, all.map(({ value }) => value));
    assert.deepEqual((await storage.list(["x", "a"], { limit: 9 })).map(({ value }) => value), ["deep"]);
  });

  promise("consume() has exactly one winner among many openings", async (storage, place) => {
    const others = Array.from({ length: 4 }, () => place.open());
    await put(storage, ["code"], "once");
    const callers = [storage, ...others].flatMap((each) => Array.from({ length: 16 }, () => each.consume(["code"])));
    const winners = (await Promise.all(callers)).filter((entry) => entry !== null);
    assert.equal(winners.length, 1);
    assert.equal(winners[0]?.value, "once");
    await Promise.all(others.map((other) => other.close()));
  });

  promise(
    "changeCount() moves with every commit, here or in another opening, and rests otherwise",
    async (storage, place) => {
      const other = place.open();
      const counts = [await storage.changeCount()];
      await put(storage, ["a"], 1);
      counts.push(await storage.changeCount());
      await put(other, ["b"], 1);
      counts.push(await storage.changeCount());
      await other.consume(["b"]);
      counts.push(await storage.changeCount());
      assert.equal(new Set(counts).size, counts.length);
      await storage.get(["a"]);
      assert.equal(await storage.changeCount(), counts.at(-1));
      await other.close();
    },
  );

  promise("sweep() removes expired entries and nothing else", async (storage, place) => {
    await put(storage, ["gone"], 1, place.now() + 10);
    await put(storage, ["later"], 2, place.now() + 1_000);
    await put(storage, ["kept"], 3);
    place.advance(10);
    assert.equal(await storage.sweep(), 1);
    assert.equal((await storage.get(["later"]))?.value, 2);
    assert.equal((await storage.get(["kept"]))?.value, 3);
  });

  promise("what was committed is there after closing and opening again", async (storage, place) => {
    await put(storage, ["k"], "kept");
    const next = place.open();
    assert.equal((await next.get(["k"]))?.value, "kept");
    await next.close();
  });
}
