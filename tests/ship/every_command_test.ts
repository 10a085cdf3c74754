/**
 * Every command in the forms that ship, under the permissions that ship, as an ordinary user: a permission that a
 * command lacks is found here, and by no test that runs with --allow-all.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { formNames, prepareForm, whyMissing } from "../fixtures/forms/prepare_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { until } from "../fixtures/until.ts";
import { startService } from "../notices/services.ts";

const ordinaryUser = 65532;
const programForms = formNames.filter((name) => name === "bundle" || name === "binary");

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program, and a home of the user who runs it. */
class Installed {
  readonly #program: string;
  readonly home: string;
  readonly used = new Set<string>();

  constructor(program: string, home: string) {
    this.#program = program;
    this.home = home;
  }

  command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Deno.Command {
    this.used.add(args[0] ?? "");
    return new Deno.Command(this.#program, {
      args: [...args],
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.home,
        TMPDIR: `${this.home}/tmp`,
        DATA_DIR: `${this.home}/data`,
        WORKSPACE_DIR: `${this.home}/workspace`,
        OLLAMA_HOST: "127.0.0.1:1",
        NO_COLOR: "1",
        ...env,
      },
      clearEnv: true,
      cwd: this.home,
      ...(process.getuid?.() === 0 ? { uid: ordinaryUser, gid: ordinaryUser } : {}),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    });
  }

  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ""): Promise<Output> {
    const child = this.command(args, env).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input)).catch(() => {}); // most commands read nothing
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
    assert.doesNotMatch(out + err, /NotCapable|not granted|Requires \w+ access|^ +at .*:\d+:\d+/m, args.join(" "));
    return { code, stdout: out, stderr: err };
  }

  /** Runs a command that has to succeed, and gives what it printed. */
  async succeed(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, env);
    assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  }
}

async function install(program: string): Promise<Installed> {
  const home = await Deno.makeTempDir({ prefix: "portcullis-home-" });
  await Deno.mkdir(`${home}/tmp`);
  if (process.getuid?.() === 0) {
    for (const path of [home, `${home}/tmp`]) await Deno.chown(path, ordinaryUser, ordinaryUser);
    await Deno.chmod(program.replace(/\/[^/]+$/, ""), 0o755);
  }
  return new Installed(program, home);
}

/** Serves with the installation's data until `use` is done. */
async function whileServing(
  installed: Installed,
  env: Readonly<Record<string, string>>,
  use: (url: string, port: number) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const server = installed.command(["serve", "--port", String(port)], env).spawn();
  const [stdout, stderr] = [server.stdout, server.stderr].map((stream) => {
    const read = { text: "" };
    void (async () => {
      for await (const part of stream.pipeThrough(new TextDecoderStream())) read.text += part;
    })();
    return read;
  });
  try {
    await until("the server listens", () => {
      assert.doesNotMatch(stderr?.text ?? "", /^error: /m);
      return (stdout?.text ?? "").includes("portcullis listening on");
    });
    await use(`http://127.0.0.1:${port}`, port);
  } finally {
    server.kill("SIGTERM");
    await server.status;
  }
  assert.doesNotMatch(stderr?.text ?? "", /NotCapable|not granted/);
}

async function readWithToken(url: string, token: string, filename: string): Promise<string> {
  const answer = await (await postMcp(url, toolCall("file_read", { filename }), {
    token,
    headers: { accept: "application/json" },
  })).json();
  assert.equal(answer.result?.isError, false, JSON.stringify(answer));
  return answer.result.content[0].text;
}

for (const form of programForms) {
  const name = `the ${form}: every command works for an ordinary user, with the permissions that ship`;
  const missing = whyMissing(form);
  if (missing !== null) {
    Deno.test({ name: `SKIPPED ${name}: ${missing}`, ignore: true, fn: () => {} });
    continue;
  }
  Deno.test(name, async () => {
    await using prepared = await prepareForm(form);
    const installed = await install(prepared.env["PORTCULLIS_PROGRAM"] ?? "");
    const { home } = installed;
    await using service = startService("json");
    const notify = { NOTIFY_URL: service.url, NOTIFY_SECRET: service.secret };
    try {
      const help = await installed.succeed(["--help"]);
      assert.match(await installed.succeed(["--version"]), /^portcullis \d/);
      const token = (await installed.succeed(["token", "create", "--scope", "files:write"])).trim();
      await whileServing(installed, {}, async (url, port) => {
        await installed.succeed(["healthcheck", "--port", String(port)]);
        await Deno.writeTextFile(`${home}/workspace/kept.txt`, "kept");
        assert.equal(await readWithToken(url, token, "kept.txt"), "kept");
        await installed.succeed(["token", "list"]);
        await installed.succeed(["users", "list"]);
        await installed.succeed([
          ...["clients", "create", "--name", "nightly", "--scope", "files:read", "--grant", "client_credentials"],
        ]);
        await installed.succeed(["keys", "list"]);
        await installed.succeed(["audit", "list"]);
        await installed.succeed(["trash", "list"]);
        await installed.succeed(["connections"], { PORT: String(port) });
        await installed.succeed(["backup", `${home}/backups/first`]);
        const { stdout: examined } = await installed.run(["doctor", "--port", String(port)]);
        assert.match(examined, /^ok /m);
        assert.doesNotMatch(examined, /^FAIL /m);
      });
      assert.match(await installed.succeed(["audit", "verify"]), /^[1-9]\d* lines? in 1 chain/);
      await installed.succeed(["restore", `${home}/backups/first`], { DATA_DIR: `${home}/restored` });
      await whileServing(installed, { ...notify, DATA_DIR: `${home}/restored` }, async (url) => {
        assert.equal(await readWithToken(url, token, "kept.txt"), "kept", "the restored directory accepts the token");
      });
      await installed.succeed(["backup", `${home}/backups/second`]);
      await installed.succeed(["restore", `${home}/backups/first`], { DATA_DIR: `${home}/again` });
      await Deno.writeTextFile(`${home}/settings.env`, "PORT=4001\n", { mode: 0o600 });
      if (process.getuid?.() === 0) await Deno.chown(`${home}/settings.env`, ordinaryUser, ordinaryUser);
      const { stdout: inForce, stderr: warnings } = await installed.run(
        ["config", "--config", `${home}/settings.env`],
        { SERVR_URL: "http://localhost:4001" },
      );
      assert.match(inForce, /^PORT +file +4001$/m, warnings);
      assert.match(warnings, /SERVR_URL is not a setting; did you mean SERVER_URL\?/);
      await installed.succeed(["notify", "test"], notify);
      assert.equal(service.shown.length, 1);
      await installed.succeed(["workspace", "list"]);
      await installed.succeed(["connect", "claude-code"]);
      assert.equal((await installed.run(["stdio"])).code, 0, "it ends with its input");
      const hash = await installed.run(["hash-password"], {}, `${randomBytes(18).toString("base64")}\n`);
      assert.match(hash.stdout, /^\$(argon2id|scrypt)\$/, hash.stderr);

      const commands = Array.from(help.matchAll(/^ {2}([a-z-]+) {2,}/gm), ([, command]) => command ?? "");
      assert.ok(commands.includes("serve"));
      assert.deepEqual(commands.filter((command) => !installed.used.has(command)), [], "commands that were not tried");
      if (form === "binary") {
        await Deno.symlink(prepared.env["PORTCULLIS_PROGRAM"] ?? "", `${home}/gate`);
        const renamed = new Installed(`${home}/gate`, home);
        assert.match(
          (await renamed.run(["tokn"])).stderr,
          /see `\S*(gate|portcullis\S*) --help`/,
          "its path, as it is not on the PATH",
        );
        assert.match(await renamed.succeed(["help", "token"]), /^\S*(gate|portcullis\S*) token: /);
        assert.deepEqual([...Deno.readDirSync(`${home}/tmp`)], [], "it keeps no code where others could put theirs");
      }
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  });
}
