/** Help, as it fits a terminal. */
import { hasProgram } from "../fixtures/skipped_unless.ts";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { commonFlags, loadCommand } from "../../src/cli/run_command.ts";
import { commands } from "../../src/cli/command.ts";
import { describeVersion, version } from "../../src/lib/version.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { runCommand } from "../fixtures/running_server.ts";

const onSources = needing("sources");
const screenLines = 24;
const screenColumns = 80;

onSources.test("--help fits one screen, names each command, and says where more is", async () => {
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
  assert.equal(verbs.length, 7);
  const explained = stdout.slice(stdout.lastIndexOf(" users "));
  for (const verb of verbs) assert.match(explained, new RegExp(`(^|; )${verb} +[a-z]`, "m"));
});

async function git(cwd: URL, ...args: string[]): Promise<string | null> {
  const named = ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args];
  if (!hasProgram("git")) return null;
  const { success, stdout } = await new Deno.Command("git", { args: named, cwd, stderr: "null" }).output();
  return success ? new TextDecoder().decode(stdout).trim() : null;
}

onSources.test("--version from source names the commit, in each way to ask", async () => {
  const commit = await git(new URL("../..", import.meta.url), "rev-parse", "HEAD");
  const from = ["from source", commit?.slice(0, 12), "files "].filter((each) => each !== undefined).join(", ");
  const said = new Set<string>();
  for (const args of [["--version"], ["version"], ["token", "--version"]]) said.add((await runCommand(args)).stdout);
  const [line = ""] = said;
  assert.equal(said.size, 1);
  assert.ok(line.startsWith(`portcullis ${version} (${from}`), line);
  assert.match(line, /, files [0-9a-f]{12}\)\n$/);
});

const hasGit = await git(new URL(import.meta.url.replace(/[^/]*$/, "")), "--version") !== null;
Deno.test({
  name: `describeVersion() reads every kind of head and work tree, and tells changed sources${
    hasGit ? "" : " (skipped: no git)"
  }`,
  ignore: !hasGit,
  async fn() {
    const directory = await Deno.makeTempDir({ prefix: "portcullis-version-" });
    const root = new URL(`file://${directory}/tree/`);
    const said = async (at: URL): Promise<string> => (await describeVersion(at)).slice(version.length);
    try {
      await Deno.mkdir(new URL("src", root), { recursive: true });
      for (const file of ["main.ts", "deno.json", "deno.lock", "src/a.ts"]) {
        await Deno.writeTextFile(new URL(file, root), file);
      }
      const files = /, (files [0-9a-f]{12})\)$/.exec(await said(root))?.[1];
      assert.equal(await said(root), ` (from source, ${files})`, "no repository");
      await git(root, "init", "-q");
      await git(root, "add", ".");
      await git(root, "commit", "-qm", "a");
      const at = ` (from source, ${(await git(root, "rev-parse", "HEAD"))?.slice(0, 12)}, ${files})`;
      assert.equal(await said(root), at, "a loose head");
      await git(root, "pack-refs", "--all");
      assert.equal(await said(root), at, "a packed head");
      await git(root, "worktree", "add", "-q", "../other");
      assert.equal(await said(new URL("../other/", root)), at, "another work tree");
      await git(root, "checkout", "-q", "--detach");
      assert.equal(await said(root), at, "a detached head");
      const states = new Set([at]);
      for (const contents of ["one", "two"]) {
        await Deno.writeTextFile(new URL("src/a.ts", root), contents);
        states.add(await said(root));
      }
      await Deno.rename(new URL("src/a.ts", root), new URL("src/b.ts", root));
      states.add(await said(root));
      assert.equal(states.size, 4, "two states never call themselves alike");
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

onSources.test("help COMMAND shows the command's flags, how it is called, and where the flags of settings are", async () => {
  for (
    const { name, usage, flags = {}, switches = {}, isServer = false } of await Promise.all(commands.map(loadCommand))
  ) {
    const { code, stdout } = await runCommand(["help", name]);
    assert.equal(code, 0, name);
    for (const line of usage) assert.ok(stdout.includes(` run -A main.ts ${line}`), `${name}: ${line}`);
    for (const flag of [...Object.keys(flags), ...Object.keys(switches)]) {
      assert.ok(stdout.includes(`  --${flag}`), `${name} --${flag}`);
    }
    if (isServer) assert.match(stdout, settingLine);
    else {
      assert.doesNotMatch(stdout, settingLine);
      assert.match(stdout, / run -A main\.ts help settings` lists them\.$/m);
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
