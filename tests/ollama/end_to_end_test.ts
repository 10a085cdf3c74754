/** The whole way: an official client, the started server, and the stand-in Ollama behind it. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const words = "word ".repeat(150);
const five = "word ".repeat(5).trim();
const longAnswer = { name: "llm_generate", arguments: { prompt: "speak", max_tokens: 4096 } };
const tasksCapability = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const now = Promise.resolve();
const never = new Promise<void>(() => {});

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
  const { promise: heard, resolve: speakOn } = Promise.withResolvers<void>();
  let rest = heard;
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => words, beforeToken: (index) => index < 20 ? now : rest }],
  });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, {
    env: { OLLAMA_HOST: ollama.url },
    bounds: { ollama: { maxInFlight: 1, maxWaiting: 0 } },
  });
  await using client = await connect(server, token);

  let spoken = "";
  const request = { name: "llm_generate", arguments: { prompt: "speak" } };
  const result = await client.callTool(request, undefined, {
    onprogress({ message = "" }) {
      spoken += message;
      if (spoken.trim() === "word ".repeat(20).trim()) speakOn(); // what was said is here, and the model is not done
    },
  });
  const [block] = result["content"] as { text: string }[];
  assert.equal(spoken, block?.text);

  rest = never;
  const controller = new AbortController();
  await assert.rejects(client.callTool(request, undefined, {
    signal: controller.signal,
    onprogress: () => controller.abort(),
  }));
  await ollama.until((requests) => requests.at(-1)?.outcome === "aborted");
  await until("the only place to be free again", async () => {
    const next = await client.callTool({ name: "llm_generate", arguments: { prompt: "again", max_tokens: 2 } });
    return next["isError"] === false;
  });

  const { structuredContent } = await client.callTool({ name: "llm_models", arguments: {} });
  const [first] = (structuredContent as { readonly models: readonly Record<string, unknown>[] }).models;
  assert.deepEqual([first?.["name"], first?.["installed"], first?.["loaded"]], ["tinyllama", true, true]);
});

Deno.test("a caller that disconnects stops the model, before its first token and after", async () => {
  const { promise: inSentence, resolve: reachedSentence } = Promise.withResolvers<void>();
  await using ollama = await startOllama({
    models: [
      { name: "phi3", beforeToken: () => never },
      {
        name: "tinyllama",
        answer: () => words,
        beforeToken: (index) => index < 20 ? now : (reachedSentence(), never),
      },
    ],
  });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  for (const model of ["phi3", "tinyllama"]) {
    const before = ollama.requests.length;
    const controller = new AbortController();
    const { message, headers } = modernRequest("tools/call", {
      name: "llm_generate",
      arguments: { prompt: "x", model },
    });
    const call = postMcp(server.url, message, { token, headers, signal: controller.signal }).then(
      (response) => response.body?.cancel(),
      () => {},
    );
    await ollama.until((requests) => requests.length > before);
    if (model === "tinyllama") await inSentence;
    controller.abort();
    await call;
    await ollama.until((requests) => requests.at(-1)?.outcome === "aborted");
  }
});

Deno.test("an answer that breaks off reaches a real client as far as it came, and the result of a task too", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], script: () => "cut_without_final" });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  await using client = await connect(server, token);
  // From here on the client checks structured content against the schema.
  const { tools } = await client.listTools() as { tools: readonly { name: string; inputSchema: unknown }[] };
  assert.ok(tools.some(({ name }) => name === "llm_generate"));
  for (const { name, inputSchema } of tools) {
    assert.doesNotMatch(JSON.stringify(inputSchema), /"(const|propertyNames|\$ref)":/, `Gemini refuses ${name}`);
  }
  const { message, headers } = modernRequest("tools/call", longAnswer, tasksCapability);
  const task = (await (await postMcp(server.url, message, { token, headers })).json()).result;
  const ofTask = await until("the task to end", async () => {
    const look = modernRequest("tasks/get", { taskId: task.taskId }, tasksCapability);
    const seen = await (await postMcp(server.url, look.message, { token, headers: look.headers })).json();
    return seen.result.status === "working" ? null : seen.result.result;
  });
  for (const result of [await client.callTool(longAnswer), ofTask]) {
    const [reason, text] = result["content"] as { text: string }[];
    const { text: written, truncated, problem } = result["structuredContent"] as Record<string, unknown>;
    assert.equal(result["isError"], true);
    assert.match(reason?.text ?? "", /broke off in the middle of its answer.*What the model wrote follows\.$/);
    assert.deepEqual([text?.text, written, truncated], ["Once upon", "Once upon", true]);
    assert.equal((problem as { code: string }).code, "truncated");
  }
});

Deno.test("a model reads workspace files in the caller's place, under files:read", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  Deno.writeTextFileSync(`${place.workspaceDir}/app.log`, "start\nERROR disk full\n");
  const input = { prompt: "What failed?", files: ["app.log:-1"] };
  const create = async (...more: string[]): Promise<string> =>
    (await runCommand(["token", "create", "--data-dir", place.dataDir, ...more])).stdout.trim();
  const both = await create("--scope", "llm:generate files:read");
  const call = async (token: string) =>
    (await (await postMcp(server.url, toolCall("llm_generate", input), { token })).json()).result;
  const { isError, content } = await call(both);
  assert.deepEqual([isError, content], [false, [{
    type: "text",
    text: 'tinyllama heard: <file name="app.log:-1">\nERROR disk full\n</file>\n\nWhat failed?',
  }]]);
  const refused = await call(await create("--scope", "llm:generate"));
  assert.equal(refused.isError, true);
  assert.match(refused.content[0].text, /needs the scope files:read/);
  assert.equal(ollama.requests.filter(({ path }) => path === "/api/generate").length, 1);
});

Deno.test("a generation ends before TOOL_TIMEOUT, so that the caller still gets what the model wrote", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => words, beforeToken: (index) => index < 5 ? now : never }],
  });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url, TOOL_TIMEOUT: "8" } });
  const { result } = await (await postMcp(server.url, toolCall("llm_generate", longAnswer.arguments), { token }))
    .json();
  const { isError, content, structuredContent: { truncated, problem } } = result;
  assert.deepEqual([isError, content[1].text.trim(), truncated, problem.code], [true, five, true, "timeout_total"]);
});

Deno.test("ServiceNow is shown the flat parameters of llm_generate", async () => {
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1", COMPATIBILITY: "servicenow" } });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const { tools } = (await (await postMcp(server.url, list, { token })).json()).result;
  const { inputSchema } = tools.find(({ name }: { name: string }) => name === "llm_generate");
  assert.deepEqual(Object.keys(inputSchema.properties), ["prompt", "model", "system", "json_schema", "max_tokens"]);
  assert.deepEqual([inputSchema.required, inputSchema.properties.model.default], [["prompt"], "tinyllama"]);
});

Deno.test("a server that stops gives its callers what the model wrote, and keeps it as the result of a task", async () => {
  const { promise: inSentence, resolve: reachedSentence } = Promise.withResolvers<void>();
  let waiting = 0;
  await using ollama = await startOllama({
    models: [{
      name: "tinyllama",
      answer: () => words,
      beforeToken(index) {
        if (index < 5) return now;
        if (++waiting === 2) reachedSentence();
        return never;
      },
    }],
  });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  const env = { OLLAMA_HOST: ollama.url, SHUTDOWN_TIMEOUT: "4" };
  const server = await startServer(place, { env });
  const begin = modernRequest("tools/call", longAnswer, tasksCapability);
  const task = (await (await postMcp(server.url, begin.message, { ...begin, token })).json()).result;
  const plain = modernRequest("tools/call", longAnswer);
  const call = postMcp(server.url, plain.message, { ...plain, token }).then((response) => response.json());
  await inSentence;
  await server.stop("SIGTERM");
  const ofCall = (await call).result;

  await using next = await startServer(place, { env });
  const look = modernRequest("tasks/get", { taskId: task.taskId }, tasksCapability);
  const seen = (await (await postMcp(next.url, look.message, { ...look, token })).json()).result;
  assert.equal(seen.status, "completed");
  for (const { isError, content, structuredContent } of [ofCall, seen.result]) {
    assert.equal(isError, false);
    assert.equal(content[0].text.trim(), five);
    assert.match(content[1].text, /^\[The server stops/);
    assert.deepEqual([structuredContent.truncated, structuredContent.problem.code], [true, "server_stopping"]);
  }
});

Deno.test("a caller that does not read its stream does not hold up another's", async () => {
  const long = `${"x".repeat(1000)} `.repeat(400);
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => long }] });
  await using place = await makeServerPlace();
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const input = { prompt: "speak", max_tokens: 4096 };
  const slow = await postMcp(server.url, watched("slow", input), { token }); // and nothing of it is read
  for (let round = 0; round < 4; round++) {
    const text = await (await postMcp(server.url, watched("fast", input), { token })).text();
    assert.ok(text.includes(long.slice(0, 5000)) && text.includes('"isError":false'));
  }
  assert.ok((await slow.text()).includes('"isError":false'), "the slow reader gets its whole answer in the end");
});

/** A call with a progress token. */
function watched(token: string, input: Record<string, unknown>): Record<string, unknown> {
  const message = toolCall("llm_generate", input, token);
  return { ...message, params: { ...message["params"] as object, _meta: { progressToken: token } } };
}

Deno.test("a long answer becomes a task for a client that takes tasks: polled to its end, or cancelled with its model", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => "word ".repeat(40) }] });
  const release = ollama.hold();
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
  const look = () => request("tasks/get", { taskId: begun.taskId }, begun.taskId);
  assert.equal((await look()).status, "working");
  release();
  const view = await until("the task to end", async () => {
    const seen = await look();
    return seen.status === "working" ? null : seen;
  });
  assert.equal(view.status, "completed");
  assert.equal(view.result.structuredContent.text.trim(), "word ".repeat(40).trim());

  ollama.hold();
  const before = ollama.requests.length; // the start has asked which models there are, too
  const second = await request("tools/call", input, "llm_generate");
  await ollama.until((requests) => requests.length > before);
  await request("tasks/cancel", { taskId: second.taskId }, second.taskId);
  await ollama.until((requests) => requests.at(-1)?.outcome === "aborted");
});

const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "patient", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};
