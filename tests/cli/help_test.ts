/** Help, as it fits a terminal. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { commands } from "../../src/cli/commands.ts";
import { loadCommands } from "../../src/cli/load_commands.ts";
import { runCommand } from "../fixtures/running_server.ts";

const screenLines = 24;
const screenColumns = 80;

Deno.test("--help fits one screen, names each command, and says where more is", async () => {
  const { code, stdout } = await runCommand(["--help"]);
  assert.equal(code, 0);
  const lines = stdout.trimEnd().split("\n");
  assert.ok(lines.length < screenLines, `${lines.length} lines, and one for the prompt`);
  for (const { name, summary } of commands) {
    const line = lines.find((each) => each.startsWith(`  ${name} `)) ?? "";
    assert.ok(line.includes(summary), name);
  }
  assert.deepEqual(lines.filter((line) => line.length > screenColumns), []);
  assert.match(stdout, /help COMMAND/);
  assert.match(stdout, /config --all/);
});

Deno.test("help COMMAND shows the command's flags, how it is called, and the flags of settings with what they accept", async () => {
  for (const { name, usage, flags, switches = {} } of await loadCommands()) {
    const { code, stdout } = await runCommand(["help", name]);
    assert.equal(code, 0, name);
    for (const line of usage) assert.ok(stdout.includes(` run -A main.ts ${line}`), `${name}: ${line}`);
    for (const flag of [...Object.keys(flags), ...Object.keys(switches), "config", "port"]) {
      assert.ok(stdout.includes(`  --${flag}`), `${name} --${flag}`);
    }
    assert.match(stdout, /--port VALUE +port to listen on.*\(a whole number from 0 to 65535\)/);
    assert.ok(stdout.split("\n").length <= 40, name);
  }
  const token = await runCommand(["help", "token"]);
  assert.match(token.stdout, /--scope SCOPES[\s\S]*files:read, files:write/);
});

interface ModuleInfo {
  readonly specifier: string;
  readonly dependencies?: readonly { readonly code?: { readonly specifier: string } }[];
}

Deno.test("Deno reads few modules before --help and --version run, and none of Node or a package", async () => {
  const main = new URL("../../main.ts", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", fileURLToPath(main)] })
    .output();
  const { modules }: { readonly modules: readonly ModuleInfo[] } = JSON.parse(new TextDecoder().decode(stdout));
  const read = new Set([main.href]);
  for (const specifier of read) { // grows as imports are found, those that only may run among them
    const dependencies = modules.find((each) => each.specifier === specifier)?.dependencies ?? [];
    for (const { code } of dependencies) if (code !== undefined) read.add(code.specifier);
  }
  assert.ok(read.size > 5 && read.size < 20, [...read].join("\n"));
  assert.deepEqual([...read].filter((specifier) => !specifier.startsWith("file:")), []);
});
