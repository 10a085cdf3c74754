/** What looks alike and is not: attempts and causes that were taken for one another. */
import assert from "node:assert/strict";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { createConnectingClient } from "./connecting_client.ts";
import { type JudgedAttempt, judgedAttempts } from "./reports.ts";

type Variables = Readonly<Record<string, string>>;
const open = { REGISTRATION: "open", COMPATIBILITY: "spec", TRUST_PROXY: "127.0.0.1" };

/** Runs one scene at a server of its own; gives the attempts, judged. */
async function attemptsAfter(
  scene: (place: ServerPlace, url: string, owner: Person) => Promise<unknown>,
  env: Variables = {},
): Promise<readonly JudgedAttempt[]> {
  await using place = await makeServerPlace();
  const all = { ...open, ...env };
  await using server = await startServer(place, { env: all });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  await scene(place, server.url, owner);
  return await judgedAttempts(place);
}

const causesOf = (line: JudgedAttempt | undefined): readonly string[] => line?.causes.map(({ id }) => id) ?? [];
const textOf = (line: JudgedAttempt | undefined): string =>
  line?.causes.map(({ words, remedy }) => `${words} ${remedy}`).join(" ") ?? "";

/** Posts a registration whose last byte is sent by what it returns. */
async function registerSlowly(url: string, agent: string, body: unknown): Promise<() => Promise<string>> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const head = `POST /oauth/register HTTP/1.1\r\nhost: ${hostname}:${port}\r\nuser-agent: ${agent}\r\n` +
    `content-type: application/json\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  await connection.write(bytes.subarray(0, -1));
  return async () => {
    await connection.write(bytes.subarray(-1));
    const answer = await new Response(connection.readable).text();
    return answer.slice(0, 12);
  };
}

const forbidden = (name: string) => ({ client_name: name, redirect_uris: ["http://192.0.2.7/callback"] });
const malformed = (name: string) => ({
  client_name: name,
  redirect_uris: ["http://127.0.0.1:1/c"],
  grant_types: ["x"],
});

for (const agents of [["first/1.0", "second/1.0"], ["node", "node"]] as const) {
  Deno.test(`connections: two clients that register from one address at once keep their faults (${agents.join(", ")})`, async () => {
    const lines = await attemptsAfter(async (_place, url) => {
      for (let round = 0; round < 3; round += 1) {
        const first = await registerSlowly(url, agents[0], forbidden("First"));
        const second = await registerSlowly(url, agents[1], malformed("Second"));
        assert.equal(await second(), "HTTP/1.1 400");
        assert.equal(await first(), "HTTP/1.1 400");
      }
    });
    assert.ok(lines.length >= 2);
    for (const line of lines) {
      const expected = line.name === "First" ? "redirect_forbidden" : "metadata_refused";
      assert.deepEqual(causesOf(line), [expected], JSON.stringify(line));
    }
    assert.deepEqual(new Set(lines.map(({ name }) => name)), new Set(["First", "Second"]));
  });
}

Deno.test("connections: two clients that sign in from one address at once keep their faults", async () => {
  const lines = await attemptsAfter(async (_place, url) => {
    const clientOf = (name: string) => createConnectingClient(url, { name, agent: "node", address: "203.0.113.9" });
    const [early, late] = [clientOf("Early"), clientOf("Late")];
    for (const client of [early, late]) {
      await client.discover();
      await client.register();
    }
    const [code] = await Promise.all([late.allow(), early.open({ code_challenge: null })]);
    const answers = await Promise.all([
      late.redeem(code, { code_verifier: "w".repeat(43) }),
      early.open({ response_type: "token" }),
    ]);
    assert.equal(answers[0].status, 400);
  });
  const causes = Object.fromEntries(lines.map((line) => [line.name, causesOf(line)[0]]));
  assert.deepEqual([causes["Early"], causes["Late"]], ["authorization_refused", "pkce_wrong"], JSON.stringify(lines));
});

Deno.test("connections: a token that expired by itself is no clock that jumped", async () => {
  const lines = await attemptsAfter(async (_place, url) => {
    const client = createConnectingClient(url, { name: "sleeper", address: "203.0.113.1" });
    await client.connect();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal((await client.post("tools/list")).status, 401);
  }, { ACCESS_TOKEN_LIFETIME: "1" });
  assert.deepEqual(lines.map(causesOf), [["token_expired"]], JSON.stringify(lines));
  assert.doesNotMatch(textOf(lines[0]), /clock/);
});

Deno.test("connections: a disabled account is no wrong passphrase, nor is its token one that someone ended", async () => {
  const lines = await attemptsAfter(async (place, url) => {
    const data = ["--data-dir", place.dataDir];
    const passphrase = "a passphrase that is long enough";
    const added = await runCommand(["users", "add", "ada", ...data], { stdin: `${passphrase}\n${passphrase}\n` });
    assert.equal(added.code, 0, added.stderr);
    const { stdout } = await runCommand(["token", "create", "--user", "ada", "--scope", "files:read", ...data]);
    const bearer = createConnectingClient(url, { name: "bearer", address: "203.0.113.1" });
    bearer.token = stdout.trim();
    assert.equal((await bearer.post("tools/list")).status, 200, stdout);
    const disabled = await runCommand(["users", "disable", "ada", ...data]);
    assert.equal(disabled.code, 0, disabled.stderr);
    assert.equal((await bearer.post("tools/list")).status, 401);
    const client = createConnectingClient(url, { name: "visitor", address: "203.0.113.2" });
    await client.discover();
    await client.register();
    await client.browser.submit(await client.open(), { username: "ada", passphrase });
  });
  for (const name of ["bearer/1.0", "visitor"]) {
    const line = lines.find((each) => each.name === name);
    assert.deepEqual(causesOf(line), ["account_disabled"], JSON.stringify(lines));
    assert.doesNotMatch(JSON.stringify(line?.people), /characters/);
    assert.match(textOf(line), /account .*is disabled.* users enable/);
    assert.doesNotMatch(textOf(line), /passphrase/);
  }
});

Deno.test("connections: a call that failed for want of a ServiceNow account is no tool that was called", async () => {
  const env = {
    SERVICENOW_INSTANCE: "https://dev1.service-now.com",
    SERVICENOW_CLIENT_ID: "a",
    SERVICENOW_CLIENT_SECRET: "a-secret-of-some-length",
  };
  const lines = await attemptsAfter(async (place, url) => {
    const { stdout } = await runCommand(
      ["token", "create", "--scope", "servicenow:read", "--data-dir", place.dataDir],
      {
        env,
      },
    );
    const client = createConnectingClient(url, { name: "desk", address: "203.0.113.1" });
    client.token = stdout.trim();
    assert.equal((await client.post("tools/list")).status, 200);
    const call = { name: "servicenow_search", arguments: { table: "incident" } };
    assert.match(await (await client.post("tools/call", {}, call)).text(), /No ServiceNow account is linked/);
  }, env);
  const line = lines.find(({ steps }) => JSON.stringify(steps).includes("servicenow_not_linked"));
  assert.deepEqual(causesOf(line), ["servicenow_not_linked"], JSON.stringify(lines));
  assert.match(textOf(line), /ServiceNow account is not linked.*Access page/);
});

Deno.test("connections: an id that is a document's address, where documents are off, is no client that was removed", async () => {
  const lines = await attemptsAfter(async (_place, url) => {
    const client = createConnectingClient(url, { name: "claude-code", address: "203.0.113.1" });
    await client.discover();
    client.clientId = "https://claude.ai/oauth/claude-code-client-metadata";
    await client.open();
  }, { CLIENT_METADATA_DOCUMENTS: "off" });
  assert.deepEqual(lines.map(causesOf), [["client_documents_off"]], JSON.stringify(lines));
  assert.match(textOf(lines[0]), /CLIENT_METADATA_DOCUMENTS=on/);
});

Deno.test("connections: answers that were cut off several times are a fault, and one that was read is none", async () => {
  await using silent = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return new Response();
  });
  const env = { OLLAMA_HOST: `http://127.0.0.1:${silent.addr.port}` };
  const callSlowly = (times: number) => async (place: ServerPlace, url: string): Promise<void> => {
    const { stdout } = await runCommand(["token", "create", "--scope", "llm:generate", "--data-dir", place.dataDir]);
    const client = createConnectingClient(url, { name: "hasty", address: "203.0.113.1" });
    client.token = stdout.trim();
    assert.equal((await client.post("initialize")).status, 200);
    assert.equal((await client.post("tools/list")).status, 200);
    for (let time = 0; time < times; time += 1) {
      const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: slowCall };
      const headers = {
        authorization: `Bearer ${client.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const begun = await client.send("/mcp", { method: "POST", headers, body: JSON.stringify(body) });
      await begun.body?.cancel(); // its answer has begun, and has no end yet
    }
  };
  const [cut] = await attemptsAfter(callSlowly(3), env);
  assert.deepEqual(causesOf(cut), ["answers_cut"], JSON.stringify(cut));
  assert.match(textOf(cut), /ended without their answer.*time limit/);
});

const slowCall = { name: "llm_generate", arguments: { prompt: "Say hello" } };
