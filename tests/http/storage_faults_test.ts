/** The started server while its database cannot be used: what answers, how, and that all is well afterwards. */
import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../fixtures/open_database.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  type StartOptions,
  startServer,
} from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const registration = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    redirect_uris: ["https://app.example/callback"],
    client_name: "App",
    token_endpoint_auth_method: "none",
  }),
};

interface Scene {
  readonly server: RunningServer;
  readonly token: string;
  readonly database: DatabaseSync;
  readonly session: Record<string, string>;
  readonly clientId: string;
}

/** A server that is set up, with a session and a registered client, and a second way to its database. */
async function withScene(options: StartOptions, run: (scene: Scene) => Promise<void>): Promise<void> {
  await using place = await makeServerPlace();
  await using server = await startServer(place, options);
  await setUpOwner(createPerson(server.url), server);
  const scopes = ["--scope", "files:read files:write llm:generate"];
  const token = (await runCommand(["token", "create", ...scopes, "--data-dir", place.dataDir])).stdout.trim();
  const opened = await postMcp(server.url, initialize, { token });
  const sessionId = opened.headers.get("mcp-session-id");
  await opened.body?.cancel();
  assert.ok(sessionId);
  const session = { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" };
  const { client_id: clientId } = await (await fetch(`${server.url}/oauth/register`, registration)).json();
  const database = openDatabase(place);
  try {
    await run({ server, token, database, session, clientId });
  } finally {
    database.close();
  }
}

/** Every answer to a request that has to write: a status, Retry-After, and a body for its reader. */
async function requireRefusals({ server, token, session, clientId }: Scene): Promise<void> {
  const authorization = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: "https://app.example/callback",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    state: "x",
  });
  const form = (fields: Record<string, string>) => ({ method: "POST", body: new URLSearchParams(fields) });
  const page = await fetch(`${server.url}/oauth/authorize?${authorization}`, { redirect: "manual" });
  assert.equal(page.status, 503);
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  assert.match(await page.text(), /<h1>This server cannot answer right now<\/h1>/);
  const programs = [
    await fetch(`${server.url}/oauth/register`, registration),
    await fetch(
      `${server.url}/oauth/token`,
      form({
        grant_type: "authorization_code",
        code: "c".repeat(43),
        client_id: clientId,
        redirect_uri: "https://app.example/callback",
        code_verifier: "v".repeat(43),
      }),
    ),
  ];
  for (const response of programs) {
    const { error } = await response.json();
    // What only reads can still say that a code is unknown.
    if (response.status === 400) assert.equal(error, "invalid_grant");
    else assert.deepEqual([response.status, error], [503, "temporarily_unavailable"]);
  }
  assert.equal(programs[0]?.status, 503);
  const level = { jsonrpc: "2.0", id: 7, method: "logging/setLevel", params: { level: "debug" } };
  const call = await postMcp(server.url, level, { token, headers: session });
  const { error } = await call.json();
  assert.deepEqual([call.status, error.code], [503, 503]);
  for (const response of [page, programs[0], call]) {
    assert.ok(Number(response?.headers.get("retry-after")) >= 1, `${response?.url} has no Retry-After`);
  }
  for (const path of ["/health", "/health/ready"]) {
    const health = await fetch(server.url + path);
    assert.equal(health.status, 503, path);
    await health.body?.cancel();
  }
  assert.equal(await statusOf(`${server.url}/health/live`), 200);
}

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

async function requireWell({ server, token, session, clientId }: Scene): Promise<void> {
  await until(
    "a registration that works",
    async () => await statusOf(`${server.url}/oauth/register`, registration) === 201,
  );
  await until("readiness", async () => await statusOf(`${server.url}/health/ready`) === 200);
  const level = { jsonrpc: "2.0", id: 8, method: "logging/setLevel", params: { level: "error" } };
  const call = await postMcp(server.url, level, { token, headers: session });
  assert.deepEqual(await call.json(), { jsonrpc: "2.0", id: 8, result: {} });
  assert.ok(await statusOf(`${server.url}/oauth/authorize?client_id=${clientId}`, { redirect: "manual" }) < 500);
}

Deno.test("a lock held by another process is 503 for what writes, and nothing for what does not", async () => {
  await withScene({ bounds: { storage: { busyTimeoutMs: 100 } } }, async (scene) => {
    const { server, token, database, session } = scene;
    database.exec("BEGIN IMMEDIATE");
    await requireRefusals(scene);
    const write = await postMcp(server.url, toolCall("file_write", { filename: "a.txt", content: "a" }), {
      token,
      headers: session,
    });
    assert.equal((await write.json()).result.isError, false);
    for (let count = 0; count < 150; count += 1) {
      assert.equal(
        await statusOf(`${server.url}/oauth/register`, registration),
        503,
        "our failure costs nobody a place",
      );
    }
    database.exec("ROLLBACK");
    await requireWell(scene);
    await server.stop();
    const lines = server.stderr().split("\n").filter((line) => line.includes('"storage_unavailable"'));
    assert.ok(lines.length >= 1);
    assert.match(lines[0] ?? "", /another process keeps .*portcullis\.db locked.*"remedy":"end what has it open/);
    assert.match(server.stderr(), /"storage_available"/);
    assert.ok(!server.stderr().includes('"request_failed"'), "no stack of what is known to be away");
  });
});

Deno.test("callers who wait for a lock do not keep the others: liveness and files answer before it is given up", async () => {
  await withScene({ bounds: { storage: { busyTimeoutMs: 60_000 } } }, async ({ server, token, session, database }) => {
    database.exec("BEGIN IMMEDIATE");
    const waiting = [1, 2, 3].map(() => fetch(`${server.url}/oauth/register`, registration));
    let answered = 0;
    for (const each of waiting) void each.then(() => answered += 1);
    assert.equal(await statusOf(`${server.url}/health/live`), 200);
    const list = await postMcp(server.url, toolCall("file_list", {}), { token, headers: session });
    const { result, error } = await list.json();
    assert.equal(result?.isError, false, JSON.stringify(error ?? result));
    assert.equal(await statusOf(`${server.url}/health/ready`), 503);
    assert.equal(answered, 0);
    database.exec("ROLLBACK");
    for (const response of await Promise.all(waiting)) {
      assert.equal(response.status, 201);
      await response.body?.cancel();
    }
  });
});

Deno.test("a token revoked beside the server is refused while another process holds the write lock", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const data = ["--data-dir", place.dataDir];
  const token = (await runCommand(["token", "create", "--scope", "files:read", ...data])).stdout.trim();
  const list = async (): Promise<number> => {
    const response = await postMcp(server.url, toolCall("file_list", {}), { token });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await list(), 200);
  const listed = (await runCommand(["token", "list", ...data])).stdout;
  const id = /^\S+/m.exec(listed)?.[0] ?? "";
  assert.equal((await runCommand(["token", "revoke", id, ...data])).code, 0, listed);
  const database = openDatabase(place);
  database.exec("BEGIN IMMEDIATE");
  assert.equal(await list(), 401);
  database.exec("ROLLBACK");
  database.close();
});

Deno.test("a dropped table is 503 everywhere, never 500, and the log says to restore", async () => {
  await withScene({ bounds: { storage: { busyTimeoutMs: 100 } } }, async (scene) => {
    scene.database.exec("ALTER TABLE entry RENAME TO elsewhere");
    await requireRefusals(scene);
    scene.database.exec("ALTER TABLE elsewhere RENAME TO entry");
    await requireWell(scene);
    await scene.server.stop();
    assert.match(scene.server.stderr(), /"storage_unavailable".*no such table.* restore` on a backup/);
  });
});

Deno.test("calls that become tasks are 503 while the database is locked, cost no place, and the server stops", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const env = { OLLAMA_HOST: ollama.url, LLM_MODELS: "tinyllama" };
  const bounds = { storage: { busyTimeoutMs: 50 }, mcp: { maxTasksPerPrincipal: 2 } };
  await withScene({ env, bounds }, async ({ server, token, database }) => {
    const { message, headers } = modernRequest(
      "tools/call",
      { name: "llm_generate", arguments: { prompt: "Say hello", max_tokens: 4_000 } },
      { extensions: { "io.modelcontextprotocol/tasks": {} } },
    );
    database.exec("BEGIN IMMEDIATE");
    for (let count = 0; count < 5; count += 1) {
      const refused = await postMcp(server.url, message, { token, headers });
      assert.deepEqual([refused.status, (await refused.json()).error.code], [503, 503]);
      assert.ok(refused.headers.has("retry-after"));
    }
    database.exec("ROLLBACK");
    const letGo = ollama.hold();
    for (let count = 0; count < 2; count += 1) {
      const begun = await until("a task", async () => {
        const response = await postMcp(server.url, message, { token, headers });
        const body = await response.json();
        return response.status === 200 && body;
      });
      assert.equal(begun.result.status, "working");
    }
    letGo();
    await server.stop();
    assert.equal((await server.ended).code, 0);
  });
});

const takings: readonly (readonly [what: string, take: (dataDir: string) => Promise<void>])[] = [
  ["the data directory is deleted", (dataDir) => Deno.remove(dataDir, { recursive: true })],
  ["the database is deleted", (dataDir) => Deno.remove(`${dataDir}/portcullis.db`)],
  ["the write-ahead log is moved", (dataDir) => Deno.rename(`${dataDir}/portcullis.db-wal`, `${dataDir}/away`)],
  ["the database is replaced by a copy", async (dataDir) => {
    await Deno.copyFile(`${dataDir}/portcullis.db`, `${dataDir}/copy`);
    await Deno.rename(`${dataDir}/copy`, `${dataDir}/portcullis.db`);
  }],
];

for (const [what, take] of takings) {
  Deno.test(`when ${what} under the server, no later write is acknowledged, and health, doctor and the log say so`, async () => {
    await using place = await makeServerPlace();
    await using server = await startServer(place);
    assert.equal(await statusOf(`${server.url}/oauth/register`, registration), 201);
    await take(place.dataDir);
    assert.equal(await statusOf(`${server.url}/oauth/register`, registration), 503, "the first write after it");
    assert.equal(await statusOf(`${server.url}/health`), 503);
    assert.equal(await statusOf(`${server.url}/health/ready`), 503);
    assert.equal(await statusOf(`${server.url}/health/live`), 200);
    const doctor = await runCommand(["doctor", "--port", new URL(server.url).port, "--data-dir", place.dataDir]);
    assert.match(doctor.stdout, /is unhealthy \(status 503\)[^]*hint: the other checks here and its log say why/);
    await server.stop();
    assert.equal((await server.ended).code, 0);
    assert.match(server.stderr(), /"storage_unavailable".*was deleted, moved or replaced.* restore` on a backup/);
  });
}

const fullDisk =
  "a full disk is 503 and not ready, keeps what was acknowledged, and is over by itself when there is space";
Deno.test({ ...needsPrograms(["prlimit"], fullDisk), fn: runOutOfDisk });

async function runOutOfDisk(): Promise<void> {
  await using place = await makeServerPlace();
  // Every file that the server writes may have 512 KiB: what the disk says of a larger one, a full one says of any.
  const limited = `trap '' XFSZ; ulimit -S -f 1024; exec "$@"`; // in blocks of 512 bytes
  const env = { OAUTH_RATE_LIMIT: "500000" };
  const bounds = { healthChecksPerMinute: 100_000 };
  await using server = await startServer(place, { env, bounds, launcher: ["sh", "-c", limited, "sh"] });
  const registered: string[] = [];
  const register = async (): Promise<Response> => {
    const response = await fetch(`${server.url}/oauth/register`, registration);
    const { client_id: id } = await response.json();
    if (response.status === 201) registered.push(id);
    else assert.deepEqual([response.status, response.headers.has("retry-after")], [503, true]);
    return response;
  };
  await until("a refusal", async () => (await register()).status === 503);
  // Smaller writes may still have room.
  await until("a server that is not ready", async () => {
    await register();
    return await statusOf(`${server.url}/health/ready`) === 503;
  });
  assert.equal(await statusOf(`${server.url}/health/live`), 200);
  const lift = new Deno.Command("prlimit", { args: ["--pid", String(server.pid), "--fsize=unlimited:"] });
  const lifted = await lift.output();
  assert.ok(lifted.success, new TextDecoder().decode(lifted.stderr));
  await until("a registration", async () => (await register()).status === 201);
  assert.equal(await statusOf(`${server.url}/health/ready`), 200);
  assert.equal((await server.stop()).code, 0);
  assert.match(server.stderr(), /"storage_unavailable".*(disk|full)/);
  const database = openDatabase(place);
  const stored = database.prepare("SELECT count(*) AS count FROM entry WHERE key = ?");
  for (const id of registered) {
    assert.deepEqual({ ...stored.get(`client!${id}!`) }, { count: 1 }, id);
  }
  database.close();
}
