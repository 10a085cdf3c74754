/** Tools broken on purpose, in the real server: what the permission wall stops, and what it lets through. */
import assert from "node:assert/strict";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { pause } from "../../src/lib/time.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { attempts, type Targets } from "./attempts.ts";
import { call, createToken } from "./call.ts";
import { kernelAttempts } from "./kernel_attempts.ts";

const program = "tests/sandbox/broken_server.ts";
const env = { PORT: "0", OLLAMA_HOST: "127.0.0.1:1", SHUTDOWN_TIMEOUT: "0" };
/** On this system. */
const isPossible = (what: string): boolean => !what.startsWith("call a C") || Deno.build.os === "linux";

/** What the broken tool tries to reach: a secret among it, which is put `outside`. */
async function plantTargets(
  { workspaceDir, dataDir }: { readonly workspaceDir: string; readonly dataDir: string },
  { outside, newPath, port }: { readonly outside: string; readonly newPath: string; readonly port: number },
): Promise<Targets> {
  const secretPath = `${outside}/secret.js`;
  await Deno.writeTextFile(secretPath, "export default 'secret';");
  const elsewhere = { hostname: "127.0.0.1", port };
  return { secretPath, newPath, workspaceDir, dataDir, program: Deno.execPath(), elsewhere };
}

Deno.test("a broken tool gets at nothing but the workspace: every attempt that works in a free process is stopped", async (t) => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { program, env });
  const outside = await Deno.makeTempDir();
  let visitors = 0;
  await using elsewhere = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    visitors += 1;
    return new Response("export default 1;", { headers: { "content-type": "text/javascript" } });
  });
  const targets = await plantTargets(place, { outside, newPath: `${outside}/new`, port: elsewhere.addr.port });
  const attempt = (what: string): Promise<string> => call(server, token, "attempt", { what, targets });
  try {
    for (const what of Object.keys(attempts).filter(isPossible)) {
      await t.step(
        what,
        async () => assert.match(await attempt(what), /^stopped: .*(NotCapable|Requires|EPERM|EACCES)/),
      );
    }
    for (
      const what of [
        "import code from elsewhere",
        "import a file",
        "start a worker that may do more",
        "ask for permission",
      ]
    ) {
      await t.step(what, async () => assert.match(await attempt(what), /^stopped: .*(NotCapable|Requires)/));
    }
    for (const [what, reason] of loadKernel().available ? kernelAttempts : []) {
      await t.step(what, async () => assert.match(await attempt(what), new RegExp(`^stopped: .*${reason.source}`)));
    }
    assert.equal(visitors, 0, "nothing arrived elsewhere");
    assert.deepEqual(Array.from(Deno.readDirSync(outside), ({ name }) => name), ["secret.js"]);
    await t.step("the workspace stays open", async () => {
      assert.equal(await attempt("work in the workspace"), 'done: "made"');
    });
    await t.step("the server goes on, with its database", async () => {
      const later = await createToken(place.dataDir);
      assert.equal(await call(server, later, "attempt", { what: "work in the workspace", targets }), 'done: "made"');
    });
    await t.step("the attempts are real: here, without the wall, each works", async () => {
      Deno.env.set("PATH", Deno.env.get("PATH") ?? "/usr/bin");
      for (const [what, run] of Object.entries(attempts)) {
        if (isPossible(what)) await assert.doesNotReject(async () => await run(targets), what);
      }
      assert.ok(visitors > 0);
    });
  } finally {
    Deno.env.delete("PORTCULLIS_TEST");
    await Deno.remove(outside, { recursive: true });
  }
});

Deno.test("the wall is the same where directories have names: one that is read-only is not written either", async () => {
  await using place = await makeServerPlace();
  const [outside, library] = [await Deno.makeTempDir(), await Deno.makeTempDir()];
  await Deno.mkdir(place.workspaceDir);
  const WORKSPACE_DIR = `notes=${place.workspaceDir},library=${library}:ro`;
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { program, env: { ...env, WORKSPACE_DIR } });
  await using elsewhere = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => new Response(""));
  const targets = await plantTargets(place, { outside, newPath: `${library}/new`, port: elsewhere.addr.port });
  const attempt = (what: string): Promise<string> => call(server, token, "attempt", { what, targets });
  try {
    for (const what of Object.keys(attempts).filter(isPossible)) {
      assert.match(await attempt(what), /^stopped: .*(NotCapable|Requires|EPERM|EACCES)/, what);
    }
    assert.equal(await attempt("work in the workspace"), 'done: "made"');
    assert.deepEqual(Array.from(Deno.readDirSync(library)), []);
  } finally {
    for (const each of [outside, library]) await Deno.remove(each, { recursive: true });
  }
});

Deno.test("a tool that checks nothing follows a link that others planted: the gap that is documented", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await Deno.mkdir(place.workspaceDir);
  await Deno.writeTextFile(`${place.dataDir}/../secret`, "secret");
  await Deno.symlink("../secret", `${place.workspaceDir}/planted`);
  await using server = await startServer(place, { program, env });
  const targets = { workspaceDir: place.workspaceDir };
  const attempt = { what: "follow a link that was planted", targets };
  assert.equal(await call(server, token, "attempt", attempt), 'done: "secret"');
});

for (
  const [how, reason] of [
    ["throw", /thrown where nobody catches/],
    ["reject", /rejected where nobody catches/],
    ["exit", /exit\(\) or close\(\)/],
    ["close", /exit\(\) or close\(\)/],
  ] as const
) {
  Deno.test(`a server that breaks off (${how}) ends the process with an error and status 1`, async () => {
    await using place = await makeServerPlace();
    const token = await createToken(place.dataDir);
    await using server = await startServer(place, { program, env });
    const end = async (how: string) =>
      void await (await postMcp(server.url, toolCall("end", { how }), { token })).body?.cancel();
    await Promise.all(Array.from({ length: 100 }, () => end("not yet")));
    await end(how);
    assert.equal((await server.ended).code, 1);
    await server.stop();
    assert.match(server.stderr(), /^error: the server stopped without being asked to: .*\nhint: /m);
    assert.match(server.stderr(), reason);
    assert.equal(server.stderr().match(/"tool":"end"/g)?.length, 101, "no audit line of an answered call is lost");
  });
}

Deno.test("signals reach a server whose thread never rests: the second one ends it", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  const server = await startServer(place, { program, env });
  await (await postMcp(server.url, toolCall("end", { how: "loop" }), { token })).body?.cancel();
  const answers = (): Promise<boolean> =>
    fetch(`${server.url}/health`, { signal: AbortSignal.timeout(3_000) })
      .then((response) => response.text()).then(() => true, () => false);
  while (await answers());
  let hasEnded = false;
  const ended = server.ended.finally(() => hasEnded = true);
  while (!hasEnded) { // a signal that comes before the last one was seen is the same signal
    try {
      Deno.kill(server.pid, "SIGTERM");
    } catch (error) { // it ended between the look and the signal
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    await Promise.race([pause(300), ended]);
  }
  assert.equal((await server.stop()).code, 1);
});
