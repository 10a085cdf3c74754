/** What every implementation of the storage port promises. Each driver's own test file runs this suite. */
import assert from "node:assert/strict";
import type { Storage, StorageKey, StoredEntry } from "../../src/storage/port.ts";
import { testBatches } from "./contract_batches.ts";
import { testKeys } from "./contract_keys.ts";
import { testModel } from "./contract_model.ts";
import { testWatching } from "./contract_watch.ts";

/** A place for the suite to open storages on: several openings see the same data. */
export interface StoragePlace extends AsyncDisposable {
  readonly open: () => Promise<Storage>;
  /** Moves the clock that every opening shares. */
  readonly advance: (milliseconds: number) => void;
  readonly now: () => number;
}

/** Registers one test of the contract; the storage it gets is closed afterwards. */
export type RegisterPromise = (
  name: string,
  run: (storage: Storage, place: StoragePlace) => Promise<void>,
) => void;

/** Commits one put, which has to be accepted. */
export async function put(storage: Storage, key: StorageKey, value: unknown, expiresAt?: number): Promise<void> {
  const written = await storage.commit({ puts: [{ key, value, ...(expiresAt === undefined ? {} : { expiresAt }) }] });
  assert.equal(written, true);
}

/** The values of entries, in their order. */
export function valuesOf(entries: readonly StoredEntry[]): unknown[] {
  return entries.map(({ value }) => value);
}

/** Registers the contract's tests under the driver's name. */
export function testStorageContract(driver: string, makePlace: () => Promise<StoragePlace>): void {
  const promise: RegisterPromise = (name, run) =>
    Deno.test(`${driver} storage: ${name}`, async () => {
      await using place = await makePlace();
      const storage = await place.open();
      try {
        await run(storage, place);
      } finally {
        await storage.close();
      }
    });
  testReading(promise);
  testKeys(promise);
  testBatches(promise);
  testSharing(promise);
  testWatching(promise);
  testModel(promise);
}

function testReading(promise: RegisterPromise): void {
  promise("get() gives back what was put, with its key and a version", async (storage) => {
    const value = { text: "naïve ☃ \u0000 \ud800", list: [1, null, true, -0.5e-7], "": {} };
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

  promise("an entry put after its expiry is absent, and a fraction of a millisecond is rounded up", async (
    storage,
    place,
  ) => {
    await put(storage, ["late"], 1, place.now());
    assert.equal(await storage.get(["late"]), null);
    await put(storage, ["fraction"], 1, place.now() + 0.25);
    assert.equal((await storage.get(["fraction"]))?.value, 1);
    place.advance(1);
    assert.equal(await storage.get(["fraction"]), null);
    const never = { key: ["never"], value: 1, expiresAt: Infinity } as const;
    await assert.rejects(storage.commit({ puts: [never] }), TypeError);
  });

  promise("expiry follows the reader's clock, also when it is set back", async (storage, place) => {
    await put(storage, ["k"], "old", place.now() + 100);
    const version = (await storage.get(["k"]))?.version;
    place.advance(100);
    assert.equal(await storage.get(["k"]), null);
    place.advance(-50);
    assert.equal((await storage.get(["k"]))?.version, version);
    await put(storage, ["k"], "new");
    place.advance(-1_000_000);
    assert.equal((await storage.get(["k"]))?.value, "new");
    assert.notEqual((await storage.get(["k"]))?.version, version);
  });

  promise("a put without expiry takes an earlier expiry away", async (storage, place) => {
    await put(storage, ["k"], 1, place.now() + 10);
    await put(storage, ["k"], 2);
    place.advance(20);
    assert.equal(await storage.sweep(place.now()), 0);
    assert.equal((await storage.get(["k"]))?.value, 2);
  });

  promise("sweep() removes expired entries and nothing else", async (storage, place) => {
    await put(storage, ["gone"], 1, place.now() + 10);
    await put(storage, ["overwritten"], 1, place.now() + 10);
    await put(storage, ["overwritten"], 2, place.now() + 1_000);
    await put(storage, ["taken"], 1, place.now() + 10);
    await storage.consume(["taken"]);
    await put(storage, ["later"], 2, place.now() + 1_000);
    await put(storage, ["kept"], 3);
    const before = place.now();
    place.advance(10);
    assert.equal(await storage.sweep(before), 0, "the time given counts, not the clock's");
    assert.equal(await storage.sweep(place.now()), 1);
    assert.equal(await storage.sweep(place.now()), 0);
    assert.equal((await storage.get(["later"]))?.value, 2);
    assert.equal((await storage.get(["overwritten"]))?.value, 2);
    assert.equal((await storage.get(["kept"]))?.value, 3);
    place.advance(-10);
    assert.equal(await storage.get(["gone"]), null, "swept is swept");
  });

  promise("a clock that jumps, forth and back, ends nothing for good but what was swept", async (storage, place) => {
    const year = 365 * 24 * 3_600_000;
    const other = await place.open();
    try {
      await put(storage, ["hour"], 1, place.now() + 3_600_000);
      await put(storage, ["decade"], 2, place.now() + 10 * year);
      const version = (await storage.get(["hour"]))?.version ?? null;
      place.advance(year);
      assert.equal(await other.get(["hour"]), null);
      assert.equal(
        await other.commit({ checks: [{ key: ["hour"], version }], puts: [{ key: ["no"], value: 1 }] }),
        false,
      );
      place.advance(-year);
      assert.equal((await other.get(["hour"]))?.version, version, "not swept: there again");
      place.advance(-year);
      assert.equal(await storage.sweep(place.now()), 0);
      await put(storage, ["written in the past"], 3, place.now() + 1_000);
      place.advance(2 * year);
      assert.equal(await other.sweep(place.now()), 2);
      assert.equal(await other.sweep(place.now()), 0);
      place.advance(-2 * year);
      assert.deepEqual(valuesOf(await storage.list(["hour"], { limit: 9 })), []);
      assert.equal(await storage.get(["hour"]), null, "swept is swept");
      assert.equal(await storage.get(["written in the past"]), null);
      assert.equal((await storage.get(["decade"]))?.value, 2);
    } finally {
      await other.close();
    }
  });

  promise("sweep() takes out any number", async (storage, place) => {
    for (let batch = 0; batch < 11; batch++) {
      const keys = Array.from({ length: 99 }, (_, at) => ["k", `${batch}-${at}`] as const);
      await storage.commit({ puts: keys.map((key) => ({ key, value: 1, expiresAt: place.now() + 1 })) });
    }
    place.advance(1);
    assert.equal(await storage.sweep(place.now()), 11 * 99);
  });
}

function testSharing(promise: RegisterPromise): void {
  promise("consume() has exactly one winner among many openings", async (storage, place) => {
    const others = await Promise.all(Array.from({ length: 4 }, () => place.open()));
    try {
      await put(storage, ["code"], "once");
      const callers = [storage, ...others].flatMap((each) => Array.from({ length: 16 }, () => each.consume(["code"])));
      const winners = (await Promise.all(callers)).filter((entry) => entry !== null);
      assert.equal(winners.length, 1);
      assert.equal(winners[0]?.value, "once");
    } finally {
      await Promise.all(others.map((other) => other.close()));
    }
  });

  promise("changeCount() moves with every commit, here or in another opening, and rests otherwise", async (
    storage,
    place,
  ) => {
    const other = await place.open();
    try {
      const counts = [await storage.changeCount()];
      const record = async () => void counts.push(await storage.changeCount());
      await put(storage, ["a"], 1);
      await record();
      await put(other, ["b"], 1);
      await record();
      await other.consume(["b"]);
      await record();
      await storage.consume(["a"]);
      await record();
      await put(other, ["c"], 1);
      await storage.commit({ deletes: [["c"]] });
      await record();
      assert.equal(new Set(counts).size, counts.length);
      await storage.get(["a"]);
      await storage.consume(["a"]);
      await storage.commit({ checks: [{ key: ["a"], version: "no" }], puts: [{ key: ["a"], value: 1 }] });
      assert.equal(await storage.changeCount(), counts.at(-1));
    } finally {
      await other.close();
    }
  });

  promise("changeCount() that starts after a commit has returned always sees it, whatever else is asked", async (
    storage,
    place,
  ) => {
    const other = await place.open();
    try {
      for (let round = 0; round < 20; round++) {
        const before = await storage.changeCount();
        const background = Array.from({ length: 5 }, () => storage.changeCount()); // may still be under way
        await put(other, ["k"], round);
        assert.notEqual(await storage.changeCount(), before);
        await Promise.all(background);
      }
    } finally {
      await other.close();
    }
  });

  promise("what was committed is there after closing and opening again", async (storage, place) => {
    await put(storage, ["k"], "kept");
    const version = (await storage.get(["k"]))?.version;
    const next = await place.open();
    try {
      assert.deepEqual(await next.get(["k"]), { key: ["k"], value: "kept", version });
    } finally {
      await next.close();
    }
  });
}
