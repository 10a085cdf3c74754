import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStorage } from "../../src/storage/sqlite.ts";
import { type StoragePlace, testStorageContract } from "./contract.ts";

async function sqlitePlace(): Promise<StoragePlace & { readonly path: string }> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-sqlite-" });
  const path = `${directory}/portcullis.db`;
  let now = 1_700_000_000_000;
  return {
    path,
    open: async () => await openSqliteStorage({ path, clock: () => now }),
    advance: (milliseconds) => void (now += milliseconds),
    now: () => now,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

testStorageContract("sqlite", sqlitePlace);

Deno.test("sqlite storage: the database and its side files are for their owner alone (0600)", async () => {
  await using place = await sqlitePlace();
  const storage = await place.open();
  await storage.commit({ puts: [{ key: ["k"], value: 1 }] });
  for (const suffix of ["", "-wal", "-shm"]) {
    assert.equal(((await Deno.stat(place.path + suffix)).mode ?? 0) & 0o777, 0o600, suffix);
  }
  await storage.close();
});

Deno.test("sqlite storage: refuses a database that a newer version wrote", async () => {
  await using place = await sqlitePlace();
  const database = new DatabaseSync(place.path);
  database.exec("PRAGMA user_version = 99");
  database.close();
  await assert.rejects(async () => void await place.open(), /newer version/);
});
