/** The `deploy` block of deno.json: what it says to install is all that the app loads. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

Deno.test("deno.json's deploy block: the install command takes the server's packages alone, and the entry point starts from them", async () => {
  const { deploy } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  assert.deepEqual(deploy.runtime, { type: "dynamic", entrypoint: "main.ts" });
  const directory = await Deno.makeTempDir();
  const run = async (command: string, args: readonly string[]): Promise<Deno.CommandOutput> =>
    await new Deno.Command(command, { args: [...args], cwd: directory, stdin: "null", env: { NO_COLOR: "1" } })
      .output();
  try {
    for (const name of ["deno.json", "deno.lock", "main.ts", "src"]) {
      assert.ok((await run("cp", ["-R", `${root}${name}`, name])).success);
    }
    const command = deploy.install.replaceAll("deno install", `"${Deno.execPath()}" install`);
    const installed = await run("sh", ["-c", command]);
    assert.ok(installed.success, new TextDecoder().decode(installed.stderr));
    assert.equal(
      await Deno.readTextFile(`${directory}/deno.lock`),
      await Deno.readTextFile(`${root}deno.lock`),
      "the lock was frozen",
    );
    const started = await run(Deno.execPath(), [
      "run",
      "--cached-only",
      "--allow-all",
      deploy.runtime.entrypoint,
      "-V",
    ]);
    assert.match(new TextDecoder().decode(started.stdout), /^portcullis /);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
