import assert from "node:assert/strict";
import { changeEntry } from "../../src/lib/change_entry.ts";
import type { StorageKey } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";

const key: StorageKey = ["approval_rules", "current"];
const increment = (value: unknown): number => (typeof value === "number" ? value : 0) + 1;

Deno.test("changeEntry() loses no change of several that are made at once", async () => {
  const storage = createMemoryStorage();
  await Promise.all([1, 2, 3, 4, 5].map(() => changeEntry(storage, key, increment)));
  assert.equal((await storage.get(key))?.value, 5);
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
