/** The app as Deno Deploy runs it: one instance, restarted or killed, and two at once, on one database. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { attempts, type Targets } from "../sandbox/attempts.ts";
import { createDeployApp, createDeployDatabase, startDeployInstance } from "./deploy_instance.ts";
import { revoke, signIn } from "./sign_in.ts";

const killedAfterSeconds = 5;

async function call(url: string, token: string, name: string, input: Record<string, unknown>) {
  const response = await postMcp(url, toolCall(name, input), { token });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body.result;
}

async function textOf(url: string, token: string, filename: string): Promise<string> {
  const result = await call(url, token, "file_read", { filename, max_bytes: 1_048_576 });
  assert.equal(result.isError, false, JSON.stringify(result));
  return result.content[0].text;
}

async function statusOf(url: string, token: string): Promise<number> {
  const response = await postMcp(url, toolCall("file_list", {}), { token });
  await response.body?.cancel();
  return response.status;
}

Deno.test("Deno Deploy: without MASTER_KEY, SERVER_URL and a database the log says what to set", async () => {
  const { code, stderr } = await runCommand([], { env: { DENO_DEPLOY: "true" } });
  assert.equal(code, 2);
  assert.match(stderr, /MASTER_KEY = \(not set\): .*openssl rand/);
  assert.match(stderr, /SERVER_URL = \(not set\): .*\.deno\.net/);
  assert.match(stderr, /DATABASE_URL = \(not set\): .*assign a PostgreSQL database/);
});

Deno.test("Deno Deploy: set-up, sign-in and files outlive the instance; whoever opens the link starts another one", async () => {
  await using database = await createDeployDatabase();
  const app = createDeployApp(database.env);
  const printed = await startDeployInstance(app).then(async (server) => {
    await server.stop("SIGINT");
    return server.setUpLink;
  });
  const person = createPerson(app.serverUrl);
  const content = "ä".repeat(100_000); // several pieces
  let token = "";
  {
    await using server = await startDeployInstance(app);
    assert.equal(server.setUpLink, printed, "the link of the earlier log line still works");
    await setUpOwner(person, server);
    token = (await signIn(app.serverUrl, person, "files:write")).accessToken;
    await call(server.url, token, "file_write", { filename: "notes/today.txt", content });
    assert.equal((await server.stop("SIGINT")).code, 0);
    assert.match(server.stderr(), /"event":"stopping"/);
  }
  {
    await using server = await startDeployInstance(app);
    assert.equal(server.setUpLink, null);
    assert.equal(await textOf(server.url, token, "notes/today.txt"), content);
    await call(server.url, token, "file_write", { filename: "last.txt", content: "before SIGKILL" });
    await server.stop("SIGKILL");
    assert.ok(!server.stderr().includes(app.env["MASTER_KEY"]?.slice(0, 20) ?? "-")); // no pattern: it may begin with +
  }
  await using server = await startDeployInstance(app);
  assert.equal(await textOf(server.url, token, "last.txt"), "before SIGKILL");
});

Deno.test("Deno Deploy: once it serves, a broken tool gets at no file, variable, process or library, and at the network", async () => {
  await using database = await createDeployDatabase();
  const { directory } = database;
  await Deno.writeTextFile(`${directory}/secret`, "secret");
  const app = createDeployApp(database.env);
  await using server = await startDeployInstance(app, { program: "tests/deploy/broken_app.ts" });
  const person = createPerson(app.serverUrl);
  await setUpOwner(person, server);
  const { accessToken } = await signIn(app.serverUrl, person, "files:read");
  const { hostname, port } = new URL(server.url);
  const targets: Targets = {
    secretPath: `${directory}/secret`,
    newPath: `${directory}/new`,
    workspaceDir: directory,
    dataDir: directory,
    program: Deno.execPath(),
    elsewhere: { hostname, port: Number(port) },
  };
  for (const what of Object.keys(attempts)) {
    const { content: [{ text }] } = await call(server.url, accessToken, "attempt", { what, targets });
    const usesNetwork = /elsewhere|another port/.test(what);
    assert.match(text, usesNetwork ? /^done/ : /^stopped: .*(NotCapable|Requires|EPERM|EACCES)/, what);
  }
});

Deno.test("Deno Deploy: OWNER_PASSWORD_HASH takes the place of the link", async () => {
  const hashed = await runCommand(["hash-password"], { stdin: "correct horse battery staple\n" });
  assert.equal(hashed.code, 0, hashed.stderr);
  await using database = await createDeployDatabase();
  const app = createDeployApp({ ...database.env, OWNER_PASSWORD_HASH: hashed.stdout.trim() });
  await using server = await startDeployInstance(app);
  assert.equal(server.setUpLink, null);
  const { accessToken } = await signIn(app.serverUrl, createPerson(app.serverUrl), "files:read");
  assert.equal(await statusOf(server.url, accessToken), 200);
});

Deno.test("Deno Deploy: what stopping may take by default ends before the platform's SIGKILL", () => {
  const { env } = createDeployApp({ DATABASE_URL: "postgresql://u:p@db.prisma.io:5432/app-production" });
  const config = loadConfig({ flags: {}, env, readFile: () => assert.fail("no file was named") });
  assert.ok(config.ok, JSON.stringify(config));
  assert.ok(config.value.server.shutdownTimeoutSeconds < killedAfterSeconds);
});

Deno.test("Deno Deploy: SIGINT lets a call in flight finish and ends what would not", async () => {
  for (const canFinish of [true, false]) {
    await using database = await createDeployDatabase();
    await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
    const release = ollama.hold();
    const hashed = await runCommand(["hash-password"], { stdin: "correct horse battery staple\n" });
    const app = createDeployApp({
      ...database.env,
      OLLAMA_HOST: ollama.url,
      OWNER_PASSWORD_HASH: hashed.stdout.trim(),
    });
    await using server = await startDeployInstance(app);
    const { accessToken } = await signIn(app.serverUrl, createPerson(app.serverUrl), "llm:generate");
    const inFlight = call(server.url, accessToken, "llm_generate", { prompt: "Say something" }).catch(() => null);
    await ollama.until((requests) => requests.some(({ path }) => path === "/api/generate" || path === "/api/chat"));
    const stopped = server.stop("SIGINT");
    await until("the server to hear of it", () => server.stderr().includes('"event":"stopping"'));
    if (canFinish) release();
    assert.equal((await stopped).code, 0, server.stderr());
    const result = await inFlight;
    if (canFinish) assert.equal(result?.isError, false, "the call was answered");
    await assert.rejects(fetch(server.url), "nobody listens any more");
  }
});

Deno.test("Deno Deploy: two instances at once are one server, with one workspace", async () => {
  await using database = await createDeployDatabase();
  const app = createDeployApp(database.env);
  await using first = await startDeployInstance(app);
  await using second = await startDeployInstance(app, { isFurther: true });
  assert.equal(second.setUpLink, first.setUpLink);
  const person = createPerson(app.serverUrl);
  await setUpOwner(person, first);
  const client = await signIn(app.serverUrl, person, "files:write");

  await call(first.url, client.accessToken, "file_write", { filename: "shared.txt", content: "from the first" });
  assert.equal(await textOf(second.url, client.accessToken, "shared.txt"), "from the first");
  await call(second.url, client.accessToken, "file_write", { filename: "shared.txt", content: "from the second" });
  assert.equal(await textOf(first.url, client.accessToken, "shared.txt"), "from the second");
  const created = await Promise.all(
    [first, second].map(({ url }) =>
      call(url, client.accessToken, "file_write", { filename: "new.txt", content: url, mode: "create" })
    ),
  );
  assert.equal(created.filter(({ isError }) => !isError).length, 1, "of two that create a file, one does");

  assert.equal((await first.stop("SIGINT")).code, 0);
  assert.equal(await textOf(second.url, client.accessToken, "shared.txt"), "from the second");
  await using third = await startDeployInstance(app);
  assert.deepEqual(
    await Promise.all([second, third].map(({ url }) => statusOf(url, client.accessToken))),
    [200, 200],
  );
  await revoke(third.url, client);
  assert.deepEqual(
    await Promise.all([second, third].map(({ url }) => statusOf(url, client.accessToken))),
    [401, 401],
  );
});
