import assert from "node:assert/strict";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

const drivers: Readonly<Record<string, (path: string) => Storage | Promise<Storage>>> = {
  sqlite: (path) => openSqliteStorage({ path, clock: Date.now }),
};

for (const [driver, open] of Object.entries(drivers)) {
  Deno.test(`${driver}: commits of the audit alone leave the change count alone, here and in another opening`, async () => {
    const directory = await Deno.makeTempDir({ prefix: "portcullis-test-" });
    const storage = await open(`${directory}/entries.db`);
    const other = await open(`${directory}/entries.db`);
    try {
      await storage.commit({ puts: [{ key: ["user", "owner"], value: 1 }] });
      const counts = async () => [await storage.changeCount(), await other.changeCount()];
      await counts(); // the first look at another opening counts as a change
      const before = await counts();
      await storage.commit({
        puts: [{ key: ["audit", "chain", "1"], value: 1 }, { key: ["audit_calls", "1"], value: 1 }],
      });
      await other.commit({ puts: [{ key: ["audit_chain", "1"], value: 1 }], deletes: [["audit", "chain", "1"]] });
      assert.deepEqual(await counts(), before);
      for (const writer of [storage, other]) {
        const [own, others] = await counts();
        await writer.commit({ puts: [{ key: ["audit", "chain", "2"], value: 1 }, { key: ["client", "c"], value: 1 }] });
        const [ownAfter, othersAfter] = await counts();
        assert.ok(own !== ownAfter && others !== othersAfter, "a commit that writes something else too is counted");
      }
    } finally {
      await storage.close();
      await other.close();
      await Deno.remove(directory, { recursive: true });
    }
  });
}
