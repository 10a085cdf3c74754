/** What one person's token does with another's session, stream and task, over HTTP at the started server. */
import assert from "node:assert/strict";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const scopes = ["--scope", "files:read llm:generate"];
const version = "2025-11-25";

/** The headers of a new session. */
async function openSession(url: string, token: string): Promise<Record<string, string>> {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const response = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "initialize", params }, { token });
  await response.body?.cancel();
  const id = response.headers.get("mcp-session-id");
  assert.ok(id !== null);
  return { "mcp-session-id": id, "mcp-protocol-version": version };
}

/** The status of any request to `/mcp`; what follows is not read. */
async function statusOf(url: string, method: string, token: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${url}/mcp`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      ...(method === "POST" ? { "content-type": "application/json" } : {}),
      ...headers,
    },
    ...(method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) } : {}),
  });
  await response.body?.cancel();
  return response.status;
}

/** What a task method of 2026-07-28 answers. */
async function askTask(url: string, token: string, method: string, params: Record<string, unknown>) {
  const { message, headers } = modernRequest(method, params);
  const { _meta } = message["params"] as { _meta: Record<string, unknown> };
  _meta["io.modelcontextprotocol/clientCapabilities"] = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const taskId = params["taskId"];
  const response = await postMcp(url, message, {
    token,
    headers: { ...headers, ...(typeof taskId === "string" ? { "mcp-name": taskId } : {}) },
  });
  return await response.json();
}

Deno.test("another person's session, stream and task are as good as none, whoever knows their ids", async (t) => {
  const words = "word ".repeat(100);
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", tokenMilliseconds: 10, answer: () => words }],
  });
  await using place = await makeServerPlace();
  const data = ["--data-dir", place.dataDir];
  const added = await runCommand(["users", "add", "ada", ...data], {
    stdin: "correct horse battery\ncorrect horse battery\n",
  });
  assert.equal(added.code, 0, added.stderr);
  const owner = (await runCommand(["token", "create", ...scopes, ...data])).stdout.trim();
  const ada = (await runCommand(["token", "create", ...scopes, "--user", "ada", ...data])).stdout.trim();
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const { url } = server;

  const session = await openSession(url, owner);
  await t.step("a session's id opens nothing for another, and does not end for them", async () => {
    for (const method of ["POST", "GET", "DELETE"]) {
      assert.equal(await statusOf(url, method, ada, session), 404, method);
    }
    assert.equal(await statusOf(url, "POST", owner, session), 200);
  });

  await t.step("a stream is resumed in its own session only", async () => {
    const adas = await openSession(url, ada);
    const call = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${owner}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...session,
      },
      body: JSON.stringify(toolCall("llm_generate", { prompt: "speak" })),
    });
    assert.equal(call.headers.get("content-type"), "text/event-stream");
    assert.ok(call.body !== null);
    const reader = call.body.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!/^id: \S+$/m.test(seen)) seen += (await reader.read()).value ?? assert.fail(seen);
    const lastEventId = /^id: (\S+)$/m.exec(seen)?.[1] ?? "";
    // In her own session an id that is not hers names nothing: she gets a new, empty stream of her own.
    const controller = new AbortController();
    const tried = await fetch(`${url}/mcp`, {
      headers: {
        authorization: `Bearer ${ada}`,
        accept: "text/event-stream",
        "last-event-id": lastEventId,
        ...adas,
      },
      signal: controller.signal,
    });
    assert.equal(tried.status, 200);
    const first = await tried.body?.getReader().read();
    assert.doesNotMatch(new TextDecoder().decode(first?.value), /word/);
    controller.abort();
    assert.equal(await statusOf(url, "GET", ada, { ...session, "last-event-id": lastEventId }), 404);
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) seen += piece.value;
    assert.match(seen, /"isError":false/); // nobody disturbed the owner's call
  });

  await t.step("a task is its owner's: another can neither read nor stop it, nor put words into it", async () => {
    const input = { prompt: "speak", max_tokens: 2_000 };
    const begun = await askTask(url, owner, "tools/call", { name: "llm_generate", arguments: input });
    const { taskId } = begun.result;
    assert.ok(typeof taskId === "string", JSON.stringify(begun));
    for (
      const [method, params] of [["tasks/get", {}], ["tasks/cancel", {}], ["tasks/update", {
        inputResponses: {},
      }]] as const
    ) {
      const answer = await askTask(url, ada, method, { taskId, ...params });
      assert.deepEqual(answer.error, {
        code: -32602,
        message: "Unknown task: it may have expired; call the tool again",
      }, method);
    }
    const task = await until("the end of the task", async () => {
      const seen = await askTask(url, owner, "tasks/get", { taskId });
      return seen.result.status === "working" ? null : seen;
    });
    assert.equal(task.result.status, "completed", JSON.stringify(task));
    assert.equal((await askTask(url, ada, "tasks/get", { taskId })).error.code, -32602);
  });
});
