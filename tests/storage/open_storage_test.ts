import assert from "node:assert/strict";
import { openStorage } from "../../src/storage/open_storage.ts";
import { UnusableError } from "../../src/lib/result.ts";
import { put } from "./contract.ts";

async function withDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-open-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("openStorage() keeps entries in the SQLite file unless a location says otherwise", () =>
  withDirectory(async (directory) => {
    const sqlitePath = `${directory}/portcullis.db`;
    const opened = await openStorage({ sqlitePath, clock: Date.now });
    assert.equal(await opened.get(["k"]), null);
    await put(opened, ["k"], 1);
    await opened.close();
    const made = Array.from(Deno.readDirSync(directory), ({ name }) => name).sort();
    assert.deepEqual(made.filter((name) => !/-(wal|shm)$/.test(name)), ["portcullis.db"]);
  }));

Deno.test("openStorage() says what is wrong and what to do, whichever the driver", () =>
  withDirectory(async (directory) => {
    const sqlitePath = `${directory}/portcullis.db`;
    await Deno.writeTextFile(sqlitePath, "no database\n".repeat(1_000));
    const postgres = {
      kind: "postgres",
      host: "127.0.0.1",
      port: 1,
      database: "d",
      user: "u",
      password: "hunter2",
      tls: false,
    } as const;
    const cases = [
      [{ sqlitePath }, /is not a database/],
      [
        { sqlitePath, location: postgres, bounds: { postgres: { startTimeoutMs: 50 } } },
        /port 1, cannot be used/,
      ],
    ] as const;
    for (const [options, problem] of cases) {
      await assert.rejects(openStorage({ ...options, clock: Date.now }), (error) => {
        assert.ok(error instanceof UnusableError);
        assert.match(error.problem, problem);
        assert.ok(error.remedy.length > 0 && !`${error.problem} ${error.remedy}`.includes("hunter2"));
        return true;
      });
    }
  }));
