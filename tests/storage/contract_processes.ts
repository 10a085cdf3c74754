/** What drivers promise whose database several processes may have open. Real processes, really killed. */
import assert from "node:assert/strict";
import { put, type StoragePlace } from "./contract.ts";
import { watchedValue } from "./contract_watch.ts";
import { startStorageProcess, type StorageLocation } from "./start_storage_process.ts";

const processes = 3;
const kills = 4;

/** A place that other processes can open too. */
export interface SharedStoragePlace extends StoragePlace {
  readonly location: StorageLocation;
}

/** Registers the tests under the driver's name. */
export function testStorageProcesses(driver: string, makePlace: () => Promise<SharedStoragePlace>): void {
  Deno.test(`${driver} storage: processes that open a new database at once all succeed, and lose no increment`, async () => {
    await using place = await makePlace();
    const running = Array.from({ length: processes }, () => startStorageProcess(place.location, "increment"));
    for (const each of running) assert.deepEqual(await each.lines, ["done"]);
    const storage = await place.open();
    try {
      assert.equal((await storage.get(["counter"]))?.value, 25 * processes);
    } finally {
      await storage.close();
    }
  });

  Deno.test(`${driver} storage: of racing processes, exactly one consumes each code`, async () => {
    await using place = await makePlace();
    const storage = await place.open();
    try {
      for (let at = 0; at < 40; at++) await put(storage, ["code", String(at)], at);
    } finally {
      await storage.close();
    }
    const running = Array.from({ length: processes }, () => startStorageProcess(place.location, "consume"));
    const taken = (await Promise.all(running.map((each) => each.lines))).flat().map(Number).sort((a, b) => a - b);
    assert.deepEqual(taken, Array.from({ length: 40 }, (_, at) => at));
  });

  Deno.test(`${driver} storage: SIGKILL loses nothing that was acknowledged and leaves no half of a batch`, async () => {
    await using place = await makePlace();
    for (let round = 0; round < kills; round++) {
      const running = startStorageProcess(place.location, "acknowledge", { word: String(round) });
      await running.printed(1 + 7 * round);
      running.kill();
      const acknowledged = await running.lines;
      assert.ok(acknowledged.length > 0);
      const storage = await place.open();
      try {
        const left = await storage.list(["left", String(round)], { limit: 100_000 });
        const right = await storage.list(["right", String(round)], { limit: 100_000 });
        assert.deepEqual(left.map(({ value }) => value), right.map(({ value }) => value));
        const kept = new Set(left.map(({ value }) => String(value)));
        assert.deepEqual(acknowledged.filter((line) => !kept.has(line)), []);
      } finally {
        await storage.close();
      }
    }
  });

  Deno.test(`${driver} storage: a watch hears of what other processes write, a killed one's last commit included`, async () => {
    await using place = await makePlace();
    const storage = await place.open();
    try {
      const running = startStorageProcess(place.location, "watch", { word: "3" });
      await running.started;
      for (const value of [1, 2, 3]) await put(storage, ["user", "counter"], value);
      assert.equal((await running.lines).at(-1), "3");
      const seen = watchedValue(storage, ["mcp_session", "last"], "word");
      const writing = startStorageProcess(place.location, "last_word");
      await seen;
      writing.kill();
      await writing.lines;
    } finally {
      await storage.close();
    }
  });
}
