/** The whole way: an official client, the started server, and the stand-in Ollama behind it. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";

const words = "word ".repeat(150);
const slowModel = { name: "tinyllama", tokenMilliseconds: 10, answer: () => words } as const;

async function createToken(dataDir: string): Promise<string> {
  const { stdout } = await runCommand(["token", "create", "--scope", "llm:generate", "--data-dir", dataDir]);
  return stdout.trim();
}

async function connect(server: RunningServer, token: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: "watcher", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

Deno.test("with a real client tokens arrive as progress while the model speaks, and an abort in mid-sentence frees the place", async () => {
  await using ollama = await startOllama({ models: [slowModel] });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: ollama.url, LLM_MAX_CONCURRENT: "1", LLM_MAX_WAITING: "0" },
  });
  await using client = await connect(server, token);

  const spoken: { readonly text: string; readonly at: number }[] = [];
  const request = { name: "llm_generate", arguments: { prompt: "speak" } };
  const result = await client.callTool(request, undefined, {
    onprogress: ({ message = "" }) => void spoken.push({ text: message, at: performance.now() }),
  });
  const done = performance.now();
  const [block] = result["content"] as { text: string }[];
  assert.equal(spoken.map(({ text }) => text).join(""), block?.text);
  const { duration_ms } = result["structuredContent"] as { duration_ms: number };
  assert.ok(spoken.length >= 5 && spoken.length <= duration_ms / 100 + 2, `${spoken.length} updates`);
  assert.ok(done - (spoken[0]?.at ?? done) > 500, "the first words came long before the last");

  const controller = new AbortController();
  let abortedAt = 0;
  await assert.rejects(client.callTool(request, undefined, {
    signal: controller.signal,
    onprogress: () => {
      abortedAt ||= performance.now();
      controller.abort();
    },
  }));
  await ollama.until((requests) => requests.at(-1)?.outcome === "aborted", 1000);
  assert.ok((ollama.requests.at(-1)?.endedAt ?? Infinity) - abortedAt < 1000);
  const next = await client.callTool({ name: "llm_generate", arguments: { prompt: "again", max_tokens: 2 } });
  assert.equal(next["isError"], false, "the only place is free again");

  const [models] = (await client.readResource({ uri: "llm://models" })).contents;
  assert.ok(models !== undefined && "text" in models);
  const [first] = JSON.parse(models.text).models;
  assert.deepEqual([first.name, first.installed, first.loaded], ["tinyllama", true, true]);
});

Deno.test("a caller that disconnects stops the model, before its first token and after", async () => {
  await using ollama = await startOllama({ models: [slowModel, { name: "phi3", loadMilliseconds: 20_000 }] });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  for (const model of ["phi3", "tinyllama"]) {
    const before = ollama.requests.length;
    const controller = new AbortController();
    const call = postMcp(server.url, toolCall("llm_generate", { prompt: "x", model }), {
      token,
      signal: controller.signal,
    }).then((response) => response.body?.cancel(), () => {});
    await ollama.until((requests) => requests.length > before);
    await new Promise((resolve) => setTimeout(resolve, 60));
    const left = performance.now();
    controller.abort();
    await call;
    await ollama.until((requests) => requests.at(-1)?.outcome === "aborted", 1000);
    assert.ok((ollama.requests.at(-1)?.endedAt ?? Infinity) - left < 1000, model);
  }
});

Deno.test("a caller that reads its stream slowly does not slow another's", async () => {
  const long = `${"x".repeat(1000)} `.repeat(400);
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => long }] });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const input = { prompt: "speak", max_tokens: 4096 };
  const ask = async (): Promise<number> => {
    const started = performance.now();
    const text = await (await postMcp(server.url, watched("fast", input), { token })).text();
    assert.ok(text.includes(long.slice(0, 5000)));
    return performance.now() - started;
  };
  const alone = Math.min(await ask(), await ask());
  const slow = await postMcp(server.url, watched("slow", input), { token }); // and nothing of it is read
  const together = Math.min(await ask(), await ask());
  assert.ok(together < alone * 4 + 100, `${together} ms beside a slow reader, ${alone} ms alone`);
  assert.ok((await slow.text()).includes('"isError":false'), "the slow reader gets its whole answer in the end");
});

/** A call with a progress token. */
function watched(token: string, input: Record<string, unknown>): Record<string, unknown> {
  const message = toolCall("llm_generate", input, token);
  return { ...message, params: { ...message["params"] as object, _meta: { progressToken: token } } };
}

Deno.test("a long answer becomes a task for a client that takes tasks: polled to its end, or cancelled with its model", async () => {
  await using ollama = await startOllama({ models: [{ ...slowModel, answer: () => "word ".repeat(40) }] });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const request = async (method: string, params: Record<string, unknown>, name: string) => {
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: modernMeta } };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name };
    const response = await postMcp(server.url, message, { token, headers });
    const { result, error } = await response.json();
    assert.equal(error, undefined, JSON.stringify(error));
    return result;
  };
  const input = { name: "llm_generate", arguments: { prompt: "speak", max_tokens: 4096 } };

  const begun = await request("tools/call", input, "llm_generate");
  assert.equal(begun.resultType, "task");
  let view = await request("tasks/get", { taskId: begun.taskId }, begun.taskId);
  assert.equal(view.status, "working");
  while (view.status === "working") {
    await new Promise((resolve) => setTimeout(resolve, 50));
    view = await request("tasks/get", { taskId: begun.taskId }, begun.taskId);
  }
  assert.equal(view.status, "completed");
  assert.equal(view.result.structuredContent.text.trim(), "word ".repeat(40).trim());

  const second = await request("tools/call", input, "llm_generate");
  await ollama.until((requests) => requests.length === 2);
  await request("tasks/cancel", { taskId: second.taskId }, second.taskId);
  await ollama.until((requests) => requests.at(-1)?.outcome === "aborted", 1000);
});

const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "patient", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};
