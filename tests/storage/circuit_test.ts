/** What fails fast, what waits, and when a database counts as back; in a time that the test moves. */
import assert from "node:assert/strict";
import type { LogFields } from "../../src/lib/log.ts";
import type { Problem } from "../../src/lib/result.ts";
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import { guardStorage } from "../../src/storage/open_storage.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";

const fails = (): Promise<never> => Promise.reject(new Error("disk full"));
const hangs = (): Promise<never> => new Promise(() => {});
const works = (): Promise<null> => Promise.resolve(null);

/** A guarded storage whose reads do what a test says: those of the probe are told apart by their key. */
function makeScene({ findLoss }: { readonly findLoss?: () => Problem | null } = {}) {
  const timers = virtualTimers();
  const told: string[] = [];
  let step: () => Promise<null> = works;
  const storage: Storage = {
    ...createMemoryStorage(),
    get: ([family]) => {
      if (family !== "health") return step();
      scene.probes += 1;
      return scene.probe();
    },
  };
  const guarded = guardStorage(storage, {
    describe: (error) => ({ problem: String(error), remedy: "" }),
    timers,
    findLoss,
    log: {
      write: (_level: string, event: string, fields?: LogFields) =>
        void told.push([event, ...fields?.["problem"] === undefined ? [] : [fields["problem"]]].join(": ")),
      flush() {},
    },
  });
  const scene = {
    guarded,
    told,
    probes: 0,
    probe: fails as () => Promise<null>,
    read(next: () => Promise<null>): Promise<unknown> {
      step = next;
      return guarded.get(["k"]);
    },
    async advance(milliseconds: number): Promise<void> {
      await turns();
      timers.advance(milliseconds);
      await turns();
    },
  };
  return scene;
}

async function turns(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

Deno.test("circuit: after a failure, calls fail without reaching the database, one probe per pause, until one succeeds", async () => {
  const scene = makeScene();
  let calls = 0;
  const call = (): Promise<unknown> =>
    scene.read(() => {
      calls += 1;
      return works();
    });
  await assert.rejects(scene.read(fails), StorageUnavailableError);
  for (let count = 0; count < 10; count += 1) await assert.rejects(call(), StorageUnavailableError);
  assert.deepEqual([calls, scene.probes], [0, 1]);
  await scene.advance(200);
  await Promise.all([1, 2, 3].map(() => assert.rejects(call(), /disk full/)));
  assert.deepEqual([calls, scene.probes], [0, 2]);
  scene.probe = works;
  await scene.advance(200);
  assert.deepEqual(await Promise.all([call(), call()]), [null, null]);
  assert.deepEqual([calls, scene.probes], [2, 3]);
  assert.deepEqual(scene.told, ["storage_unavailable: Error: disk full", "storage_available"]);
});

Deno.test("circuit: a probe that gets no answer keeps callers for a second, and later ones not at all", async () => {
  const scene = makeScene();
  await assert.rejects(scene.read(fails));
  scene.probe = hangs;
  const first = assert.rejects(scene.read(works), StorageUnavailableError);
  await scene.advance(1_000);
  await first;
  await assert.rejects(scene.read(works), StorageUnavailableError);
  assert.equal(scene.probes, 1);
});

Deno.test("circuit: a caller's mistake passes as it is and opens nothing", async () => {
  const scene = makeScene();
  await assert.rejects(scene.read(() => Promise.reject(new RangeError("too long"))), RangeError);
  assert.equal(await scene.read(works), null);
});

Deno.test("circuit: what was lost stays so for writes, whatever a probe would say, and reads go on", async () => {
  let loss: Problem | null = null;
  const scene = makeScene({ findLoss: () => loss });
  scene.probe = works;
  const write = (): Promise<boolean> => scene.guarded.commit({ puts: [{ key: ["k"], value: 1 }] });
  assert.equal(await write(), true);
  loss = { problem: "the file is gone", remedy: "put it back" };
  await assert.rejects(write(), /the file is gone/);
  loss = null;
  await scene.advance(1_000);
  await assert.rejects(write(), /the file is gone/);
  await assert.rejects(scene.guarded.consume(["k"]), /the file is gone/);
  await scene.read(works);
  assert.deepEqual([scene.probes, scene.told], [0, ["storage_unavailable: the file is gone"]]);
});

Deno.test("circuit: a write during which the database was lost is not acknowledged", async () => {
  let looks = 0;
  const scene = makeScene({ findLoss: () => ++looks < 2 ? null : { problem: "the file is gone", remedy: "" } });
  await assert.rejects(scene.guarded.commit({ puts: [{ key: ["k"], value: 1 }] }), /the file is gone/);
});
