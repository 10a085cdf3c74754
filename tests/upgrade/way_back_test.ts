/** What this version stores can be read by the program of commit 4668edf: the core of going back to it. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { signIn } from "../deploy/sign_in.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { schemaAt4668edf } from "./schemas_at_4668edf.ts";

const largeAnswer = `${"w".repeat(60)} `.repeat(4_000);
const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };

Deno.test("what is stored is read by 4668edf too: people, clients, grants, tokens, tasks, sessions and files", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: answerAtLength }] });
  await using place = await makeServerPlace();
  const command = async (...args: string[]): Promise<void> => {
    const done = await runCommand([...args, "--data-dir", place.dataDir], { stdin: "a long enough passphrase\n" });
    assert.equal(done.code, 0, done.stderr);
  };
  {
    const env = { OLLAMA_HOST: ollama.url, WORKSPACE_STORE: "storage" };
    await using server = await startServer(place, { env, bounds: { approval: { patienceMs: 50 } } });
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    await useAll(server);
    await useConsole(server, owner);
    const serverUrl = ["--server-url", server.url];
    await command("token", "create", "--scope", "files:read", ...serverUrl);
    await command("users", "add", "ada", ...serverUrl);
    await command("users", "sign-in-link", "ada", ...serverUrl);
    await command("clients", "create", "--name", "Machine", "--scope", "files:read", ...serverUrl);
    await command("keys", "rotate", ...serverUrl);
  }

  const unread = new Set<string>();
  const read = new Set<string>();
  for (const { key, value } of storedEntries(`${place.dataDir}/portcullis.db`)) {
    const schema = schemaAt4668edf(key);
    if (schema === null) unread.add(key[0] === "workspace" ? `workspace ${key[2]}` : key[0] ?? "");
    else {
      const parsed = schema.safeParse(value);
      assert.ok(parsed.success, `${key.join(" ")}: ${parsed.error}`);
      read.add(key[0] ?? "");
    }
  }
  assert.deepEqual([...unread].sort(), [
    "answered_request",
    "approval_rules",
    "audit",
    "audit_calls",
    "audit_chain",
    "audit_oldest",
    "call_switches",
    "connection_steps",
    "held_call",
    "mcp_task_result",
    "sign_in_link",
    "workspace change",
  ]);
  for (const family of ["client", "grant", "user", "operator_token", "mcp_task", "mcp_session", "workspace"]) {
    assert.ok(read.has(family), `${family} is among ${[...read].join(", ")}`);
  }
});

/** A person signs in a client, which writes a file, changes its session, and runs a small and a large task. */
async function useAll({ url }: Pick<RunningServer, "url">): Promise<void> {
  const person = createPerson(url);
  const { clientId, refreshToken } = await signIn(url, person, "files:write llm:generate");
  const refreshed = await fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken }),
  });
  const { access_token: token } = await refreshed.json();

  const write = { filename: "notes/new.txt", content: "written today" };
  const written = await postMcp(url, toolCall("file_write", write), {
    token,
    headers: { accept: "application/json" },
  });
  assert.equal((await written.json()).result?.isError, false);

  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const begun = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }, { token });
  await begun.body?.cancel();
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  const level = { jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "error" } };
  const set = await postMcp(url, level, { token, headers: session });
  assert.equal(set.status, 200);
  await set.body?.cancel();

  const ask = async (method: string, params: Record<string, unknown>) => {
    const { message, headers } = modernRequest(method, params, tasks);
    return (await (await postMcp(url, message, { token, headers })).json()).result;
  };
  for (const prompt of ["in short", "at length"]) {
    const input = { prompt, model: "tinyllama", max_tokens: 4_096 };
    const { taskId } = await ask("tools/call", { name: "llm_generate", arguments: input });
    const view = await until("the task to end", async () => {
      const seen = await ask("tasks/get", { taskId });
      return seen.status === "working" ? null : seen;
    });
    assert.equal(view.status, "completed", JSON.stringify(view).slice(0, 500));
  }
}

/** A rule holds a call, which is approved for an hour; another one waits; then everything is stopped. */
async function useConsole({ url }: Pick<RunningServer, "url">, owner: Person): Promise<void> {
  const { accessToken: token } = await signIn(url, createPerson(url), "files:write");
  const section = (name: string) => openSignedIn(owner, `${url}/console/${name}`);
  const write = async (filename: string): Promise<string> => {
    const answer = await postMcp(url, toolCall("file_write", { filename, content: "x" }), { token });
    return await answer.text();
  };
  await owner.submit(await section("rules"), { tool: "file_write", verdict: "ask" }, 'value="add"');
  assert.match(await write("held.txt"), /waits for a person/);
  await owner.submit(await section("decisions"), { decision: "approve", extent: "hour" }, 'value="decide"');
  await owner.submit(await section("rules"), { place: "other.txt", verdict: "ask" }, 'value="add"');
  assert.match(await write("other.txt"), /waits for a person/);
  await owner.submit(await section("live"), {}, 'value="stop"');
  assert.match(await write("held.txt"), /stopped/);
}

function answerAtLength(prompt: string): string {
  return prompt.includes("at length") ? largeAnswer : "word";
}

/** Every entry of the database, as text of its own: no code of ours reads it. */
function storedEntries(path: string): { readonly key: readonly string[]; readonly value: unknown }[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare("SELECT key, value FROM entry").all().map(({ key, value }) => ({
      key: String(key).split("!").slice(0, -1),
      value: JSON.parse(String(value)),
    }));
  } finally {
    database.close();
  }
}
