/** `config`, and the sources that it tells: flags, the environment, the configuration file. */
import assert from "node:assert/strict";
import { settings } from "../../src/app/config/settings.ts";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";

const secret = "k3Jp9vQx2LmN8rTz";

/** A directory with a configuration file, whose mode is that of a user who read the page. */
async function makeFile(text: string, name = "portcullis.env"): Promise<{ directory: string; path: string }> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-config-" });
  const path = `${directory}/${name}`;
  await Deno.writeTextFile(path, text, { mode: 0o600 });
  return { directory, path };
}

/** Deno's cache, for a run with another HOME. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

Deno.test("config prints each setting in force with its source, and secrets as set", async () => {
  const { directory, path } = await makeFile(`PORT=4001\nTOOL_TIMEOUT=20\nLOG_LEVEL=debug\nDCR_AUTH_TOKEN=${secret}\n`);
  const run = (...args: string[]) =>
    runCommand(["config", ...args], { env: { PORT: "4002", HOST: "::1", LOG_LEVEL: "", MASTER_KEY_FILE: "/nowhere" } });
  try {
    const { code, stdout, stderr } = await run("--host=127.0.0.2", "--config", path);
    assert.match(stdout, /^HOST +flag +127\.0\.0\.2$/m);
    assert.match(stdout, /^PORT +environment +4002$/m);
    assert.match(stdout, /^TOOL_TIMEOUT +file +20$/m);
    assert.match(stdout, /^LOG_LEVEL +file +debug$/m);
    assert.match(stdout, /^DCR_AUTH_TOKEN +file +set$/m);
    assert.match(stdout, /^DATA_DIR +default +~\/\.portcullis$/m);
    assert.doesNotMatch(stdout, /^SERVER_URL/m, "what has no value is not in force");
    assert.match(stderr, /^SETTING +SOURCE +VALUE$/m);
    assert.equal(code, 2, "a problem does not hide what is in force");
    assert.match(stderr, /MASTER_KEY_FILE = \/nowhere: names a file that cannot be read/);
    const all = await run("--all", "--config", path);
    for (const { env, flag } of settings) {
      assert.match(all.stdout, new RegExp(`^ {2}${flag === undefined ? env : `${env}, --${flag}`}$`, "m"));
    }
    assert.match(all.stdout, /now: 4002 \(environment\)/);
    assert.match(all.stdout, /accepts: a whole number from 0 to 65535/);
    assert.ok(!`${stdout}${stderr}${all.stdout}${all.stderr}`.includes(secret));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("every command reads the file of --config, and the file in the home directory without it", async () => {
  await using place = await makeServerPlace();
  const { directory, path } = await makeFile(
    `DATA_DIR=${place.dataDir}\nWORKSPACE_DIR=${place.workspaceDir}\n`,
    ".portcullis.env",
  );
  const env = { HOME: directory, DENO_DIR: await denoDir() };
  try {
    const token = await runCommand(["token", "create", "--scope", "files:read", "--config", path]);
    assert.equal(token.code, 0, token.stderr);
    const listed = await runCommand(["token", "list"], { env });
    assert.match(listed.stdout, /files:read/);
    assert.ok((await runCommand(["config"], { env })).stderr.endsWith(`file: ${path}\n`));
    const connect = await runCommand(["connect", "cursor", "--transport", "stdio"], { env });
    assert.deepEqual(
      JSON.parse(connect.stdout).mcpServers.portcullis.args.slice(-7),
      ["stdio", "--config", path, "--data-dir", place.dataDir, "--workspace", place.workspaceDir],
    );
    const backup = await runCommand(["backup", `${directory}/backup`], { env });
    assert.equal(backup.code, 0, backup.stderr);
    const kept = Array.from(Deno.readDirSync(`${directory}/backup`), ({ name }) => name);
    assert.ok(kept.includes("master.key") && !kept.some((name) => name.endsWith(".env")), kept.join(" "));
    await Deno.chmod(path, 0o644);
    for (const command of [["serve"], ["stdio"], ["token", "list"], ["healthcheck"], ["config"], ["users", "list"]]) {
      const { code, stderr } = await runCommand(command, { env });
      assert.equal(code, 2, command.join(" "));
      assert.ok(stderr.includes(`${path}: can be read by others, and may hold secrets: chmod 600 ${path}`), stderr);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("on Deno Deploy the file in the home directory is not read, and --config is refused", async () => {
  const { directory, path } = await makeFile("PORT=4001\n", ".portcullis.env");
  const env = { HOME: directory, DENO_DIR: await denoDir(), DENO_DEPLOY: "true" };
  try {
    assert.match((await runCommand(["config"], { env })).stdout, /^PORT +default +8000$/m);
    const { code, stderr } = await runCommand(["config", "--config", path], { env });
    assert.equal(code, 2);
    assert.match(stderr, /--config: is not read on Deno Deploy/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("variables whose names are nearly settings are named in a warning, a few of them, without values", async () => {
  const mistyped = ["PROT", "SERVR_URL", "WORKSPACE_DRI", "LOG_LEVLE", "DATABASE_URI", "MASTER_KYE_FILE", "OLAMA_HOST"];
  const { code, stderr } = await runCommand(["config"], {
    env: {
      ...Object.fromEntries(mistyped.map((name) => [name, secret])),
      SSL_CERT_FILE: "/x",
      PO: "1",
      UNRELATED: "1",
    },
  });
  assert.equal(code, 0, stderr);
  const warnings = stderr.split("\n").filter((line) => line.startsWith("warning: "));
  assert.equal(warnings.length, 5);
  assert.ok(warnings.some((line) => / is not a setting; did you mean [A-Z_]+\?$/.test(line)));
  assert.doesNotMatch(stderr, new RegExp(`${secret}|SSL_CERT_FILE|UNRELATED`));
  const one = await runCommand(["config"], { env: { PROT: "1" } });
  assert.match(one.stderr, /^warning: PROT is not a setting; did you mean PORT\?$/m);
});
