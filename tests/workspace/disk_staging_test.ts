/** The staging directory, where another process takes it away while it is in use. */
import assert from "node:assert/strict";
import { failure, success } from "../../src/lib/result.ts";
import { createAccessRules } from "../../src/files/workspace/access_rules.ts";
import { createPathRoots } from "../../src/files/disk/checked_path.ts";
import { createDiskAccess } from "../../src/files/disk/directory.ts";
import { createStaging } from "../../src/files/disk/staging.ts";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import { until } from "../fixtures/until.ts";

Deno.test("a staging directory that disappears is made again by whoever needs it next", async () => {
  const path = await Deno.realPath(await Deno.makeTempDir());
  let ids = 0;
  const staging = createStaging(createDiskAccess(path, createPathRoots(createAccessRules())), () => `id${++ids}`);
  const create = (): void => {
    const staged = staging.create();
    assert.ok(staged.ok);
    staged.value.file.close();
  };
  try {
    const takeTurn = async (): Promise<void> => assert.deepEqual(await staging.alone(() => success(1)), success(1));
    const takeAway = (): Promise<void> => Deno.remove(`${path}/${stagingDirectoryName}`, { recursive: true });
    create();
    await takeTurn();
    await takeAway();
    await takeTurn();
    await takeAway();
    create();
    await takeTurn();
  } finally {
    staging.close();
    await Deno.remove(path, { recursive: true });
  }
});

Deno.test("workers that make the staging directory of a new workspace at the same moment all write there", async () => {
  const source = (file: string) => JSON.stringify(new URL(`../../src/files/${file}`, import.meta.url));
  const program = `
    import { createAccessRules } from ${source("workspace/access_rules.ts")};
    import { createPathRoots } from ${source("disk/checked_path.ts")};
    import { createDiskAccess } from ${source("disk/directory.ts")};
    import { createStaging } from ${source("disk/staging.ts")};
    onmessage = ({ data: { path, id, gate } }) => {
      let ids = 0;
      const staging = createStaging(createDiskAccess(path, createPathRoots(createAccessRules())), () => id + ++ids);
      Atomics.add(gate, 0, 1);
      while (Atomics.load(gate, 1) === 0);
      const staged = staging.create();
      if (staged.ok) staged.value.file.close();
      staging.close();
      postMessage(staged.ok ? "made" : JSON.stringify(staged.error));
    };`;
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const workers = ["a", "b", "c"].map((id) => ({ id, worker: new Worker(address, { type: "module" }) }));
  try {
    for (let round = 0; round < 20; round += 1) {
      const path = await Deno.realPath(await Deno.makeTempDir());
      const gate = new Int32Array(new SharedArrayBuffer(8));
      const answers = workers.map(({ id, worker }) =>
        new Promise((resolve) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.postMessage({ path, id, gate });
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

Deno.test({
  name: "a lock that another process holds keeps a change waiting, never the thread, and refuses it in the end",
  ignore: Deno.build.os === "windows",
  async fn() {
    const path = await Deno.realPath(await Deno.makeTempDir());
    const staging = createStaging(createDiskAccess(path, createPathRoots(createAccessRules())), () => "owner");
    try {
      assert.deepEqual(await staging.alone(() => success(1)), success(1));
      const holder = Deno.openSync(`${path}/${stagingDirectoryName}`); // of another process: a lock of this open file alone
      holder.lockSync(true);
      let passes = 0;
      const counting = setInterval(() => passes++, 1);
      try {
        assert.deepEqual(await staging.alone(() => success(2)), failure({ reason: "io", code: "EBUSY" }));
        assert.ok(passes > 30, `${passes} timers ran meanwhile, of which its own were twelve`);
        const waiting = staging.alone(() => success(3));
        await new Promise((resolve) => setTimeout(resolve, 20));
        holder.unlockSync();
        assert.deepEqual(await waiting, success(3));
      } finally {
        clearInterval(counting);
        holder.close();
      }
    } finally {
      staging.close();
      await Deno.remove(path, { recursive: true });
    }
  },
});
