/** Standard output and standard error that are full, closed, slow or not read at all. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type ServerPlace, spawnServer, startServer } from "../fixtures/running_server.ts";
import { inTime, until } from "../fixtures/until.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const inOneProcess = needing("one process");

const ignore = Deno.build.os !== "linux";
/** The same test where there is a bash. */
const withBash = (name: string): { readonly name: string; readonly ignore: boolean } =>
  ignore ? { name, ignore } : needsPrograms(["bash"], name);
/** An audit line each: more than a pipe holds. */
const calls = 600;

/** Becomes the program with a pipe for standard error that stays open and is never read. */
const unreadPipe = (flags: string): string =>
  `use Fcntl; $^F = 255; pipe(R, W); fcntl(W, F_SETFL, ${flags}); open(STDERR, ">&W"); exec @ARGV`;

const launchers: Readonly<Record<string, readonly string[]>> = {
  "is a full disk": ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"],
  "is closed": ["sh", "-c", 'exec "$@" 2>&-', "sh"],
  "has a reader that leaves after a few lines": ["bash", "-c", 'exec "$@" 2> >(head -n 9 >/dev/null)', "bash"],
  "is a pipe that is not read": ["perl", "-e", unreadPipe("O_WRONLY")],
  "is a pipe in non-blocking mode that is not read": ["perl", "-e", unreadPipe("O_WRONLY | O_NONBLOCK")],
};

async function makeToken({ dataDir }: ServerPlace): Promise<string> {
  const { stdout } = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", dataDir]);
  return stdout.trim();
}

async function callOften(url: string, token: string, count: number): Promise<void> {
  for (let called = 0; called < count; called += 20) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => postMcp(url, toolCall("file_list", {}), { token })),
    );
    for (const answer of answers) assert.equal((await answer.json()).result.isError, false);
  }
}

for (const [what, launcher] of Object.entries(launchers)) {
  inOneProcess.test({
    ...needsPrograms(
      [launcher[0] ?? ""],
      `a server whose standard error ${what} starts, serves ${calls} calls and stops in order`,
    ),
    fn: async () => {
      await using place = await makeServerPlace();
      const token = await makeToken(place);
      const env = { MCP_RATE_LIMIT: "100000" };
      await using server = await startServer(place, { launcher, env });
      await inTime("the calls", callOften(server.url, token, calls));
      assert.equal((await inTime("the end", server.stop())).code, 0);
    },
  });
}

Deno.test({
  name: "a server whose standard output is full starts and stops in order",
  ignore,
  fn: async () => {
    await using place = await makeServerPlace();
    const port = String(await freePort());
    const launcher = ["sh", "-c", 'exec "$@" >/dev/full', "sh"];
    const child = spawnServer(place, { launcher, args: ["--port", port] });
    await until("an answer", () => fetch(`http://127.0.0.1:${port}/health/live`).then((it) => it.text(), () => null));
    child.kill("SIGTERM");
    assert.equal((await child.output()).code, 0);
  },
});

inOneProcess.test("lines of the log are whole, however many calls write at once", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place);
  await using server = await startServer(place, { env: { MCP_RATE_LIMIT: "100000" } });
  await Promise.all(Array.from({ length: 8 }, () => callOften(server.url, token, 200)));
  await server.stop();
  const lines = server.stderr().split("\n").filter((line) => line.includes('"'));
  assert.equal(lines.map((line) => JSON.parse(line)).filter(({ tool }) => tool === "file_list").length, 1_600);
});

/** Runs `COMMAND` in a shell line, as `main.ts` with the flags of the tasks. */
async function inShell(
  line: string,
  place: ServerPlace,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const program = `${Deno.execPath()} run -A ${fileURLToPath(new URL("../../main.ts", import.meta.url))}`;
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", `set -o pipefail; ${line.replace("COMMAND", program)}`],
    env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

for (const command of ["--help", "connect claude-code", "token list", "doctor"]) {
  Deno.test({
    ...withBash(`${command} ends quietly when its reader leaves`),
    fn: async () => {
      await using place = await makeServerPlace();
      const { stderr } = await inShell(`COMMAND ${command} | true`, place);
      assert.doesNotMatch(stderr, /Uncaught|BrokenPipe|at .*\.ts/);
    },
  });
}

Deno.test({
  ...withBash("a command whose standard output is full says so and exits with status 1"),
  fn: async () => {
    await using place = await makeServerPlace();
    const { code, stderr } = await inShell("COMMAND token create --scope files:read >/dev/full", place);
    assert.equal(code, 1);
    assert.match(stderr, /^error: standard output cannot be written$/m);
  },
});

Deno.test({
  ...withBash("a command whose standard error is full does its work"),
  fn: async () => {
    await using place = await makeServerPlace();
    const { code, stdout } = await inShell("COMMAND token create --scope files:read 2>/dev/full", place);
    assert.equal(code, 0);
    assert.match(stdout, /^\S{20,}\n$/);
  },
});
