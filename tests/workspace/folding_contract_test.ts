import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { foldingSkipped, withFoldingMount } from "../fixtures/folding_mount.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

Deno.test({
  name: `the contract holds on a file system that finds entries by other spellings${foldingSkipped ?? ""}`,
  ignore: foldingSkipped !== null,
  async fn() {
    const directory = await Deno.makeTempDir();
    const [command = "", ...args] = withFoldingMount(":");
    const suite = [
      "test",
      "--no-prompt",
      "--allow-all",
      "--config",
      "deno.dev.json",
      "tests/workspace/folding_contract.ts",
    ];
    try {
      const { code, stdout, stderr } = await new Deno.Command(command, {
        args: [...args, Deno.execPath(), ...suite],
        cwd: root,
        env: { WORKSPACE_DIR: directory, NO_COLOR: "1" },
      }).output();
      const decoder = new TextDecoder();
      assert.equal(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
      assert.match(decoder.decode(stdout), /^ok \| [1-9]\d* passed/m);
    } finally {
      await Deno.remove(directory);
    }
  },
});
