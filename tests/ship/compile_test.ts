/** What a release is made of: the bundle, its permissions, and the program compiled from it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { bundleProgram, namedModules, root } from "../../scripts/bundle.ts";
import { bundledFiles, runBundler } from "../../scripts/bundler.ts";
import { binaryName, bundleFlags, compiledPermissions, targets } from "../../scripts/compile.ts";
import { npmManifest } from "../../scripts/release/npm_package.ts";
import { heapFlag, libraryFlag } from "../../src/lib/start_flags.ts";
import { compile, prepareForm, whyMissing } from "../fixtures/forms/prepare_form.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";

Deno.test("the bundle is the same bytes wherever it is made, holds the commit, and names no place of the machine", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-bundle-" });
  const commit = "0123456789ab";
  const copy = `${directory}/some/where/else`;
  await copySources(copy);
  const args = ["run", "-A", `${copy}/scripts/bundle.ts`, "there"]; // from another directory than the sources'
  const made = new Deno.Command(Deno.execPath(), { args, cwd: directory, env: { PORTCULLIS_COMMIT: commit } });
  assert.ok((await made.output()).success);
  await using prepared = await prepareForm("bundle"); // without a commit
  const here = await textOf(join(dirname(prepared.env["PORTCULLIS_PROGRAM"] ?? ""), "bundle"));
  const there = await textOf(`${directory}/there`);
  assert.ok(there.includes(`"${commit}"`) && !here.includes(commit));
  assert.ok(here === there.replaceAll(commit, ""), "the bundles differ in more than the commit");
  for (const trace of [root, `${directory}/`, `${Deno.env.get("HOME") ?? directory}/`, "file:///"]) {
    assert.ok(!here.includes(trace) && !there.includes(trace), trace); // `/root` itself is among the directories of the system
  }
  await Deno.remove(directory, { recursive: true });
});

// Deno's bundler drops a `using` whose variable is used but once, by the next statement, when it makes code smaller.
Deno.test("the bundle closes what the sources close: no `using` is lost on the way", async () => {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-bundle-" });
  const countIn = async (bundle: string): Promise<number> =>
    (await textOf(bundle)).match(/\busing [\w$]+ ?=/g)?.length ?? 0;
  const worker = namedModules.filter((name) => name.includes("worker"));
  let expected = 0;
  for (const entries of [["main.js", ...namedModules.filter((name) => !worker.includes(name))], worker]) {
    const output = `whole${entries.length}`;
    const scripts = entries.map((name) => name.replace(/js$/, "ts"));
    await runBundler(["--frozen", "--code-splitting", "--outdir", `${directory}/${output}`, ...scripts], root);
    expected += await countIn(`${directory}/${output}`);
  }
  assert.ok(expected > 10, "the expression finds them");
  await using small = await prepareForm("bundle");
  const bundle = join(dirname(small.env["PORTCULLIS_PROGRAM"] ?? ""), "bundle");
  assert.equal(await countIn(bundle), expected, "write the new one with try and finally");
  await Deno.remove(directory, { recursive: true });
});

Deno.test("the compiled program's permissions: no process, no library but C's, no prompt", () => {
  const permissions = compiledPermissions();
  assert.ok(permissions.includes("--no-prompt"));
  const others = permissions.filter((flag) => flag !== libraryFlag);
  assert.equal(others.length, permissions.length - 1);
  assert.ok(!others.some((flag) => /allow-(all|run|ffi|import|sys$)/.test(flag)), permissions.join(" "));
});

Deno.test("npm's launcher starts the bundle as the compiled program is: its permissions, and its heap", () => {
  const { denoFlags } = npmManifest({ version: "1.0.0", denoVersion: "2.0.0", repository: "someone/portcullis" });
  assert.deepEqual(denoFlags, bundleFlags());
  assert.deepEqual(bundleFlags().filter((flag) => flag.startsWith("--v8-flags")), [heapFlag]);
  for (const flag of compiledPermissions()) assert.ok(bundleFlags().includes(flag));
});

Deno.test("in the bundle, the worker evaluates the binding to the kernel and no other module while it may load libraries", async () => {
  await using prepared = await prepareForm("bundle");
  const directory = join(dirname(prepared.env["PORTCULLIS_PROGRAM"] ?? ""), "bundle");
  await assert.rejects(bundleProgram(directory, null), /is not empty .*: name a new directory/);
  const pieces = new Map<string, string>();
  const pending = namedModules.filter((name) => name.includes("worker")).map((name) => join(directory, name));
  for (let path; (path = pending.pop()) !== undefined;) {
    if (pieces.has(path)) continue;
    const text = await Deno.readTextFile(path);
    pieces.set(path, text);
    for (const [, specifier = ""] of text.matchAll(/(?:import|from)\s*"([^"]+)"/g)) {
      assert.match(specifier, /^\./, "a module of Node or a package");
      pending.push(join(dirname(path), specifier));
    }
  }
  const whole = [...pieces.values()].join("");
  assert.match(whole, /dlopen/);
  assert.ok(whole.length < 20_000, `${whole.length} characters are more than the binding`);
});

for (const form of ["bundle", "binary"] as const) {
  const name = `the ${form} starts in an empty directory, serves, is well, and stops`;
  const missing = whyMissing(form);
  if (missing !== null) {
    Deno.test({ name: `SKIPPED ${name}: ${missing}`, ignore: true, fn: () => {} });
  } else {
    Deno.test(name, async () => {
      await using prepared = await prepareForm(form);
      const program = prepared.env["PORTCULLIS_PROGRAM"] ?? "";
      const empty = await Deno.makeTempDir({ prefix: "portcullis-empty-" });
      const { stdout } = await new Deno.Command(program, { args: ["--version"], cwd: empty }).output();
      assert.match(
        new TextDecoder().decode(stdout),
        /^portcullis \d+\.\d+\.\d+ \((bundle|program)(, [0-9a-f]{12})?(, changed: [0-9a-f]{12})?\)\n$/,
      );
      await serveAndStop(empty, program);
      await Deno.remove(empty);
    });
  }
}

const sameName = "the compiled program is the same bytes when it is made again, in another place";
const noBase = whyMissing("binary");
if (noBase !== null) {
  Deno.test({ name: `SKIPPED ${sameName}: ${noBase}`, ignore: true, fn: () => {} });
} else {
  Deno.test(sameName, async () => {
    await using prepared = await prepareForm("binary");
    const directory = await Deno.makeTempDir({ prefix: "portcullis-again-" });
    const programs = [prepared.env["PORTCULLIS_PROGRAM"] ?? "", await compile(directory)];
    const [one, again] = await Promise.all(
      programs.map(async (program) => createHash("sha256").update(await Deno.readFile(program)).digest("hex")),
    );
    assert.notEqual(programs[0], programs[1]);
    assert.equal(one, again);
    await Deno.remove(directory, { recursive: true });
  });
}

Deno.test("a release has six programs, with the names that their systems expect", () => {
  assert.equal(new Set(targets.map(binaryName)).size, 6);
  assert.equal(binaryName("x86_64-pc-windows-msvc"), "portcullis-x86_64-pc-windows-msvc.exe");
  assert.equal(binaryName("aarch64-apple-darwin"), "portcullis-aarch64-apple-darwin");
});

/** Starts the program in `cwd`, asks its `healthcheck`, and stops it. */
async function serveAndStop(cwd: string, command: string): Promise<void> {
  await using place = await makeServerPlace();
  const env = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, NO_COLOR: "1", UNKNOWN_VARIABLE: "1" };
  const server = new Deno.Command(command, {
    args: ["serve", "--port", "0"],
    cwd,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = new Response(server.stderr).text();
  const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let port: string | undefined;
  for (let text = ""; port === undefined;) {
    const { value, done } = await reader.read();
    assert.ok(!done, await Promise.race([said, "it ended"]));
    port = /^portcullis listening on http:\/\/127\.0\.0\.1:(\d+)\n/.exec(text += value)?.[1];
  }
  const health = await new Deno.Command(command, { args: ["healthcheck", "--port", port], cwd, env }).output();
  server.kill("SIGTERM");
  const { code } = await server.status;
  await reader.cancel();
  assert.doesNotMatch(await said, /NotCapable|not granted/);
  assert.deepEqual([health.code, code], [0, 0]);
}

async function copySources(directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  const { success } = await new Deno.Command("cp", {
    args: ["-R", "main.ts", "deno.json", "deno.lock", "src", "scripts", directory],
    cwd: root,
  }).output();
  assert.ok(success);
}

/** A bundle as one text, with the names of its files. */
async function textOf(bundle: string): Promise<string> {
  const paths = await bundledFiles(bundle);
  const texts = await Promise.all(
    paths.map(async (path) => [path.slice(bundle.length), await Deno.readTextFile(path)]),
  );
  return texts.flat().join("\n");
}
