/** A database whose files are taken away while it is open. */
import assert from "node:assert/strict";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import type { LogFields } from "../../src/lib/log.ts";
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { until } from "../fixtures/until.ts";
import { put } from "./contract.ts";

const takings: readonly [string, (directory: string, database: string) => Promise<void>][] = [
  ["the data directory is deleted", (directory) => Deno.remove(directory, { recursive: true })],
  ["the data directory is moved", (directory) => Deno.rename(directory, `${directory}.old`)],
  ["the database is deleted", (_directory, database) => Deno.remove(database)],
  ["the database is moved", (_directory, database) => Deno.rename(database, `${database}.old`)],
  ["the database is replaced", async (directory, database) => {
    await Deno.copyFile(database, `${directory}.copy`);
    await Deno.rename(`${directory}.copy`, database);
  }],
  ["the write-ahead log is deleted", (_directory, database) => Deno.remove(`${database}-wal`)],
  ["its index is deleted", (_directory, database) => Deno.remove(`${database}-shm`)],
];

const loaded = loadKernel();
const kernel = loaded.available ? loaded : undefined;

function watched(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `sqlite storage: ${name}`, ignore: kernel === undefined, fn });
}

for (const [what, take] of takings) {
  watched(`when ${what}, writes are refused instead of lost, reads go on, and the log says so`, async () => {
    const parent = await Deno.makeTempDir({ prefix: "portcullis-presence-" });
    const directory = `${parent}/data`;
    await Deno.mkdir(directory);
    const lines: (LogFields | undefined)[] = [];
    const log = {
      write: (_level: string, event: string, fields?: LogFields) =>
        void (event === "storage_unavailable" && lines.push(fields)),
      flush() {},
    };
    const opened = await openStorage({ sqlitePath: `${directory}/portcullis.db`, clock: Date.now, log, kernel });
    const storage = opened;
    try {
      await put(storage, ["k"], 1);
      await take(directory, `${directory}/portcullis.db`);
      const refused = await storage.commit({ puts: [{ key: ["k"], value: 1 }] }).then(() => null, (error) => error);
      assert.ok(refused instanceof StorageUnavailableError, String(refused));
      assert.match(String(lines.at(-1)?.["problem"]), /was deleted, moved or replaced/);
      assert.match(String(lines.at(-1)?.["remedy"]), / restore` on a backup/);
      assert.equal((await storage.get(["k"]))?.value, 1);
      await assert.rejects(storage.commit({ puts: [{ key: ["k"], value: 2 }] }), StorageUnavailableError);
      await assert.rejects(storage.consume(["k"]), StorageUnavailableError);
      assert.equal(lines.length, 1);
    } finally {
      await storage.close();
      await Deno.remove(parent, { recursive: true });
    }
  });
}

Deno.test({
  name: "sqlite storage: where names cannot be looked at, a file that was deleted or replaced is noticed all the same",
  ignore: Deno.build.os !== "linux",
  async fn() {
    for (const [what, take] of takings.filter(([what]) => !/moved/.test(what))) {
      const parent = await Deno.makeTempDir({ prefix: "portcullis-presence-" });
      const directory = `${parent}/data`;
      await Deno.mkdir(directory);
      const sqlitePath = `${directory}/portcullis.db`;
      const storage = await openStorage({ sqlitePath, clock: Date.now, log: { write() {}, flush() {} } });
      await put(storage, ["k"], 1);
      await take(directory, sqlitePath);
      await assert.rejects(storage.commit({ puts: [{ key: ["k"], value: 2 }] }), StorageUnavailableError, what);
      await storage.close();
      await Deno.remove(parent, { recursive: true });
    }
  },
});

watched("the log says that the database is gone though nobody writes", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-presence-" });
  const sqlitePath = `${directory}/portcullis.db`;
  const events: string[] = [];
  const log = { write: (_level: string, event: string) => void events.push(event), flush() {} };
  const opened = await openStorage({ sqlitePath, clock: Date.now, log, kernel });
  await Deno.remove(sqlitePath);
  await until("the log", () => events.includes("storage_unavailable"));
  await opened.close();
  await Deno.remove(directory, { recursive: true });
});

watched("other files in the data directory, and other processes that open the database, are no loss", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-presence-" });
  const log = { write: (_level: string, event: string) => assert.fail(event), flush() {} };
  const sqlitePath = `${directory}/portcullis.db`;
  const opened = await openStorage({ sqlitePath, clock: Date.now, log, kernel });
  for (let count = 0; count < 5; count += 1) {
    const other = await openStorage({ sqlitePath, clock: Date.now });
    await put(other, ["k"], count);
    await other.close();
    await Deno.writeTextFile(`${directory}/notes.txt`, "x");
    await Deno.rename(`${directory}/notes.txt`, `${directory}/more.txt`);
    await Deno.remove(`${directory}/more.txt`);
    await put(opened, ["k"], count);
  }
  await new Promise((resolve) => setTimeout(resolve, 200)); // for events that would be wrong
  await put(opened, ["k"], "last");
  await opened.close();
  await Deno.remove(directory, { recursive: true });
});
