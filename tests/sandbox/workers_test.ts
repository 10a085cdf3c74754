/** Several workers on one port, with tools that end them: `serve --workers` as it is started. */
import assert from "node:assert/strict";
import { postMcpAnew, toolCall } from "../fixtures/mcp_call.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { createToken } from "./call.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

function linuxTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ ...skippedUnless(...onLinux, name), fn });
}

const program = "tests/sandbox/broken_server.ts";
const env = {
  PORT: "0",
  OLLAMA_HOST: "127.0.0.1:1",
  SHUTDOWN_TIMEOUT: "0",
  WORKERS: "3",
  METRICS_PORT: "0",
  MCP_RATE_LIMIT: "1000000",
};

/** Calls a tool on a connection of its own, as a client that just came; `null` when the connection broke. */
async function callAnew(url: string, token: string, name: string, input: object): Promise<string | null> {
  try {
    const { status, text } = await postMcpAnew(url, toolCall(name, { ...input }), token);
    assert.equal(status, 200, text);
    return JSON.parse(text).result.content[0]?.text ?? "";
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return null;
  }
}

const which = (url: string, token: string, what = "say which worker this is"): Promise<string | null> =>
  callAnew(url, token, "attempt", { what, targets: {} });

/** What the workers answer, by calling until there were `count` answers. */
async function seeWorkers(url: string, token: string, count: number, what?: string): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  await until(`${count} workers`, async () => {
    const name = await which(url, token, what);
    if (name !== null) seen.add(name);
    return seen.size >= count;
  });
  return seen;
}

async function workersByMetrics(server: RunningServer): Promise<number> {
  const port = await until("the metrics", () => /"port":(\d+)/.exec(server.stderr())?.[1]);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^portcullis_workers (\d+)$/m.exec(text)?.[1]);
}

linuxTest("several workers answer on one port, with one line, one set-up link and one set of metrics", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { program, env });
  const seen = await seeWorkers(server.url, token, 3);
  assert.equal(seen.size, 3);
  assert.equal(server.stdout().match(/listening on/g)?.length, 1);
  assert.equal(server.stderr().match(/\/setup\?/g)?.length, 1);
  assert.equal(await workersByMetrics(server), 3);

  const second = await runCommand(["serve", "--port", new URL(server.url).port, "--workers", "2"], {
    env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir },
  });
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    /cannot listen on .*a Portcullis server already runs there/,
    "another server does not join the port unasked",
  );

  assert.equal((await server.stop("SIGTERM")).code, 0);
  assert.equal(server.stderr().match(/"event":"stopping"/g)?.length, 3);
});

linuxTest("a worker that ends is started again, and the others go on meanwhile", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { program, env: { ...env, WORKERS: "2" } });
  const before = await seeWorkers(server.url, token, 2);
  await callAnew(server.url, token, "end", { how: "throw" });
  const ended = await until("the line", () => /^.*"event":"worker_ended".*$/m.exec(server.stderr())?.[0]);
  const { worker, reason, pauseMs } = JSON.parse(ended);
  assert.ok(worker === 1 || worker === 2);
  assert.match(reason, /thrown where nobody catches/);
  assert.equal(pauseMs, 250);
  const after = await until("a new worker", async () => {
    const name = await which(server.url, token);
    return name !== null && !before.has(name) ? name : null;
  });
  await until("an old worker", async () => before.has(await which(server.url, token) ?? ""));
  assert.ok(!before.has(after));
  assert.equal(server.stdout().match(/listening on/g)?.length, 1);
  assert.equal(server.stderr().match(/\/setup\?/g)?.length, 1, "the link that was printed stays the only one");
  const link = server.setUpLink ?? assert.fail("no link");
  const page = await fetch(link);
  assert.equal(page.status, 200);
  await page.body?.cancel();
  assert.equal((await server.stop("SIGTERM")).code, 0);
});

Deno.test({
  ...skippedUnless(
    loadKernel().available,
    "no openat2",
    "the kernel confines files for each worker, also one that is started again",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const token = await createToken(place.dataDir);
    await using server = await startServer(place, { program, env: { ...env, WORKERS: "2" } });
    const how = "say how this worker confines files";
    const before = await seeWorkers(server.url, token, 2, how);
    await callAnew(server.url, token, "end", { how: "throw" });
    const after = await until("a new worker", async () => {
      const answer = await which(server.url, token, how);
      return answer !== null && !before.has(answer) ? answer : null;
    });
    for (const answer of [...before, after]) assert.match(answer, /by the kernel/);
  },
});

linuxTest("workers that end again and again take the server down, with the last reason", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, {
    program: "tests/sandbox/impatient_server.ts",
    env: { ...env, WORKERS: "2" },
    command: null,
  });
  let hasEnded = false;
  const ended = server.ended.then(() => hasEnded = true);
  await until("the end", async () => {
    await callAnew(server.url, token, "end", { how: "throw" });
    return hasEnded;
  });
  await ended;
  await server.stop();
  assert.match(
    server.stdout(),
    /\{"kind":"failed","reason":"worker [12] ended 4 times in a row, the last time: .*thrown where nobody catches"\}/,
  );
  assert.match(server.stderr(), /"event":"worker_given_up"/);
});

// sqlite.org/howtocorrupt.html §2.2
linuxTest("no worker's opening of the database drops the locks of the others", async () => {
  await using place = await makeServerPlace();
  const settings = { DATA_DIR: place.dataDir };
  const newToken = async (): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(["token", "create", "--scope", "files:read"], {
      env: settings,
    });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  const token = await newToken();
  await using server = await startServer(place, { program, env: { ...env, ...settings } });
  assert.equal((await seeWorkers(server.url, token, 3)).size, 3);
  const { ino } = await Deno.stat(`${place.dataDir}/portcullis.db`);
  const locks = (await Deno.readTextFile("/proc/locks")).split("\n");
  assert.ok(locks.some((line) => line.includes(` ${server.pid} `) && line.includes(`:${ino} `)), locks.join("\n"));

  const later = await newToken();
  assert.equal((await seeWorkers(server.url, later, 3)).size, 3);
  await server.stop("SIGKILL");
  await using again = await startServer(place, { program, env: { ...env, ...settings } });
  assert.ok(await which(again.url, later), "what was written beside the server is still there after a kill");
});
