/** Watches where the disk fails: that must not bring the server down, and nothing must be missed. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { inTime, until } from "../fixtures/until.ts";

/** A storage whose log of changes a second connection can take away, so that every statement on it fails. */
async function makeScene() {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-test-" });
  const path = `${directory}/entries.db`;
  const storage = openSqliteStorage({ path, clock: Date.now, watchIntervalMs: 5 });
  const database = new DatabaseSync(path);
  const looks = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
  return {
    storage,
    database,
    fail: () => database.exec("ALTER TABLE change RENAME TO away"),
    recover: () => database.exec("ALTER TABLE away RENAME TO change"),
    looks,
    async [Symbol.asyncDispose]() {
      await storage.close();
      database.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

Deno.test("a watch that begins while the database fails is told that anything may have changed once it is back", async () => {
  await using scene = await makeScene();
  scene.fail();
  const told = Promise.withResolvers<void>();
  scene.storage.watch(["user", "a"], told.resolve);
  scene.recover();
  await inTime("the call", told.promise);
});

Deno.test("a watch reads what was written while the database failed, though nothing is committed afterwards", async () => {
  await using scene = await makeScene();
  const told = Promise.withResolvers<void>();
  scene.storage.watch(["user", "a"], told.resolve);
  scene.storage.watch(["user", "b"], () => assert.fail("all keys"));
  await scene.looks();
  scene.fail();
  await scene.looks();
  scene.database.exec("INSERT INTO away (key) VALUES ('user!a!')");
  scene.recover();
  await inTime("the change", told.promise);
});

Deno.test("a watch reads all changes of one commit, however many they are", async () => {
  await using scene = await makeScene();
  const told = new Set<number>();
  for (let at = 1; at <= 2_500; at++) scene.storage.watch(["user", String(at)], () => void told.add(at));
  scene.database.exec(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO change (key) SELECT 'user!' || i || '!' FROM n",
  );
  await until("all of them", () => told.size === 2_500);
});
