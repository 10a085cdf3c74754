/** What fails fast, what waits, and when a database counts as back; in a time that the test moves. */
import assert from "node:assert/strict";
import { StorageUnavailableError } from "../../src/lib/system_fault.ts";
import { type Circuit, createCircuit } from "../../src/storage/open_storage.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";

interface Scene {
  readonly circuit: Circuit;
  readonly told: string[];
  probes: number;
  probe: () => Promise<unknown>;
  readonly advance: (milliseconds: number) => Promise<void>;
}

const fails = (): Promise<never> => Promise.reject(new Error("disk full"));
const hangs = (): Promise<never> => new Promise(() => {});
const works = (): Promise<string> => Promise.resolve("done");

function makeScene(hangMs?: number): Scene {
  const timers = virtualTimers();
  const told: string[] = [];
  const scene: Scene = {
    circuit: createCircuit({
      probe: () => {
        scene.probes += 1;
        return scene.probe();
      },
      toFailure: (error) => new StorageUnavailableError(String(error), { cause: error }),
      timers,
      ...(hangMs === undefined ? {} : { hangMs }),
      onOpen: ({ message }) => told.push(`open: ${message}`),
      onClose: () => told.push("close"),
    }),
    told,
    probes: 0,
    probe: fails,
    async advance(milliseconds) {
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
  const call = (): Promise<string> =>
    scene.circuit.run(() => {
      calls += 1;
      return works();
    });
  await assert.rejects(scene.circuit.run(fails), StorageUnavailableError);
  for (let count = 0; count < 10; count += 1) await assert.rejects(call(), StorageUnavailableError);
  assert.deepEqual([calls, scene.probes], [0, 1]);
  await scene.advance(200);
  await Promise.all([1, 2, 3].map(() => assert.rejects(call(), /disk full/)));
  assert.deepEqual([calls, scene.probes], [0, 2]);
  scene.probe = works;
  await scene.advance(200);
  assert.deepEqual(await Promise.all([call(), call()]), ["done", "done"]);
  assert.deepEqual([calls, scene.probes], [2, 3]);
  assert.deepEqual(scene.told, ["open: Error: disk full", "close"]);
});

Deno.test("circuit: a probe that gets no answer keeps callers for a second, and later ones not at all", async () => {
  const scene = makeScene();
  await assert.rejects(scene.circuit.run(fails));
  scene.probe = hangs;
  const first = assert.rejects(scene.circuit.run(works), StorageUnavailableError);
  await scene.advance(1_000);
  await first;
  await assert.rejects(scene.circuit.run(works), StorageUnavailableError);
  assert.equal(scene.probes, 1);
});

Deno.test("circuit: calls that a database leaves without an answer are rejected when a probe gets none either", async () => {
  const scene = makeScene(1_000);
  scene.probe = hangs;
  const refused = [1, 2].map(() => assert.rejects(scene.circuit.run(hangs), /does not answer/));
  await scene.advance(1_000);
  await scene.advance(1_000);
  await Promise.all(refused);
  await assert.rejects(scene.circuit.run(works), /does not answer/);
});

Deno.test("circuit: a call that is slow while probes are answered goes on", async () => {
  const scene = makeScene(1_000);
  scene.probe = works;
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = scene.circuit.run(() => promise);
  for (let count = 0; count < 5; count += 1) await scene.advance(1_000);
  resolve("at last");
  assert.equal(await slow, "at last");
  assert.deepEqual(scene.told, []);
});

Deno.test("circuit: a caller's mistake passes as it is and opens nothing", async () => {
  const scene = makeScene();
  await assert.rejects(scene.circuit.run(() => Promise.reject(new RangeError("too long"))), RangeError);
  assert.equal(await scene.circuit.run(works), "done");
});

Deno.test("circuit: what was broken for good stays so, whatever a probe would say", async () => {
  const scene = makeScene();
  scene.probe = works;
  scene.circuit.breakForGood(new StorageUnavailableError("the file is gone"));
  await scene.advance(1_000);
  await assert.rejects(scene.circuit.run(works), /the file is gone/);
  assert.equal(scene.probes, 0);
});
