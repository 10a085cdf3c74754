/**
 * A whole release without a network, up to the upload and on to the person who installs it: pinned and compiled from a
 * server of our own, published to a registry of our own (verdaccio), installed by install.sh and by npx into an empty home,
 * signed in, and upgraded with its data kept.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { baseBinaryPaths } from "../../scripts/fetch_base_binary.ts";
import { root } from "../../scripts/bundle.ts";
import { binaryName, targets } from "../../scripts/compile.ts";
import { zip } from "../../scripts/release/zip.ts";
import { npmPackageName } from "../../src/lib/program_name.ts";
import { missingBrowser } from "../browser/chromium.ts";
import { tryFirstCall } from "../browser/first_call.ts";
import { createPerson } from "../fixtures/person.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startProcess } from "../fixtures/forms/server_process.ts";
import { hasProgram, skippedUnless, succeeds } from "../fixtures/skipped_unless.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { until } from "../fixtures/until.ts";

const target = "x86_64-unknown-linux-gnu";
const base = baseBinaryPaths();
const registryVersion = "6.1.0"; // the last that runs on Node 20
const needed = ["git", "npm", "npx", "tar", "curl", "unzip", "sha256sum"];
const missing = needed.filter((name) => !hasProgram(name));

interface Run {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function run(command: string, args: readonly string[], { cwd, env = {} }: Run): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args], cwd, env, stdin: "null" })
    .output();
  const said = new TextDecoder().decode(stdout);
  assert.ok(success, `${command} ${args.join(" ")}\n${said}\n${new TextDecoder().decode(stderr)}`);
  return said;
}

/** Verdaccio in the cache directory, once; `null` where npm cannot fetch it. */
async function fetchRegistry(): Promise<string | null> {
  const cache = join(
    process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
    `portcullis-verdaccio-${registryVersion}`,
  );
  const program = join(cache, "node_modules/verdaccio/bin/verdaccio");
  if (await Deno.stat(program).then(() => true, () => false)) return program;
  await Deno.mkdir(cache, { recursive: true });
  // A package that it needs by a tag is not in each registry's mirror under that tag.
  const manifest = {
    private: true,
    dependencies: { verdaccio: registryVersion },
    overrides: { "node-fetch": "2.7.0" },
  };
  await Deno.writeTextFile(join(cache, "package.json"), JSON.stringify(manifest));
  return succeeds("npm", ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", cache])
    ? program
    : null;
}

const isPossible = missing.length === 0 && Deno.build.target === target &&
  succeeds("git", ["-C", root, "rev-parse", "HEAD"]) &&
  await Deno.stat(base.denort).then(() => true, () => false);
const registry = isPossible ? await fetchRegistry() : null;

Deno.test({
  ...skippedUnless(
    registry !== null,
    missing.length > 0 ? `there is no ${missing.join(", no ")}` : "the base binary, git or verdaccio cannot be had",
    "a release is made, published, installed, signed in to and upgraded, without a network",
  ),
  fn: async () => {
    const directory = await Deno.makeTempDir({ prefix: "portcullis-dry-run-" });
    const ended: (() => Promise<unknown>)[] = [];
    try {
      await release(directory, (stop) => ended.unshift(stop));
    } finally {
      for (const stop of ended) await stop();
      await Deno.remove(directory, { recursive: true });
    }
  },
});

async function release(directory: string, atEnd: (stop: () => Promise<unknown>) => void): Promise<void> {
  const clone = join(directory, "clone");
  const dist = join(directory, "dist");
  await run("git", ["clone", "--quiet", root, clone], { cwd: directory });
  for (const [name, value] of [["user.name", "Test"], ["user.email", "test@example.com"]] as const) {
    await run("git", ["config", name, value], { cwd: clone });
  }
  const downloads = serveBaseBinary();
  atEnd(() => downloads.shutdown());
  const at = `http://127.0.0.1:${downloads.addr.port}/release/v2.7.14/denort-${target}.zip`;
  const pins = join(directory, "pins.json");
  const { esbuild } = JSON.parse(await Deno.readTextFile(join(root, "scripts/release/pins.json")));
  const pin = { url: at, checksumUrl: `${at}.sha256sum`, sha256: null };
  await Deno.writeTextFile(pins, JSON.stringify({ esbuild, downloads: { [`denort-${target}.zip`]: pin } }));
  // The base binary is no official one: it goes into a cache of its own.
  const compiler = join(directory, "deno");
  await Deno.writeTextFile(compiler, `#!/bin/sh\nDENO_DIR='${directory}/cache' exec '${base.deno}' "$@"\n`, {
    mode: 0o755,
  });
  const env = {
    RELEASE_PINS: pins,
    COMPILE_DENO: compiler,
    NO_COLOR: "1",
    CI: "",
    GITHUB_REPOSITORY: "",
  };
  const make = (...args: string[]): Promise<string> =>
    run(Deno.execPath(), ["task", "--quiet", "release", ...args], { cwd: clone, env });
  const at090 = ["0.9.0", "--repository", "Someone/portcullis", "--dist", dist, "--only"];

  await assert.rejects(make(...at090, "pins"), /not everything is pinned/);
  assert.match(await make("--pin"), /commit scripts\/release\/pins\.json/);
  await make(...at090, "prepare,pins,programs", "--target", target);
  assert.equal(await run("git", ["log", "-1", "--format=%s"], { cwd: clone }), "release: 0.9.0\n");
  for (const other of targets) {
    if (other !== target) await Deno.writeTextFile(join(dist, binaryName(other)), `program for ${other}`);
  }
  await make(...at090, "files");
  assert.match(await Deno.readTextFile(join(clone, "README.md")), /npx -y portcullis-mcp/);

  const files = serveFiles(join(dist, "assets"));
  atEnd(() => files.shutdown());
  const home = join(directory, "home");
  await Deno.mkdir(home);
  const script = join(dist, "assets/install.sh");
  await run("sh", [script], {
    cwd: home,
    env: { HOME: home, PORTCULLIS_DOWNLOADS: `http://127.0.0.1:${files.addr.port}` },
  });
  const version = await run(join(home, ".local/bin/portcullis"), ["--version"], { cwd: home });
  const newcomer = async (name: string, command: string, args: readonly string[], env: Record<string, string>) => {
    if (missingBrowser !== null || atTerminal("").ignore) return;
    await tryFirstCall(name, { command, args, env: { ...env, PORT: String(freePort()) } });
  };
  await newcomer("binary", join(home, ".local/bin/portcullis"), [], { PATH: "/usr/bin:/bin" });
  assert.match(version, /^portcullis 0\.9\.0 \(program, [0-9a-f]{12}\)\n$/);

  const npm = await startRegistry(directory, atEnd);
  const publish = {
    DIST: dist,
    REPOSITORY: "Someone/portcullis",
    NPM_REGISTRY: npm.address,
    NPM_CONFIG_USERCONFIG: npm.settings,
  };
  await run("bash", ["scripts/release/publish.sh", "npm"], { cwd: clone, env: { ...publish, VERSION: "0.9.0" } });

  const place = { dataDir: join(home, ".portcullis"), workspaceDir: join(home, "mcp-workspace") };
  const user = {
    HOME: home,
    PATH: await pathWithNodeAlone(directory),
    npm_config_registry: npm.address,
    PORT: String(freePort()),
  };
  const { HOME: _, ...elsewhere } = user;
  await newcomer("npx", "npx", ["-y", npmPackageName], elsewhere);
  const help = await run("npx", ["-y", npmPackageName, "--help"], { cwd: home, env: user });
  assert.match(help, /npx -y portcullis-mcp [a-z]+/, "commands are printed as npx's user types them");
  const start = () => startProcess({ command: "npx", args: ["-y", `${npmPackageName}@latest`] }, place, user);
  {
    await using server = await start();
    await setUpOwner(createPerson(server.url), server);
    await Deno.writeTextFile(join(place.workspaceDir, "kept.txt"), "kept");
  }

  await Deno.writeTextFile(
    join(clone, "CHANGELOG.md"),
    (await Deno.readTextFile(join(clone, "CHANGELOG.md"))).replace(/\n## /, "\n## Unreleased\n\n- More.\n\n## "),
  );
  await run("git", ["commit", "--quiet", "--all", "--message", "more"], { cwd: clone });
  const at091 = ["0.9.1", "--repository", "Someone/portcullis", "--dist", dist, "--only"];
  await make(...at091, "prepare");
  await Deno.remove(join(dist, "bundle"), { recursive: true });
  await run(Deno.execPath(), ["run", "--allow-all", "scripts/bundle.ts", join(dist, "bundle")], { cwd: clone, env });
  await make(...at091, "files");
  await run("bash", ["scripts/release/publish.sh", "npm"], { cwd: clone, env: { ...publish, VERSION: "0.9.1" } });
  await using server = await start();
  assert.equal(server.setUpLink, null, "the owner is known still");
  assert.match(await (await fetch(`${server.url}/health`)).text(), /0\.9\.1/);
  const page = await openSignedIn(createPerson(server.url), `${server.url}/console`);
  assert.equal(page.status, 200);
  assert.ok(page.url.pathname.startsWith("/console"), page.url.href);
}

function serveBaseBinary(): Deno.HttpServer<Deno.NetAddr> {
  const archive = zip([{ name: "denort", bytes: Deno.readFileSync(base.denort), executable: true }]);
  const sum = `${createHash("sha256").update(archive).digest("hex")}  denort-${target}.zip\n`;
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) => new Response(url.endsWith(".sha256sum") ? sum : new Uint8Array(archive)),
  );
}

function serveFiles(directory: string): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async ({ url }) => {
    const bytes = await Deno.readFile(join(directory, new URL(url).pathname.slice(1))).catch(() => null);
    return bytes === null ? new Response("", { status: 404 }) : new Response(bytes);
  });
}

/** A registry that has what npm's has, and takes packages from a user of its own; npm's settings with that user's token. */
async function startRegistry(
  directory: string,
  atEnd: (stop: () => Promise<unknown>) => void,
): Promise<{ readonly address: string; readonly settings: string }> {
  const port = freePort();
  const address = `http://127.0.0.1:${port}/`;
  const upstream = (await run("npm", ["config", "get", "registry"], { cwd: directory })).trim();
  const config = join(directory, "verdaccio.yaml");
  await Deno.writeTextFile(
    config,
    `storage: ${directory}/registry
auth: { htpasswd: { file: ${directory}/htpasswd } }
uplinks: { npm: { url: "${upstream}" } }
packages: { "${npmPackageName}": { access: $all, publish: $authenticated }, "**": { access: $all, proxy: npm } }
max_body_size: 50mb
log: { type: stdout, format: json, level: error }
`,
  );
  const server = new Deno.Command("node", {
    args: [registry ?? "", "--config", config, "--listen", `127.0.0.1:${port}`],
    cwd: directory,
    stdout: "null",
    stderr: "null",
  }).spawn();
  atEnd(async () => {
    server.kill("SIGTERM");
    await server.status;
  });
  await until(
    "the registry to answer",
    () => fetch(`${address}-/ping`).then(async (answer) => (await answer.body?.cancel(), answer.ok), () => false),
  );
  const answer = await fetch(`${address}-/user/org.couchdb.user:test`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "test", password: "a passphrase of the test" }),
  });
  const { token }: { readonly token: string } = await answer.json();
  const settings = join(directory, "npmrc");
  await Deno.writeTextFile(settings, `//127.0.0.1:${port}/:_authToken=${token}\n`);
  return { address, settings };
}

/** A PATH without Deno: Node's programs and the system's. */
async function pathWithNodeAlone(directory: string): Promise<string> {
  const programs = join(directory, "programs");
  await Deno.mkdir(programs);
  for (const name of ["node", "npm", "npx", "sh", "env"]) {
    const found = (process.env["PATH"] ?? "").split(":").map((each) => join(each, name))
      .find((path) => succeeds("test", ["-x", path]));
    await Deno.symlink(await Deno.realPath(found ?? name), join(programs, name));
  }
  return programs;
}
