import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

async function runConfined(...flags: string[]): Promise<Record<string, unknown>> {
  const directory = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, "tests/sandbox/confined_isolate.ts", directory],
      cwd: root,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("confineThisIsolate() leaves network and environment, and a storage that is open goes on working", async () => {
  assert.deepEqual(await runConfined("--allow-all", "--no-prompt"), {
    heldBefore: ["read", "write", "net", "env", "run", "ffi", "sys", "import"],
    heldAfter: ["net", "env"],
    stored: { made: "after" },
    swept: 0,
    read: "NotCapable",
    write: "NotCapable",
    run: "NotCapable",
  });
});
