/**
 * What an earlier version stored works with this one: people, grants, tokens, sessions, links, tasks and files, out of a
 * data directory and a PostgreSQL dump that commit 4668edf made (made_at_4668edf/). The clock
 * stands half an hour after the making, so that nothing is too old by the time the test runs.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../src/app/config/config.ts";
import { startServer } from "../../src/app/running_server.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { createPerson } from "../fixtures/person.ts";
import { until } from "../fixtures/until.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

/** What the making wrote down about a store. */
interface Facts {
  readonly madeAt: number;
  readonly url: string;
  readonly ownerPassphrase: string;
  readonly secondPerson?: { readonly name: string; readonly passphrase: string };
  readonly operatorToken?: string;
  readonly servicenow: { readonly instance: string; readonly clientId: string; readonly clientSecret: string };
  readonly client: { readonly id: string; readonly accessToken: string; readonly refreshToken: string };
  readonly sessionId: string;
  readonly task: { readonly id: string; readonly result: { readonly content: unknown } };
  readonly linkedAs: string;
}

const made = new URL("./made_at_4668edf/", import.meta.url);
const halfAnHour = 1_800_000;

async function copyOf(driver: string): Promise<{ readonly directory: string; readonly facts: Facts }> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-upgrade-" });
  const copied = await new Deno.Command("cp", { args: ["-R", `${fileURLToPath(new URL(driver, made))}/.`, directory] })
    .output();
  assert.ok(copied.success);
  for (const path of ["data", "data/master.key"]) {
    await Deno.chmod(`${directory}/${path}`, path === "data" ? 0o700 : 0o600);
  }
  return { directory, facts: JSON.parse(await Deno.readTextFile(`${directory}/facts.json`)) };
}

async function serveStore(directory: string, facts: Facts, settings: Readonly<Record<string, string>>) {
  const config = loadConfig({
    flags: {},
    env: {
      DATA_DIR: `${directory}/data`,
      WORKSPACE_DIR: `${directory}/workspace`,
      PORT: "0",
      SERVER_URL: facts.url,
      OLLAMA_HOST: "127.0.0.1:1",
      SERVICENOW_INSTANCE: facts.servicenow.instance,
      SERVICENOW_CLIENT_ID: facts.servicenow.clientId,
      SERVICENOW_CLIENT_SECRET: facts.servicenow.clientSecret,
      REFRESH_TOKEN_LIFETIME: String(365 * 86_400),
      ...settings,
    },
    readFile: (path) => readFileSync(path, "utf8"),
  });
  assert.ok(config.ok, JSON.stringify(config));
  const began = Date.now();
  const started = await startServer(config.value, {
    log: { write: () => {}, flush: () => {} },
    clock: () => facts.madeAt + halfAnHour + Date.now() - began,
    extraTools: [],
    fetchDocument: () => Promise.resolve({ ok: false, error: "refused" } as never),
    onInstallationOpen: () => {},
  });
  assert.ok(started.ok, JSON.stringify(started));
  return started.value;
}

async function assertAllWorks(facts: Facts, port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const redeemed = await fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      client_id: facts.client.id,
      refresh_token: facts.client.refreshToken,
    }),
  });
  const tokens = await redeemed.json();
  assert.equal(redeemed.status, 200, JSON.stringify(tokens));
  const token: string = tokens.access_token;

  const read = async (bearer: string, filename: string): Promise<string> => {
    const answer = await (await postMcp(url, toolCall("file_read", { filename }), {
      token: bearer,
      headers: { accept: "application/json" },
    })).json();
    assert.equal(answer.result?.isError, false, JSON.stringify(answer));
    return answer.result.content[0].text;
  };
  assert.equal(await read(token, "notes/old.txt"), "written by 4668edf\n");
  for (const old of [facts.client.accessToken, facts.operatorToken]) {
    if (old !== undefined) assert.equal(await read(old, "notes/old.txt"), "written by 4668edf\n");
  }

  const inSession = await postMcp(url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, {
    token,
    headers: { "mcp-session-id": facts.sessionId, "mcp-protocol-version": "2025-11-25", accept: "application/json" },
  });
  assert.equal(inSession.status, 200);
  await inSession.body?.cancel();

  const { message, headers } = modernRequest("tasks/get", { taskId: facts.task.id }, {
    extensions: { "io.modelcontextprotocol/tasks": {} },
  });
  const task = await (await postMcp(url, message, { token, headers })).json();
  assert.equal(task.result?.status, "completed", JSON.stringify(task));
  assert.deepEqual(task.result.result.content, facts.task.result.content);

  const people = [
    { name: "owner", passphrase: facts.ownerPassphrase },
    ...facts.secondPerson ? [facts.secondPerson] : [],
  ];
  for (const { name, passphrase } of people) {
    const person = createPerson(facts.url, atPort(port));
    const page = await person.open(`${facts.url}/servicenow/link`);
    const signedIn = await person.submit(page, {
      passphrase,
      ...(facts.secondPerson === undefined ? {} : { username: name }),
    });
    assert.equal(signedIn.html.includes(facts.linkedAs), name === "owner", signedIn.html);
  }

  const again = createPerson(facts.url, atPort(port));
  const grantsPage = await again.open(`${facts.url}/oauth/grants`);
  const grants = await again.submit(grantsPage, {
    passphrase: facts.ownerPassphrase,
    ...(facts.secondPerson === undefined ? {} : { username: "owner" }),
  });
  assert.match(grants.html, /Old client/);
}

/** What came since, on what is older: rules, the audit and the attempts, kept from the first start to the second. */
async function assertConsoleWorks(facts: Facts, port: number, start: string): Promise<void> {
  const owner = createPerson(facts.url, atPort(port));
  const names = facts.secondPerson === undefined ? {} : { username: "owner" };
  const signedIn = await owner.submit(await owner.open(`${facts.url}/console`), {
    ...{ passphrase: facts.ownerPassphrase },
    ...names,
  });
  assert.match(signedIn.html, /Overview/);
  const section = (name: string) => owner.open(`${facts.url}/console/${name}`);
  if (start === "first") {
    await owner.submit(await section("rules"), { place: "notes/refused", verdict: "deny", clicked: "" }, 'value="add"');
    await (await atPort(port)(new URL(`${facts.url}/mcp/mcp`), { method: "POST", body: "{}" })).body?.cancel();
  }
  assert.match((await section("rules")).html, /in notes\/refused are refused/);
  const write = toolCall("file_read", { filename: "notes/refused/a.txt" });
  const refused = await postMcp(`http://127.0.0.1:${port}`, write, {
    token: facts.client.accessToken,
    headers: { accept: "application/json" },
  });
  assert.match(await refused.text(), /does not allow this call/);
  await until("the audit has it", async () => /notes\/refused\/a\.txt/.test((await section("audit")).html));
  assert.match((await section("connections")).html, /Old client/);
  await until("the attempt is there", async () => (await section("why")).html.includes("/mcp/mcp"));
}

/** The server's address is part of what it stored; it listens wherever there is a free port. */
function atPort(port: number): (url: URL, init: RequestInit) => Promise<Response> {
  return (url, init) => fetch(new URL(`${url.pathname}${url.search}`, `http://127.0.0.1:${port}`), init);
}

async function assertUpgrades(
  driver: string,
  settingsOf: (directory: string, facts: Facts) => Record<string, string> | Promise<Record<string, string>>,
): Promise<void> {
  const { directory, facts } = await copyOf(driver);
  try {
    const settings = await settingsOf(directory, facts);
    for (const start of ["first", "second"]) {
      const server = await serveStore(directory, facts, settings);
      try {
        await assertAllWorks(facts, server.port);
        await assertConsoleWorks(facts, server.port, start);
      } catch (error) {
        throw new Error(`at the ${start} start`, { cause: error });
      } finally {
        await server.stop();
      }
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a data directory of 4668edf works: people, grants, tokens, sessions, links, tasks and files", async () => {
  await assertUpgrades("sqlite", () => ({}));
});

const postgres = "a PostgreSQL dump of 4668edf works: people, grants, tokens, sessions, links, tasks and files";
const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED ${postgres}: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(postgres, async () => {
    await using cluster = await startPostgresCluster(found.programs);
    const restored = await new Deno.Command(`${found.programs}/psql`, {
      args: [
        "--quiet",
        "--set",
        "ON_ERROR_STOP=1",
        "--file",
        fileURLToPath(new URL("postgres/dump.sql", made)),
        cluster.url,
      ],
      stdout: "null",
      stderr: "piped",
    }).output();
    assert.ok(restored.success, new TextDecoder().decode(restored.stderr));
    await assertUpgrades("postgres", () => ({ WORKSPACE_STORE: "storage", DATABASE_URL: cluster.url }));
  });
}
