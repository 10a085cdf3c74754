/** The server under Landlock. Where the kernel has none, the suite is skipped and says so. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../deno.json" with { type: "json" };
import { makeServerPlace, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { libraryFlag } from "../../src/lib/library_paths.ts";
import {
  landlockVersion,
  leastLandlockVersion,
  loadLauncherLibc,
  startFlags,
  unstableFlags,
} from "../../src/app/sandbox/landlock.ts";
import type { Targets } from "./attempts.ts";
import { call, createToken } from "./call.ts";

const ignore = Deno.build.os !== "linux" || landlockVersion(loadLauncherLibc()) < leastLandlockVersion;
const launcherFlags = ["--no-prompt", "--allow-env", "--allow-read", "--allow-write", "--allow-sys", libraryFlag];
const env = { PORT: "0", OLLAMA_HOST: "127.0.0.1:1" };

async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

function targetsOf(place: ServerPlace): Targets {
  return {
    secretPath: join(place.workspaceDir, "..", "secret"),
    newPath: join(place.workspaceDir, "..", "new"),
    workspaceDir: place.workspaceDir,
    dataDir: place.dataDir,
    program: Deno.execPath(),
    elsewhere: { hostname: "127.0.0.1", port: 1 },
  };
}

Deno.test("harden starts the server with the flags of `deno task start`", () => {
  assert.equal(manifest.tasks.start, `deno run ${startFlags.join(" ")} main.ts serve`);
  assert.deepEqual(unstableFlags, manifest.unstable.map((feature) => `--unstable-${feature}`));
});

Deno.test("harden without the permission for FFI says how to start it, and starts nothing", async () => {
  await using place = await makeServerPlace();
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...launcherFlags.filter((flag) => flag !== libraryFlag), main, "harden", "--data-dir", place.dataDir],
  }).output();
  const { code } = output;
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 1);
  assert.equal(stdout, "");
  if (Deno.build.os === "linux") assert.match(stderr ?? "", /^error: .* harden`.*\nhint: /);
});

/** What a tool gets that goes, by Deno's calls alone, through a link that somebody planted in the workspace. */
async function followPlantedLink(
  start: { readonly program: string; flags?: readonly string[]; args?: string[] },
): Promise<string[]> {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await Deno.mkdir(place.workspaceDir);
  const targets = targetsOf(place);
  await Deno.writeTextFile(targets.secretPath, "secret");
  await Deno.symlink(targets.secretPath, join(place.workspaceDir, "planted"));
  await using server = await startServer(place, { ...start, env });
  const attempt = (what: string): Promise<string> => call(server, token, "attempt", { what, targets });
  return [await attempt("follow a link that was planted"), await attempt("work in the workspace")];
}

Deno.test("without Landlock a link that was planted is followed by a tool that checks nothing: the gap that is documented", async () => {
  assert.deepEqual(await followPlantedLink({ program: "tests/sandbox/broken_server.ts" }), [
    'done: "secret"',
    'done: "made"',
  ]);
});

Deno.test({
  name: "under Landlock the kernel refuses what a planted link leads to, and the workspace works as before",
  ignore,
  async fn() {
    const [planted, work] = await followPlantedLink({
      program: "tests/sandbox/hardened_broken_server.ts",
      flags: launcherFlags,
      args: ["--", await denoDir()],
    });
    assert.match(planted ?? "", /^stopped: .*(PermissionDenied|Permission denied|EACCES)/);
    assert.equal(work, 'done: "made"');
  },
});

Deno.test({
  name:
    "harden serves as serve does, with a configuration file: one line when ready, status 0 at SIGTERM, files written and read by the tools",
  ignore,
  async fn() {
    await using place = await makeServerPlace();
    const token = await createToken(place.dataDir, "files:read files:write");
    const settings = join(place.dataDir, "..", "settings.env");
    await Deno.writeTextFile(settings, "PORT=0\n", { mode: 0o600 });
    const server = await startServer(place, {
      program: "main.ts",
      flags: launcherFlags,
      command: "harden",
      args: ["--config", settings],
      env: { OLLAMA_HOST: "127.0.0.1:1" },
    });
    assert.match(server.stdout(), /^portcullis listening on http:\/\/127\.0\.0\.1:\d+\n$/);
    await call(server, token, "file_write", { filename: "a/b.txt", content: "kept" });
    assert.match(await call(server, token, "file_read", { filename: "a/b.txt" }), /kept/);
    assert.equal((await server.stop("SIGTERM")).code, 0);
  },
});

Deno.test({
  name:
    "harden starts where Deno has compiled nothing of the server yet, such as in a fresh clone, also with two workers",
  ignore,
  async fn() {
    const cache = await Deno.makeTempDir();
    try {
      const packages = `${cache}/npm/registry.npmjs.org`;
      for (const [, name] of Object.values(manifest.imports).map((specifier) => /^npm:(.+)@/.exec(specifier) ?? [])) {
        const from = `${await denoDir()}/npm/registry.npmjs.org/${name}`;
        await Deno.mkdir(dirname(`${packages}/${name}`), { recursive: true });
        const { success } = await new Deno.Command("cp", { args: ["-a", from, `${packages}/${name}`] }).output();
        assert.ok(success, name);
      }
      await using place = await makeServerPlace();
      const server = await startServer(place, {
        program: "main.ts",
        flags: launcherFlags,
        command: "harden",
        env: { OLLAMA_HOST: "127.0.0.1:1", WORKERS: "2", DENO_DIR: cache },
      });
      assert.equal((await server.stop("SIGTERM")).code, 0);
    } finally {
      await Deno.remove(cache, { recursive: true });
    }
  },
});
