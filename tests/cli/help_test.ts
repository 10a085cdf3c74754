/** Help, as it fits a terminal. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { commonFlags } from "../../src/cli/arguments.ts";
import { commands } from "../../src/cli/commands.ts";
import { describeVersion } from "../../src/lib/version.ts";
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

const settingLine = /--port VALUE +port to listen on.*\(a whole number from 0 to 65535\)/;

Deno.test("help settings lists the flags that every command takes, help users says what each verb does", async () => {
  const settings = await runCommand(["help", "settings"]);
  assert.equal(settings.code, 0);
  for (const flag of commonFlags) assert.ok(settings.stdout.includes(`  --${flag} `), flag);
  assert.match(settings.stdout, settingLine);
  const { stdout } = await runCommand(["users", "--help"]);
  const verbs = Array.from(stdout.matchAll(/ users ([a-z-]+)(?: NAME)?$/gm), ([, verb = ""]) => verb);
  assert.equal(verbs.length, 8);
  const explained = stdout.slice(stdout.lastIndexOf(" users "));
  for (const verb of verbs) assert.match(explained, new RegExp(`(^|; )${verb} +[a-z]`, "m"));
});

Deno.test("--version from source names the commit and the state of the sources, in each way to ask", async () => {
  const { success, stdout } = await new Deno.Command("git", { args: ["rev-parse", "HEAD"], stderr: "null" }).output()
    .catch(() => ({ success: false, stdout: new Uint8Array() }));
  const commit = success ? `${new TextDecoder().decode(stdout).slice(0, 12)}, ` : "";
  const said = await Promise.all(
    [["--version"], ["version"], ["token", "--version"]].map(async (args) => (await runCommand(args)).stdout),
  );
  assert.match(said[0] ?? "", new RegExp(`^portcullis \\d+\\.\\d+\\.\\d+ \\(${commit}sources [0-9a-f]{12}\\)\n$`));
  assert.equal(new Set(said).size, 1);
});

Deno.test("describeVersion() reads loose, packed and detached heads and other work trees, and tells any change", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-version-" });
  const root = new URL(`file://${directory}/tree/`);
  const write = async (path: string, text: string): Promise<void> => {
    const url = new URL(path, root);
    await Deno.mkdir(new URL(".", url), { recursive: true });
    await Deno.writeTextFile(url, text);
  };
  try {
    for (const file of ["main.ts", "deno.json", "deno.lock", "src/a/b.ts"]) await write(file, file);
    const seen = [await describeVersion(root)];
    assert.match(seen[0] ?? "", /^[\d.]+ \(sources [0-9a-f]{12}\)$/);
    await write(".git/HEAD", "ref: refs/heads/main\n");
    await write(
      ".git/packed-refs",
      `# pack-refs\n${"1".repeat(40)} refs/heads/mains\n${"2".repeat(40)} refs/heads/main\n`,
    );
    assert.match(seen[1] = await describeVersion(root), /\(2{12}, sources/);
    await write(".git/refs/heads/main", `${"3".repeat(40)}\n`);
    assert.match(await describeVersion(root), /\(3{12}, sources/);
    await write(".git/HEAD", `${"4".repeat(40)}\n`);
    assert.match(await describeVersion(root), /\(4{12}, sources/);
    await Deno.rename(new URL(".git", root), new URL("../main.git", root));
    await write("../main.git/worktrees/tree/HEAD", "ref: refs/heads/main\n");
    await write("../main.git/worktrees/tree/commondir", "../..\n");
    await write(".git", `gitdir: ${directory}/main.git/worktrees/tree\n`);
    assert.match(await describeVersion(root), /\(3{12}, sources/);
    await write("src/a/c.ts", "");
    seen.push(await describeVersion(root));
    await write("src/a/b.ts", "changed");
    seen.push(await describeVersion(root));
    assert.equal(new Set(seen.map((text) => text.match(/sources .*/)?.[0])).size, 3);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("help COMMAND shows the command's flags, how it is called, and where the flags of settings are", async () => {
  for (const { name, usage, flags, switches = {}, isServer = false } of await loadCommands()) {
    const { code, stdout } = await runCommand(["help", name]);
    assert.equal(code, 0, name);
    for (const line of usage) assert.ok(stdout.includes(` run -A main.ts ${line}`), `${name}: ${line}`);
    for (const flag of [...Object.keys(flags), ...Object.keys(switches)]) {
      assert.ok(stdout.includes(`  --${flag}`), `${name} --${flag}`);
    }
    if (isServer) assert.match(stdout, settingLine);
    else {
      assert.doesNotMatch(stdout, settingLine);
      assert.match(stdout, /`deno run -A main\.ts help settings` lists them\.$/m);
    }
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
