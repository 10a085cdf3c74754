import assert from "node:assert/strict";
import { openDataDirectory } from "../../src/storage/data_directory.ts";

async function withDirectory(run: (path: string) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "portcullis-data-" });
  try {
    await run(`${parent}/a/b`);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}

Deno.test("openDataDirectory() makes the directory 0700 and a master key 0600, and keeps the key", () =>
  withDirectory(async (path) => {
    const first = openDataDirectory(path);
    assert.ok(first.ok);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
    assert.equal(((await Deno.stat(`${path}/master.key`)).mode ?? 0) & 0o777, 0o600);
    assert.equal(first.value.masterKey.byteLength, 32);
    const second = openDataDirectory(path);
    assert.ok(second.ok);
    assert.deepEqual(second.value.masterKey, first.value.masterKey);
    assert.deepEqual(
      Array.from(Deno.readDirSync(path), (entry) => entry.name),
      ["master.key"],
      "nothing is left aside",
    );
  }));

Deno.test("openDataDirectory() refuses what other users could read, and says what to do", () =>
  withDirectory(async (path) => {
    assert.ok(openDataDirectory(path).ok);
    await Deno.chmod(path, 0o755);
    const open = openDataDirectory(path);
    assert.ok(!open.ok);
    assert.equal(open.error.remedy, `chmod 700 ${path}`);
    await Deno.chmod(path, 0o700);
    await Deno.chmod(`${path}/master.key`, 0o640);
    const key = openDataDirectory(path);
    assert.ok(!key.ok && key.error.remedy === `chmod 600 ${path}/master.key`);
  }));

Deno.test("openDataDirectory() refuses a key of the wrong length rather than weaken anything", () =>
  withDirectory(async (path) => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    await Deno.writeFile(`${path}/master.key`, new Uint8Array(5), { mode: 0o600 });
    const opened = openDataDirectory(path);
    assert.ok(!opened.ok && opened.error.problem === "is not a master key");
  }));
