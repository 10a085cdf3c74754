/** The staging directory, where another process takes it away while it is in use. */
import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { createStaging } from "../../src/workspace/disk_staging.ts";
import { stagingDirectoryName } from "../../src/workspace/path.ts";

Deno.test("a staging directory that disappears fails the step at hand, not every step after it", async () => {
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
    create();
    assert.equal(staging.alone(() => 1), 1);
    await Deno.remove(`${path}/${stagingDirectoryName}`, { recursive: true });
    assert.throws(() => staging.alone(() => 2), Deno.errors.NotFound);
    create(); // which makes the directory again
    assert.equal(staging.alone(() => 3), 3);
  } finally {
    staging.close();
    await Deno.remove(path, { recursive: true });
  }
});
