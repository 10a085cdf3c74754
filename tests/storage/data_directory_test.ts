import assert from "node:assert/strict";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
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
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
    assert.equal(((await Deno.stat(`${path}/master.key`)).mode ?? 0) & 0o777, 0o600);
    assert.equal(first.byteLength, 32);
    const second = openDataDirectory(path);
    assert.deepEqual(second, first);
    assert.deepEqual(
      Array.from(Deno.readDirSync(path), (entry) => entry.name),
      ["master.key"],
      "nothing is left aside",
    );
  }));

Deno.test("openDataDirectory() refuses what other users could read, and says what to do", () =>
  withDirectory(async (path) => {
    openDataDirectory(path);
    await Deno.chmod(path, 0o755);
    assert.throws(() => openDataDirectory(path), { name: "UnusableError", remedy: /^chmod 700 / });
    await Deno.chmod(path, 0o700);
    await Deno.chmod(`${path}/master.key`, 0o640);
    assert.throws(() => openDataDirectory(path), { name: "UnusableError", remedy: /^chmod 600 .*\/master\.key, / });
  }));

Deno.test("openDataDirectory() refuses a key of the wrong length rather than weaken anything", () =>
  withDirectory(async (path) => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    await Deno.writeFile(`${path}/master.key`, new Uint8Array(5), { mode: 0o600 });
    assert.throws(() => openDataDirectory(path), { message: `${path}/master.key is not a master key` });
  }));

Deno.test({
  ...skippedUnless(
    Deno.build.os !== "windows" && hasProgram("sh"),
    "sh is missing",
    "a key that cannot be written leaves nothing aside",
  ),
  fn: () =>
    withDirectory(async (path) => {
      const { href } = new URL("../../src/storage/data_directory.ts", import.meta.url);
      const program = `import { openDataDirectory } from "${href}"; openDataDirectory(${JSON.stringify(path)});`;
      const { success, stderr } = await new Deno.Command("sh", {
        args: ["-c", `trap '' XFSZ; ulimit -f 0; exec "$@"`, "sh", Deno.execPath(), "eval", "--no-check", program],
      }).output();
      assert.ok(!success);
      assert.match(new TextDecoder().decode(stderr), /File too large/);
      assert.deepEqual(Array.from(Deno.readDirSync(path), ({ name }) => name), []);
    }),
});
