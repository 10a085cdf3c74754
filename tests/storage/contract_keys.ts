/** The contract's promises about keys, their order and listing. */
import assert from "node:assert/strict";
import type { Storage, StorageKey } from "../../src/storage/port.ts";
import { put, type RegisterPromise, valuesOf } from "./contract.ts";

/** Parts that a careless encoding confuses or sorts wrongly, in the order that the port promises. */
const oddParts = [
  "\u0000",
  "\u0000\u0000",
  "\u0001",
  "\u0002",
  " ",
  "!",
  '"',
  "%",
  "%00",
  "%2f",
  "'",
  "*",
  "-",
  ".",
  "..",
  "/",
  "0",
  "10",
  "9",
  "A",
  "Z",
  "a",
  "a\u0000b",
  "a b",
  "a!",
  "a/b",
  "aa",
  "b",
  "~",
  "\u007f",
  "é",
  "\ue000",
  "\ufeff",
  "\uffff",
  "\u{1f600}", // its UTF-16 units sort before U+E000, its code point does not
];

async function pages(storage: Storage, prefix: StorageKey, limit: number): Promise<StorageKey[]> {
  const keys: StorageKey[] = [];
  for (;;) {
    const after = keys.at(-1);
    const page = await storage.list(prefix, { limit, ...(after ? { after } : {}) });
    assert.ok(page.length <= limit);
    keys.push(...page.map(({ key }) => key));
    if (page.length < limit) return keys;
  }
}

/** Registers them. */
export function testKeys(promise: RegisterPromise): void {
  promise("list() walks strictly below a prefix, in order, in pages", async (storage) => {
    for (const name of ["b", "a", "c", "a!", "a b"]) await put(storage, ["x", name], name);
    await put(storage, ["x"], "the prefix itself");
    await put(storage, ["xy", "z"], "a neighbour");
    await put(storage, ["x", "a", "deep"], "deep");
    const all = await storage.list(["x"], { limit: 100 });
    assert.deepEqual(valuesOf(all), ["a", "deep", "a b", "a!", "b", "c"]);
    for (const limit of [1, 2, 3, 6, 7]) {
      assert.deepEqual(await pages(storage, ["x"], limit), all.map(({ key }) => key));
    }
    assert.deepEqual(valuesOf(await storage.list(["x", "a"], { limit: 9 })), ["deep"]);
    assert.deepEqual(await storage.list(["nothing"], { limit: 9 }), []);
  });

  promise("keys sort part by part in the order of code points, whatever the characters", async (storage) => {
    const expected: StorageKey[] = oddParts.flatMap((part) => [["p", part], ["p", part, "below"]] as const);
    for (const key of [...expected].reverse()) await put(storage, key, key);
    assert.deepEqual(await pages(storage, ["p"], 7), expected);
    for (const key of expected) assert.deepEqual((await storage.get(key))?.value, key);
  });

  promise("list() stays below its prefix wherever `after` lies, and takes one that does not exist", async (storage) => {
    for (const key of [["a", "1"], ["b"], ["b", "1"], ["b", "2"], ["b", "2", "x"], ["c", "1"]] as const) {
      await put(storage, key, key.join());
    }
    const after = async (key: StorageKey) => valuesOf(await storage.list(["b"], { limit: 9, after: key }));
    assert.deepEqual(await after(["a"]), ["b,1", "b,2", "b,2,x"]);
    assert.deepEqual(await after(["b"]), ["b,1", "b,2", "b,2,x"]);
    assert.deepEqual(await after(["b", "1", "never was"]), ["b,2", "b,2,x"]);
    assert.deepEqual(await after(["b", "2"]), ["b,2,x"]);
    assert.deepEqual(await after(["c"]), []);
    assert.deepEqual(await after(["d"]), []);
  });

  promise("list() leaves expired entries out without giving short pages", async (storage, place) => {
    for (let at = 0; at < 9; at++) await put(storage, ["k", `${at}`], at, at % 3 === 1 ? undefined : place.now() + 1);
    place.advance(1);
    assert.deepEqual(valuesOf(await storage.list(["k"], { limit: 2 })), [1, 4]);
  });

  promise("list() refuses a limit that is no count", async (storage) => {
    for (const limit of [0, -1, 1.5, NaN, Infinity]) await assert.rejects(storage.list(["a"], { limit }), RangeError);
  });

  promise("a listing in pages misses nothing that stays, while others write and delete", async (storage, place) => {
    const keys = Array.from({ length: 60 }, (_, at) => ["k", String(at).padStart(3, "0")] as const);
    await storage.commit({ puts: keys.map((key) => ({ key, value: 1 })) });
    const other = await place.open();
    try {
      const writing = (async () => {
        for (let at = 0; at < keys.length; at += 2) {
          const stays = keys[at] ?? keys[0] ?? assert.fail();
          const goes = keys[at + 1] ?? assert.fail();
          await other.commit({ puts: [{ key: stays, value: 2 }], deletes: [goes] });
        }
      })();
      const seen = await pages(storage, ["k"], 7);
      await writing;
      const stayed = keys.filter((_, at) => at % 2 === 0).map(([, name]) => name);
      assert.deepEqual(stayed.filter((name) => !seen.some((key) => key[1] === name)), []);
      assert.deepEqual(seen.map(([, name]) => name), seen.map(([, name]) => name).sort(), "in order, nothing twice");
      assert.equal(new Set(seen.map(([, name]) => name)).size, seen.length);
    } finally {
      await other.close();
    }
  });

  promise("a key that cannot be stored is refused in a put, and absent everywhere else", async (storage) => {
    const tooLong = "k".repeat(1_024);
    const bad: readonly (readonly [StorageKey, typeof TypeError | typeof RangeError])[] = [
      [["a", ""], TypeError],
      [["a", "\ud800"], TypeError],
      [[tooLong], RangeError],
      [["%".repeat(400)], RangeError],
    ];
    for (const [key, kind] of bad) {
      await assert.rejects(storage.commit({ puts: [{ key: ["ok"], value: 1 }, { key, value: 1 }] }), kind);
      assert.equal(await storage.get(["ok"]), null);
      assert.equal(await storage.get(key), null);
      assert.equal(await storage.consume(key), null);
      assert.deepEqual(await storage.list(key, { limit: 1 }), []);
      assert.equal(await storage.commit({ checks: [{ key, version: null }], deletes: [key] }), true);
      assert.equal(await storage.commit({ checks: [{ key, version: "1" }] }), false);
    }
    const longest: StorageKey = [tooLong.slice(1)];
    await put(storage, longest, 1);
    assert.equal((await storage.get(longest))?.value, 1);
    const manyParts = Array.from({ length: 511 }, () => "p");
    await put(storage, ["p", ...manyParts], 2);
    assert.equal((await storage.get(["p", ...manyParts]))?.value, 2);
  });
}
