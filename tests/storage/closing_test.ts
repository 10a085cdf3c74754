/** What is closed in parts is closed to the end, whatever fails. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Sql } from "postgres";
import { closeAll } from "../../src/lib/result.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { listenToPostgres } from "../../src/storage/postgres_storage.ts";
import { until } from "../fixtures/until.ts";

Deno.test("closeAll() closes each part in its order, and then says the first failure", async () => {
  const closed: string[] = [];
  const part = (name: string, failure: string | null = null) => async () => {
    await Promise.resolve();
    closed.push(name);
    if (failure !== null) throw new Error(failure);
  };
  const throws = () => {
    closed.push("d");
    throw new Error("third");
  };
  await closeAll(part("a"), undefined, () => closed.push("b"));
  await assert.rejects(closeAll(part("c", "first"), throws, part("e", "fourth"), part("f")), { message: "first" });
  assert.deepEqual(closed, ["a", "b", "c", "d", "e", "f"]);
});

Deno.test("a listener whose connection cannot be ended listens again, and says so only when it is stopped", async () => {
  const connections: (() => void)[] = [];
  let standing = 0;
  const stop = listenToPostgres({
    connect({ onclose }) {
      connections.push(onclose);
      const sql = {
        unsafe: () => Promise.resolve([]),
        end: () => Promise.reject(new Error(`connection ${connections.length} does not end`)),
      };
      return sql as unknown as Sql;
    },
    channel: "c",
    onPayload: () => {},
    onStanding: () => standing++,
    answerTimeoutMs: 1_000,
  });
  await until("the first connection", () => standing === 1);
  connections[0]?.();
  await until("the next connection", () => standing === 2);
  await assert.rejects(stop(), { message: "connection 2 does not end" });
});

Deno.test({
  name: "the handles of a database's files are closed although the database cannot be",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const directory = await Deno.makeTempDir({ prefix: "portcullis-closing-" });
    const { close } = DatabaseSync.prototype;
    const open = (): readonly string[] =>
      Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/self/fd/${name}`);
        } catch {
          return "";
        }
      }).filter((path) => path.startsWith(directory));
    try {
      const log = { write: () => {}, flush: () => {} };
      const storage = await openStorage({ sqlitePath: `${directory}/portcullis.db`, clock: Date.now, log });
      assert.ok(open().length > 3, open().join());
      DatabaseSync.prototype.close = function () {
        close.call(this);
        throw new Error("the disk is away");
      };
      await assert.rejects(storage.close(), { message: "the disk is away" });
      assert.deepEqual(open(), []);
    } finally {
      DatabaseSync.prototype.close = close;
      await Deno.remove(directory, { recursive: true });
    }
  },
});
