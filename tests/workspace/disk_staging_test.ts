/** The staging directory, where another process takes it away while it is in use. */
import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { success } from "../../src/lib/result.ts";
import { createStaging } from "../../src/workspace/disk_staging.ts";
import { stagingDirectoryName } from "../../src/workspace/path.ts";

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
