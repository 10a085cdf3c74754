/**
 * The app on the version of Deno that the platform has, which is older than ours: what its build runs, and one database
 * used by both. PLATFORM_DENO names its executable; `deno task full` installs it from npm.
 */
import assert from "node:assert/strict";
import { root } from "../../scripts/bundle.ts";
import { startProcess } from "../fixtures/forms/server_process.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { createDeployApp, createDeployDatabase } from "./deploy_instance.ts";

const platformDeno = Deno.env.get("PLATFORM_DENO");

async function withPlatform(run: (directory: string, deno: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-platform-" });
  try {
    for (const name of ["deno.json", "deno.lock", "main.ts", "src"]) {
      const { success } = await new Deno.Command("cp", { args: ["-R", `${root}${name}`, directory] }).output();
      assert.ok(success);
    }
    const { deploy } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
    const { success, stderr } = await new Deno.Command("sh", {
      args: ["-c", deploy.install.replaceAll(/^deno /g, `"${platformDeno}" `)],
      cwd: directory,
      // As Deno 2.9 does by default: a company's proxy may sign with a certificate of its own.
      env: { DENO_DIR: `${directory}/deno_dir`, NO_COLOR: "1", DENO_TLS_CA_STORE: "mozilla,system" },
      stdin: "null",
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    await run(directory, platformDeno ?? "");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function onPlatform(name: string, run: (directory: string, deno: string) => Promise<void>): void {
  if (platformDeno) Deno.test(name, () => withPlatform(run));
  else Deno.test({ name: `SKIPPED ${name}: PLATFORM_DENO names no older Deno`, ignore: true, fn: () => {} });
}

onPlatform("Deno Deploy's Deno: what the build installs is all that the app loads", async (directory, deno) => {
  const { stdout, stderr } = await new Deno.Command(deno, {
    args: ["run", "--cached-only", "--allow-all", "main.ts", "--version"],
    cwd: directory,
    env: { DENO_DIR: `${directory}/deno_dir` },
  }).output();
  assert.match(new TextDecoder().decode(stdout), /^portcullis \d/, new TextDecoder().decode(stderr));
});

onPlatform(
  "Deno Deploy's Deno: reads what this Deno wrote into its database, and the other way round",
  async (directory, deno) => {
    await using database = await createDeployDatabase();
    const hashed = await runCommand(["hash-password", "--scrypt"], { stdin: "correct horse battery staple\n" });
    const app = createDeployApp({ ...database.env, OWNER_PASSWORD_HASH: hashed.stdout.trim() });
    const atHome = {
      DATA_DIR: `${directory}/data`,
      ...database.atHome,
      MASTER_KEY: app.env["MASTER_KEY"] ?? "",
      SERVER_URL: app.serverUrl,
    };
    const create = async (): Promise<string> => {
      const made = await runCommand(["token", "create", "--scope", "files:write"], {
        env: { ...atHome, REGISTRATION: "off", WORKSPACE_STORE: "storage" },
      });
      assert.equal(made.code, 0, made.stderr);
      return made.stdout.trim();
    };
    const call = async (token: string, name: string, input: Record<string, unknown>): Promise<string> => {
      const body = await (await postMcp(app.serverUrl, toolCall(name, input), { token })).text();
      assert.match(body, /"isError":false/);
      return body;
    };
    const start = (program: string) =>
      startProcess({ command: program, args: ["run", "--cached-only", "--allow-all", `${directory}/main.ts`] }, {
        dataDir: `${directory}/data`,
        workspaceDir: `${directory}/workspace`,
      }, {
        ...app.env,
        ...(program === deno ? { DENO_DIR: `${directory}/deno_dir` } : {}),
        DENO_SERVE_ADDRESS: `tcp:${new URL(app.serverUrl).host}`,
      });
    const early = await create(); // which makes the database
    {
      await using _server = await start(deno);
      await call(early, "file_write", { filename: "a.txt", content: "ä".repeat(60_000) });
      const late = await create();
      assert.match(await call(late, "file_read", { filename: "a.txt", limit: 10 }), /ä{10}/);
    }
    {
      await using _server = await start(Deno.execPath());
      await call(early, "file_write", { filename: "b.txt", content: "from a newer Deno" });
    }
    await using _server = await start(deno);
    assert.match(await call(early, "file_read", { filename: "b.txt" }), /from a newer Deno/);
  },
);
