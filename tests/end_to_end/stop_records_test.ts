/** An orderly stop: what the server has observed or begun by then is stored, also where it comes in the last moment. */
import assert from "node:assert/strict";
import { callTool } from "../console/desk.ts";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openDatabase } from "../fixtures/open_database.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";
import { until } from "../fixtures/until.ts";

const inOneProcess = needing("one process");

async function makeToken({ dataDir }: Pick<ServerPlace, "dataDir">, scope: string): Promise<string> {
  const made = await runCommand(["token", "create", "--scope", scope, "--data-dir", dataDir]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

async function storedLines({ dataDir }: Pick<ServerPlace, "dataDir">): Promise<Readonly<Record<string, unknown>>[]> {
  const { stdout } = await runCommand(["audit", "list", "--json", "--limit", "10000", "--data-dir", dataDir]);
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** A server whose owner has linked an account of an instance, which takes its time from then on. */
async function startLinked(env: Readonly<Record<string, string>> = {}) {
  const port = freePort();
  const instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
  const place = await makeServerPlace();
  const start = () =>
    startServer(place, {
      args: ["--port", String(port)],
      env: {
        SERVICENOW_INSTANCE: instance.origin,
        SERVICENOW_CLIENT_ID: instance.client.clientId,
        SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
        ...env,
      },
    });
  instance.oauth.habits.refreshTokens = "rotate";
  const token = await makeToken(place, "servicenow:read");
  const server = await start();
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const page = await openSignedIn(owner, `${server.url}/servicenow/link`);
  const sent = await owner.submit(page, { action: "link" }, 'value="link"');
  await owner.open(await instance.approve(sent.headers.get("refresh")?.split("url=")[1] ?? "", "ada"));
  return {
    ...{ place, instance, server, token, start },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await instance[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

inOneProcess.test("stop: a call that runs on after SHUTDOWN_TIMEOUT leaves its audit line, also without a stream", async () => {
  await using linked = await startLinked({ SHUTDOWN_TIMEOUT: "1" });
  const { instance, server, place } = linked;
  instance.habits.delayMs = 60_000;
  const before = instance.requests.length; // to link the account it was asked too
  const answered = fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      authorization: `Bearer ${linked.token}`,
    },
    body: JSON.stringify(toolCall("servicenow_search", { table: "incident" })),
  }).then((response) => response.text(), String);
  await until("the instance is asked", () => instance.requests.length > before);
  assert.equal((await server.stop()).code, 0);
  await answered;
  assert.match(server.stderr(), /"event":"request"[^\n]*"tool":"servicenow_search","outcome":"cancelled"/);
  const lines = await storedLines(place);
  assert.ok(lines.some(({ tool, outcome }) => tool === "servicenow_search" && outcome === "cancelled"), String(lines));
});

inOneProcess.test("stop: tokens that the instance renews while their caller has gone are stored", async () => {
  await using linked = await startLinked();
  const { instance, server, token } = linked;
  instance.faults.play("unauthorized", { times: 2 }); // before the stop, and after it
  instance.habits.delayMs = 500;
  const gone = new AbortController();
  const { message, headers } = modernRequest("tools/call", {
    name: "servicenow_search",
    arguments: { table: "incident" },
  });
  const answered = postMcp(server.url, message, { token, headers, signal: gone.signal }).catch(String);
  await until("the tokens are renewed", () => instance.requests.some(({ grantType }) => grantType === "refresh_token"));
  gone.abort();
  assert.equal((await server.stop()).code, 0);
  await answered;
  instance.habits.delayMs = 0;
  await using again = await linked.start();
  const { isError, text } = await callTool(again, token, "servicenow_search", { table: "incident" });
  assert.ok(!isError, text);
});

for (const busyTimeoutMs of [100, 5_000]) {
  inOneProcess.test(`stop: what waits is stored once another program gives the database free (${busyTimeoutMs} ms)`, async () => {
    await using place = await makeServerPlace();
    const token = await makeToken(place, "files:write");
    await using server = await startServer(place, { bounds: { storage: { busyTimeoutMs } } });
    using database = openDatabase(place);
    database.exec("BEGIN IMMEDIATE");
    await callTool(server, token, "file_write", { filename: "a", content: "x" });
    if (busyTimeoutMs === 100) await until("the database is away", () => server.stderr().includes("audit_not_stored"));
    await callTool(server, token, "file_write", { filename: "b", content: "x" });
    const stopped = server.stop();
    await until("the stop", () => server.stderr().includes('"event":"stopping"'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    database.exec("ROLLBACK");
    assert.equal((await stopped).code, 0);
    assert.equal((await storedLines(place)).filter(({ tool }) => tool === "file_write").length, 2);
  });
}

inOneProcess.test("stop: lines of strangers that were left out of the audit are counted there", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place, "files:read");
  await using server = await startServer(place, {
    bounds: { log: { windowMs: 0 } },
    env: { OAUTH_RATE_LIMIT: "10000" },
  });
  for (let index = 0; index < 310; index++) {
    const body = new URLSearchParams({ token, client_id: `stranger-${index}` });
    await (await fetch(`${server.url}/oauth/revoke`, { method: "POST", body })).text();
  }
  await server.stop();
  const lines = await storedLines(place);
  assert.equal(lines[0]?.["event"], "audit_lines_skipped", JSON.stringify(lines.slice(0, 3)));
});

inOneProcess.test("stop: an upload that is given up was ended by the server, not by its sender", async () => {
  await using place = await makeServerPlace();
  const token = await makeToken(place, "files:write");
  await using server = await startServer(place, { env: { SHUTDOWN_TIMEOUT: "1" } });
  const made = await postMcp(server.url, toolCall("file_write", { filename: "a.bin", link: true }), { token });
  const { result } = await made.json();
  let sender: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      sender = controller;
      controller.enqueue(new Uint8Array(100_000));
    },
  });
  const sent = fetch(result.structuredContent.url, { method: "PUT", body }).then(
    (answer) => answer.body?.cancel(),
    String,
  );
  await until("it has begun", () => server.stderr().includes("transfer_started"));
  assert.equal((await server.stop()).code, 0);
  sender?.error("over");
  await sent;
  const ended = (await storedLines(place)).filter(({ event }) => event === "transfer_ended");
  assert.deepEqual(ended.map(({ outcome }) => outcome), ["stopped"]);
});
