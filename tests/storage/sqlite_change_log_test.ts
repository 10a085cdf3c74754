/** The log of changes where the disk fails: that must not bring the server down, and nothing must be missed. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createSqliteChangeLog } from "../../src/storage/sqlite_storage.ts";
import { inTime, until } from "../fixtures/until.ts";

Deno.test("a watch that begins while the database fails is told that anything may have changed once it is back", async () => {
  const database = new DatabaseSync(":memory:");
  const table = "CREATE TABLE change (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL)";
  database.exec(table);
  const log = createSqliteChangeLog(database);
  database.exec("DROP TABLE change"); // stands for a disk that fails: every statement of the log throws
  const told = Promise.withResolvers<void>();
  const stop = log.follow({ intervalMs: 5, commitCount: null }, {
    tell: () => assert.fail("one key"),
    tellAll: () => told.resolve(),
  });
  try {
    database.exec(table);
    await inTime("the call", told.promise);
  } finally {
    stop();
    database.close();
  }
});

Deno.test("a watch reads what was written while the database failed, though nothing is committed afterwards", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE change (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL)");
  const log = createSqliteChangeLog(database);
  let looks = 0;
  const told = Promise.withResolvers<string>();
  const failed = Promise.withResolvers<void>();
  const commitCount = (): number => {
    if (++looks > 1) failed.resolve(); // the look before this one has failed
    return 1;
  };
  const watches = { tell: told.resolve, tellAll: () => assert.fail("all keys") };
  const stop = log.follow({ intervalMs: 5, commitCount }, watches);
  try {
    database.exec("ALTER TABLE change RENAME TO away");
    await inTime("a look that fails", failed.promise);
    database.exec("INSERT INTO away (key) VALUES ('a')");
    database.exec("ALTER TABLE away RENAME TO change");
    assert.equal(await inTime("the change", told.promise), "a");
  } finally {
    stop();
    database.close();
  }
});

Deno.test("a watch reads all changes of one commit, however many they are", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE change (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL)");
  const log = createSqliteChangeLog(database);
  const told = new Set<string>();
  const watches = { tell: (key: string) => void told.add(key), tellAll: () => assert.fail("all keys") };
  const stop = log.follow({ intervalMs: 5, commitCount: () => 1 }, watches);
  try {
    database.exec(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO change (key) SELECT i FROM n",
    );
    await until("all of them", () => told.size === 2_500);
  } finally {
    stop();
    database.close();
  }
});
