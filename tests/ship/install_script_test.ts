/** The script that people pipe into a shell, run as they run it: against a server that has the release's files, and faults. */
import { Language, Parser } from "web-tree-sitter";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { root } from "../../scripts/bundle.ts";
import { targets } from "../../scripts/compile.ts";
import { makeArchive } from "../../scripts/release/archive.ts";
import { installScripts } from "../../scripts/release/package_managers.ts";
import { freePort } from "../fixtures/free_port.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { hasProgram, needsPrograms, onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

const version = "1.2.3";
const program = `#!/bin/sh\necho "portcullis ${version}"\n`;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const templates = {
  sh: await Deno.readTextFile(`${root}scripts/release/install.sh`),
  ps1: await Deno.readTextFile(`${root}scripts/release/install.ps1`),
};

interface Installed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What is in the directory of programs afterwards. */
  readonly files: readonly string[];
}

interface Attempt {
  /** Changes what the server gives for the archive; `null` closes the connection early. */
  readonly serve?: (archive: Uint8Array<ArrayBuffer>) => Response;
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Programs that come before the machine's own, as scripts. */
  readonly commands?: Readonly<Record<string, string>>;
  /** Runs the shell, and gets the directory that it installs into. */
  readonly launcher?: (directory: string) => readonly string[];
  /** What was installed there before. */
  readonly before?: string;
  /** How many of the script's characters arrive. */
  readonly cut?: number;
}

const expected = `${Deno.build.arch}-${Deno.build.os === "darwin" ? "apple-darwin" : "unknown-linux-gnu"}`;

async function install(attempt: Attempt = {}): Promise<Installed> {
  const { serve = (archive) => new Response(archive), env = {}, commands = {}, launcher = () => [] } = attempt;
  const home = await Deno.makeTempDir({ prefix: "portcullis-install-" });
  const directory = `${home}/.local/bin`;
  const none = new Uint8Array();
  const archives = new Map(targets.map((target) => {
    const made = makeArchive({ target, program: encode(attempt.program ?? program), license: none, notices: none });
    return [target, { name: made.name, bytes: new Uint8Array(made.bytes) }];
  }));
  const digests = Object.fromEntries(
    Array.from(archives, ([target, { bytes }]) => [target, createHash("sha256").update(bytes).digest("hex")]),
  );
  const script =
    installScripts(templates, { version, repository: "Someone/portcullis", archives: digests })["install.sh"];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const asked = [...archives.values()].find(({ name }) => url.endsWith(`/${name}`));
    return asked === undefined ? new Response("", { status: 404 }) : serve(asked.bytes);
  });
  try {
    await Deno.mkdir(`${home}/commands`);
    for (const [name, text] of Object.entries(commands)) {
      await Deno.writeTextFile(`${home}/commands/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    if (attempt.before !== undefined) {
      await Deno.mkdir(directory, { recursive: true });
      await Deno.writeTextFile(`${directory}/portcullis`, attempt.before, { mode: 0o755 });
    }
    await Deno.mkdir(`${home}/mount`);
    const [command = "sh", ...args] = [...launcher(`${home}/mount`), "sh"];
    const shell = new Deno.Command(command, {
      args,
      clearEnv: true,
      env: {
        HOME: home,
        PATH: `${home}/commands:${Deno.env.get("PATH")}`,
        PORTCULLIS_DOWNLOADS: `http://127.0.0.1:${server.addr.port}`,
        ...env,
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = shell.stdin.getWriter(); // as `curl ... | sh` does
    await writer.write(encode((script ?? "").slice(0, attempt.cut)));
    await writer.close();
    const { code, stdout, stderr } = await shell.output();
    const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).replaceAll(home, "HOME");
    const files = await Array.fromAsync(Deno.readDir(directory), ({ name }) => name).catch(() => []);
    return { code, stdout: decode(stdout), stderr: decode(stderr), files };
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const test = (name: string, fn: () => Promise<void>): void =>
  Deno.test({ ...needsPrograms(["sh", "tar", "curl", "sha256sum"], name), fn });

test("install.sh installs the program for this machine into the user's directory, and says how to start it", async () => {
  const { code, stdout, stderr, files } = await install();
  assert.equal(stderr, "");
  assert.equal(code, 0);
  assert.deepEqual(files, ["portcullis"]);
  assert.ok(stdout.includes(`Installed portcullis ${version} in HOME/.local/bin/portcullis`), stdout);
  assert.match(stdout, /Start it: HOME\/\.local\/bin\/portcullis serve\n.*export PATH="HOME\/\.local\/bin:\$PATH"/);
  const named = await install({ env: { PORTCULLIS_INSTALL: "/dev/null/no" } });
  assert.match(named.stderr, /error: \/dev\/null\/no cannot be made\nhint: PORTCULLIS_INSTALL/);
  const updated = await install({ before: "an older one" });
  assert.equal(updated.code, 0);
});

test("install.sh installs nothing, and keeps what was there, where the download is not the published file", async () => {
  const faults: Readonly<Record<string, readonly [attempt: Attempt, says: RegExp]>> = {
    truncated: [{ serve: (archive) => new Response(archive.slice(0, 100)) }, /not the file that was published/],
    "cut off": [{ serve: cutOff }, /could not be downloaded/],
    "another file": [
      { serve: () => new Response("<html>Sign in to the hotel</html>") },
      /not the file that was published/,
    ],
    "not there": [
      { serve: () => new Response("", { status: 404 }) },
      /could not be downloaded\nhint: check the network/,
    ],
    "no network": [{ env: { PORTCULLIS_DOWNLOADS: `http://127.0.0.1:${freePort()}` } }, /could not be downloaded/],
    "does not run": [{ program: "#!/bin/sh\nexit 1\n" }, /does not run on this machine/],
    "no program that checks": [
      { commands: { sha256sum: "exit 1", shasum: "exit 1", openssl: "exit 1" } },
      /not the file that was published/,
    ],
  };
  for (const [name, [attempt, says]] of Object.entries(faults)) {
    const { code, stderr, files } = await install({ before: "an older one", ...attempt });
    assert.notEqual(code, 0, name);
    assert.match(stderr, says, name);
    assert.deepEqual(files, ["portcullis"], `${name}: nothing is left over`);
  }
});

function cutOff(archive: Uint8Array<ArrayBuffer>): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(archive.slice(0, 50));
      controller.error(new Error("cut"));
    },
  });
  return new Response(body, { headers: { "Content-Length": String(archive.byteLength) } });
}

test("install.sh says clearly that there is no program for a platform", async () => {
  const machines: readonly (readonly [uname: string, says: RegExp])[] = [
    [
      '[ "$1" = -m ] && echo riscv64 || echo Linux',
      /error: there is no program for the processor riscv64\nhint: .*npx -y/,
    ],
    ['[ "$1" = -m ] && echo x86_64 || echo FreeBSD', /error: there is no program for FreeBSD/],
    ['[ "$1" = -m ] && echo x86_64 || echo MINGW64_NT', /error: this is Windows\nhint: in PowerShell: irm https:/],
  ];
  for (const [uname, says] of machines) {
    const { code, stderr, files } = await install({ commands: { uname } });
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.deepEqual(files, []);
  }
  const apple = await install({
    commands: { uname: '[ "$1" = -m ] && echo x86_64 || echo Darwin', sysctl: "echo 1", xattr: "" },
  });
  assert.match(apple.stdout, /for aarch64-apple-darwin/, "an Apple processor behind Rosetta");
});

test("a part of install.sh that arrives alone runs nothing", async () => {
  for (const cut of [400, 2_000, templates.sh.length - 80]) {
    const { stdout, files } = await install({ cut });
    assert.deepEqual([stdout, files], ["", []]);
  }
});

const fullDisk = skippedUnless(
  ownMounts !== null && onLinux[0] && hasProgram("curl"),
  "this machine lets nobody mount",
  "install.sh leaves nothing on a disk that is full",
);
Deno.test({
  ...fullDisk,
  fn: async () => {
    const large = `${program}# ${"x".repeat(3_000_000)}\n`;
    const launcher = (directory: string) =>
      withMounts(`mount -t tmpfs -o size=64k none '${directory}'; export PORTCULLIS_INSTALL='${directory}'`);
    const { code, stderr } = await install({ program: large, launcher });
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      /error: .*(?:could not be (?:downloaded|unpacked))\n?.*\nhint: check .*space left on the disk/,
    );
  },
});

Deno.test({
  ...needsPrograms(["shellcheck"], "shellcheck finds nothing in the scripts of a release"),
  fn: async () => {
    const args = ["install.sh", "publish.sh"].map((name) => `${root}scripts/release/${name}`);
    const { success, stdout } = await new Deno.Command("shellcheck", { args }).output();
    assert.ok(success, new TextDecoder().decode(stdout));
  },
});

Deno.test({
  ...needsPrograms(["pwsh"], "PSScriptAnalyzer finds nothing in install.ps1"),
  fn: async () => {
    const script = `Invoke-ScriptAnalyzer -EnableExit -Path '${root}scripts/release/install.ps1'`;
    const { success, stdout } = await new Deno.Command("pwsh", { args: ["-NoProfile", "-Command", script] }).output();
    assert.ok(success, new TextDecoder().decode(stdout));
  },
});

/** The parts of a PowerShell script that its grammar does not understand. */
async function notPowerShell(script: string): Promise<readonly string[]> {
  const grammar = import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm");
  await Parser.init();
  const parser = new Parser().setLanguage(await Language.load(await Deno.readFile(new URL(grammar))));
  const tree = parser.parse(script) ?? assert.fail("not parsed");
  const wrong = tree.rootNode.descendantsOfType("ERROR").map((node) => node?.text ?? "");
  const isWhole = !tree.rootNode.hasError;
  tree.delete();
  parser.delete();
  return isWhole ? [] : ["something is missing", ...wrong];
}

Deno.test("install.ps1 is PowerShell by the language's grammar, as a template and as released", async () => {
  const archives = Object.fromEntries(targets.map((target) => [target, "0".repeat(64)]));
  const filled = installScripts(templates, { version, repository: "Someone/portcullis", archives })["install.ps1"];
  for (const script of [templates.ps1, filled ?? ""]) {
    assert.deepEqual(await notPowerShell(script), []);
    assert.notDeepEqual(await notPowerShell(script.replace("} finally {", "finally {")), []);
    assert.notDeepEqual(await notPowerShell(script.replace(") {", " {")), []);
  }
});

Deno.test("install.ps1 has the digests of both programs for Windows, and no place left to fill", () => {
  const archives = Object.fromEntries(targets.map((target, index) => [target, String(index).repeat(64)]));
  const scripts = installScripts(templates, { version, repository: "Someone/portcullis", archives });
  for (const [name, text] of Object.entries(scripts)) {
    assert.doesNotMatch(text, /@[A-Z_0-9]+@/, name);
    for (const [target, digest] of Object.entries(archives)) {
      assert.equal(text.includes(digest), target.includes("windows") === name.endsWith("ps1"), `${name} ${target}`);
    }
  }
  assert.ok(scripts["install.sh"]?.includes(`    ${expected}) echo ${archives[expected]} ;;`));
});
