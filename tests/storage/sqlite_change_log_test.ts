/** The log of changes where the disk fails: whoever begins to watch then is not to bring the server down. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createSqliteChangeLog } from "../../src/storage/sqlite/change_log.ts";
import { inTime } from "../fixtures/until.ts";

Deno.test("a watch that begins while the database fails is told that anything may have changed once it is back", async () => {
  const database = new DatabaseSync(":memory:");
  const table = "CREATE TABLE change (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL)";
  database.exec(table);
  const log = createSqliteChangeLog(database);
  database.exec("DROP TABLE change"); // stands for a disk that fails: every statement of the log throws
  const told = Promise.withResolvers<void>();
  const stop = log.follow(5, { tell: () => assert.fail("one key"), tellAll: () => told.resolve() });
  try {
    database.exec(table);
    await inTime("the call", told.promise);
  } finally {
    stop();
    database.close();
  }
});
