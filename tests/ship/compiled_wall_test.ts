/** The wall of permissions in the compiled program, held against broken tools. */
import assert from "node:assert/strict";
import process from "node:process";
import { root } from "../../scripts/bundle.ts";
import { compiledPermissions, unstableFlags } from "../../scripts/compile.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { compilerEnvironment, whyMissing } from "../fixtures/forms/prepare_form.ts";
import { startProcess } from "../fixtures/forms/server_process.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { attempts, type Targets } from "../sandbox/attempts.ts";
import { call, createToken } from "../sandbox/call.ts";
import { kernelAttempts } from "../sandbox/kernel_attempts.ts";

const missing = whyMissing("binary");

/** {@link ../sandbox/broken_server.ts}, compiled with the permissions of the program that is shipped. */
async function compileBroken(directory: string): Promise<string> {
  const environment = compilerEnvironment();
  const args = [
    ...["compile", "--quiet", "--no-check", "--config", "deno.json", "--no-code-cache"],
    ...[...unstableFlags, ...compiledPermissions()],
    ...["--include", "tests/sandbox/broken_worker.ts", "--output", `${directory}/broken`],
    "tests/sandbox/broken_server.ts",
  ];
  const compiler = environment["COMPILE_DENO"] ?? process.env["COMPILE_DENO"] ?? Deno.execPath();
  const { success, stderr } = await new Deno.Command(compiler, { args, cwd: root, env: environment }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return `${directory}/broken`;
}

Deno.test({
  ...skippedUnless(
    missing === null,
    missing ?? "",
    "in the compiled program no tool reaches a symbol, loads a library, or gets at anything but the workspace",
  ),
  async fn(t) {
    const directory = await Deno.makeTempDir({ prefix: "portcullis-broken-" });
    try {
      const program = { command: await compileBroken(directory), args: [] };
      await using place = await makeServerPlace();
      const token = await createToken(place.dataDir);
      await using server = await startProcess(program, place, {
        DATA_DIR: place.dataDir,
        WORKSPACE_DIR: place.workspaceDir,
        PORT: "0",
        OLLAMA_HOST: "127.0.0.1:1",
        SHUTDOWN_TIMEOUT: "0",
      });
      const targets: Targets = {
        secretPath: `${directory}/secret.js`,
        newPath: `${directory}/new`,
        workspaceDir: place.workspaceDir,
        dataDir: place.dataDir,
        program: Deno.execPath(),
        elsewhere: { hostname: "127.0.0.1", port: 2 },
      };
      await Deno.writeTextFile(targets.secretPath, "export default 'secret';");
      const attempt = (what: string): Promise<string> => call(server, token, "attempt", { what, targets });
      for (const what of Object.keys(attempts)) {
        await t.step(
          what,
          async () => assert.match(await attempt(what), /^stopped: .*(NotCapable|Requires|EPERM|EACCES)/),
        );
      }
      for (const [what, reason] of loadKernel().available ? kernelAttempts : []) {
        await t.step(what, async () => assert.match(await attempt(what), new RegExp(`^stopped: .*${reason.source}`)));
      }
      assert.equal(await attempt("work in the workspace"), 'done: "made"');
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
