import assert from "node:assert/strict";
import { changeEntry, pagesBelow } from "../../src/lib/stored_entries.ts";
import type { StorageKey } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

const key: StorageKey = ["approval_rules", "current"];
const increment = (value: unknown): number => (typeof value === "number" ? value : 0) + 1;

Deno.test("changeEntry() loses no change of many that are made at once, and repeats none", async () => {
  const storage = createMemoryStorage();
  let commits = 0;
  const commit: typeof storage.commit = (batch) => {
    commits++;
    return storage.commit(batch);
  };
  const counting = { ...storage, commit };
  await Promise.all(Array.from({ length: 100 }, () => changeEntry(counting, key, increment)));
  assert.deepEqual([(await storage.get(key))?.value, commits], [100, 100]);
});

Deno.test("changeEntry() leaves the entry where the change gives null", async () => {
  const storage = createMemoryStorage();
  assert.equal(await changeEntry(storage, key, increment), 1);
  assert.equal(await changeEntry(storage, key, () => null), null);
  assert.equal((await storage.get(key))?.value, 1);
});

Deno.test("changeEntry() rejects where others are quicker each time", async () => {
  const storage = createMemoryStorage();
  await assert.rejects(
    changeEntry({ get: storage.get.bind(storage), commit: () => Promise.resolve(false) }, key, increment),
    /contention/,
  );
});

Deno.test("pagesBelow() yields each entry once, those after a key, also where what was yielded is deleted", async () => {
  const storage = createMemoryStorage();
  const keys: StorageKey[] = ["a", "b", "c", "d"].map((name) => ["dropped", name]);
  await storage.commit({ puts: keys.map((each) => ({ key: each, value: 1 })) });
  const names = async (range: { limit: number; after?: StorageKey }, seen?: (key: StorageKey) => Promise<unknown>) => {
    const pages: string[][] = [];
    for await (const page of pagesBelow(storage, ["dropped"] as StorageKey, range)) {
      pages.push(page.map((entry) => entry.key[1] ?? ""));
      for (const entry of page) await seen?.(entry.key);
    }
    return pages;
  };
  assert.deepEqual(await names({ limit: 3 }), [["a", "b", "c"], ["d"]]);
  assert.deepEqual(await names({ limit: 2, after: ["dropped", "b"] }), [["c", "d"], []]);
  const drop = (each: StorageKey) => storage.commit({ deletes: [each] });
  assert.deepEqual(await names({ limit: 3 }, drop), [["a", "b", "c"], ["d"]]);
});
