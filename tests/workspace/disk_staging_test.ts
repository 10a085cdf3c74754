/** The staging directory, where another process takes it away while it is in use. */
import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { success } from "../../src/lib/result.ts";
import { createStaging } from "../../src/workspace/disk/staging.ts";
import { stagingDirectoryName } from "../../src/workspace/path.ts";
import { until } from "../fixtures/until.ts";

Deno.test("a staging directory that disappears is made again by whoever needs it next", async () => {
  const path = await Deno.realPath(await Deno.makeTempDir());
  const { dev: device, ino: inode } = await Deno.stat(path);
  let ids = 0;
  const staging = createStaging({ path, device, inode }, () => `id${++ids}`);
  const create = (): void => {
    const staged = staging.create();
    assert.ok(staged.ok);
    closeSync(staged.value.descriptor);
  };
  try {
    const takeTurn = (): void => assert.deepEqual(staging.alone(() => success(1)), success(1));
    const takeAway = (): Promise<void> => Deno.remove(`${path}/${stagingDirectoryName}`, { recursive: true });
    create();
    takeTurn();
    await takeAway();
    takeTurn();
    await takeAway();
    create();
    takeTurn();
  } finally {
    staging.close();
    await Deno.remove(path, { recursive: true });
  }
});

Deno.test("workers that make the staging directory of a new workspace at the same moment all write there", async () => {
  const source = `
    import { createStaging } from ${JSON.stringify(new URL("../../src/workspace/disk/staging.ts", import.meta.url))};
    import { closeSync } from "node:fs";
    onmessage = ({ data: { path, device, inode, id, gate } }) => {
      let ids = 0;
      const staging = createStaging({ path, device, inode }, () => id + ++ids);
      Atomics.add(gate, 0, 1);
      while (Atomics.load(gate, 1) === 0);
      const staged = staging.create();
      if (staged.ok) closeSync(staged.value.descriptor);
      staging.close();
      postMessage(staged.ok ? "made" : JSON.stringify(staged.error));
    };`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const workers = ["a", "b", "c"].map((id) => ({ id, worker: new Worker(address, { type: "module" }) }));
  try {
    for (let round = 0; round < 20; round += 1) {
      const path = await Deno.realPath(await Deno.makeTempDir());
      const { dev: device, ino: inode } = await Deno.stat(path);
      const gate = new Int32Array(new SharedArrayBuffer(8));
      const answers = workers.map(({ id, worker }) =>
        new Promise((resolve) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.postMessage({ path, device, inode, id, gate });
        })
      );
      await until("all workers at the gate", () => Atomics.load(gate, 0) === workers.length);
      Atomics.store(gate, 1, 1);
      assert.deepEqual(await Promise.all(answers), ["made", "made", "made"]);
      await Deno.remove(path, { recursive: true });
    }
  } finally {
    for (const { worker } of workers) worker.terminate();
    URL.revokeObjectURL(address);
  }
});
