import assert from "node:assert/strict";
import { bindMasterKey } from "../../src/storage/open_storage.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

Deno.test("bindMasterKey() lets every instance with the first one's key start, and no other", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-bind-" });
  try {
    const path = `${directory}/portcullis.db`;
    const [first, second] = [
      openSqliteStorage({ path, clock: Date.now }),
      openSqliteStorage({ path, clock: Date.now }),
    ];
    const starts = await Promise.allSettled([
      bindMasterKey(first, "one"),
      bindMasterKey(second, "two"),
      bindMasterKey(second, "one"),
    ]);
    assert.deepEqual(starts.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    await assert.rejects(bindMasterKey(second, "two"), /another master key/);
    await bindMasterKey(second, "one");
    await first.close();
    await second.close();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
