/**
 * `deno task test:ollama`: the tools and the stand-in against a real Ollama at OLLAMA_HOST, with whatever models it has.
 * What a machine cannot show is skipped, and its name says why. No part of `deno task test`.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { environmentHasProxy } from "../../src/ollama/direct_fetch.ts";
import { parseOllamaHosts } from "../../src/ollama/host.ts";
import { createAdmission } from "../../src/ollama/admission.ts";
import { createOllamaClient } from "../../src/ollama/client.ts";
import { defaultOllamaLimits } from "../../src/ollama/limits.ts";
import { createLocalModel } from "../../src/ollama/local_model.ts";
import { success } from "../../src/lib/result.ts";
import { llmChatTool } from "../../src/tools/llm_chat.ts";
import { llmEmbedTool } from "../../src/tools/llm_embed.ts";
import { llmGenerateTool } from "../../src/tools/llm_generate.ts";
import { llmModelsTool } from "../../src/tools/llm_models.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { callTool, codeOf, noSignal, structured, testContext } from "../fixtures/ollama_calls.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { shapeOf, shapeProblems } from "./shape.ts";

const hosts = parseOllamaHosts(process.env["OLLAMA_HOST"] ?? "");
if (!hosts.ok) throw new Error(`OLLAMA_HOST: ${hosts.error.join("; ")}`);
const [host] = hosts.value;
if (host === undefined) throw new Error("OLLAMA_HOST names no host");
const apiKey = process.env["OLLAMA_API_KEY"];
const clock = (): number => performance.now();
const limits = defaultOllamaLimits;
const avoidProxy = environmentHasProxy((name) => process.env[name]);
const createClient = () =>
  createOllamaClient({ host, fetch, avoidProxy, clock, limits, ...(apiKey === undefined ? {} : { apiKey }) });

const probe = createClient();
const installed = await probe.tags(noSignal());
probe.close();
const capabilities = new Map<string, readonly string[]>();
for (const { name } of installed.ok ? installed.value : []) {
  const response = await real("show", { model: name });
  const { capabilities: known = ["completion"] } = await response.json();
  capabilities.set(name, known);
}
const having = (capability: string): string | undefined =>
  [...capabilities].find(([, known]) => known.includes(capability))?.[0];
const writer = having("completion");

/** A test that needs something of the machine: without it, it is skipped and says so. */
function show(name: string, needed: string | undefined, what: string, run: (model: string) => Promise<void>): void {
  const reason = installed.ok ? `SKIPPED: no model with ${what}` : `SKIPPED: ${installed.error.message}`;
  Deno.test({
    name: needed === undefined ? `${name} (${reason})` : `${name} (${needed})`,
    ignore: needed === undefined,
    fn: () => run(needed ?? ""),
  });
}

function real(path: string, body?: unknown): Promise<Response> {
  return fetch(`${host?.baseUrl}api/${path}`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    ...(body === undefined ? {} : { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** The tools over one model of the real server. */
function toolsFor(model: string) {
  const client = createClient();
  const local = createLocalModel({
    clients: [client],
    admission: createAdmission(limits),
    limits,
    clock,
    random: Math.random,
  });
  const pixel = Uint8Array.from(atob(redPixel), (it) => it.charCodeAt(0));
  const options = { model: local, models: [model], clock, readImage: () => Promise.resolve(success(pixel)) } as const;
  return {
    generate: llmGenerateTool(options),
    chat: llmChatTool(options),
    models: llmModelsTool(options),
    embed: llmEmbedTool({ model: local, embeddingModels: [model] }),
    [Symbol.dispose]: () => client.close(),
  };
}

const redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

show("llm_generate streams an answer whose progress adds up to it", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const context = testContext();
  const outcome = await callTool(
    tools.generate,
    { prompt: "Count from one to ten in words.", max_tokens: 64 },
    context,
  );
  const { text, completion_tokens, prompt_tokens } = structured(outcome);
  assert.notEqual(text, "");
  assert.ok(Number(completion_tokens) > 0 && Number(prompt_tokens) > 0);
  const spoken = context.updates.filter((update) => update.message !== "waiting for the model");
  assert.equal(spoken.map((update) => update.message ?? "").join(""), text);
});

show("llm_generate says that an answer was cut", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const outcome = await callTool(tools.generate, { prompt: "Tell a very long story.", max_tokens: 3, temperature: 0 });
  assert.deepEqual([structured(outcome)["truncated"], structured(outcome)["done_reason"]], [true, "length"]);
});

show("the same seed gives the same answer", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const input = { prompt: "Name a colour.", max_tokens: 16, seed: 7, temperature: 0 };
  const answers = [await callTool(tools.generate, input), await callTool(tools.generate, input)];
  assert.equal(structured(answers[0] ?? assert.fail())["text"], structured(answers[1] ?? assert.fail())["text"]);
});

show("an answer follows a JSON schema", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const format = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
  const prompt = "Ann is 22 years old. Answer with JSON that holds her age.";
  const outcome = await callTool(tools.generate, { prompt, format, max_tokens: 256, temperature: 0 });
  assert.ok(outcome.ok || ["truncated", "model_failed"].includes(outcome.code), codeOf(outcome));
  if (outcome.ok) assert.equal(typeof (structured(outcome)["parsed"] as { age: unknown }).age, "number");
});

show("cancelling in mid-sentence ends the call within a second", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const controller = new AbortController();
  let cancelled = 0;
  const context: ToolContext = {
    ...testContext({ signal: controller.signal }),
    progress(update) {
      if (update.progress < 1 || cancelled > 0) return;
      cancelled = clock();
      controller.abort();
    },
  };
  const outcome = await callTool(tools.generate, { prompt: "Tell a very long story.", max_tokens: 4096 }, context);
  assert.equal(codeOf(outcome), "cancelled");
  assert.ok(clock() - cancelled < 1000);
});

show("llm_chat continues a conversation", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Say hello." }];
  assert.notEqual(structured(await callTool(tools.chat, { messages, max_tokens: 32 }))["text"], "");
});

show("llm_models lists the model", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const { models } = structured(await callTool(tools.models, {})) as { models: { name: string; installed: boolean }[] };
  assert.equal(models.find((it) => it.name === model)?.installed, true);
});

show("a model that is missing is told with the command that gets it", writer, "completion", async () => {
  using tools = toolsFor("no-such-model-here");
  assert.equal(codeOf(await callTool(tools.generate, { prompt: "x" })), "model_not_installed");
});

show("llm_chat passes tool calls through", having("tools"), "tools", async (model) => {
  using tools = toolsFor(model);
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const outcome = await callTool(tools.chat, {
    messages: [{ role: "user", content: "What is the weather in Paris? Use the tool." }],
    tools: [{ type: "function", function: { name: "get_weather", description: "Tells the weather", parameters } }],
    temperature: 0,
  });
  const calls = structured(outcome)["tool_calls"] as { function: { name: string } }[] | undefined;
  if (calls !== undefined) assert.equal(calls[0]?.function.name, "get_weather");
});

show("thinking is kept apart from the answer", having("thinking"), "thinking", async (model) => {
  using tools = toolsFor(model);
  const outcome = await callTool(tools.generate, { prompt: "What is 5 + 3?", think: true, max_tokens: 1024 });
  assert.equal(typeof structured(outcome)["thinking"], "string");
});

show("an image from a file is looked at", having("vision"), "vision", async (model) => {
  using tools = toolsFor(model);
  const context = testContext({ scopes: ["llm:generate", "files:read"] });
  const input = { prompt: "What colour is this?", images: ["red.png"], max_tokens: 32 };
  assert.notEqual(structured(await callTool(tools.generate, input, context))["text"], "");
});

show("llm_embed answers vectors", having("embedding"), "embedding", async (model) => {
  using tools = toolsFor(model);
  const { embeddings } = structured(await callTool(tools.embed, { texts: ["red", "blue"] })) as {
    embeddings: number[][];
  };
  assert.equal(embeddings.length, 2);
  assert.equal(embeddings[0]?.length, embeddings[1]?.length);
});

show("the stand-in answers in the shapes of this server", writer, "completion", async (model) => {
  await using standIn = await startOllama({ models: [{ name: model }] });
  const messages = [{ role: "user", content: "hello" }];
  const options = { num_predict: 4 };
  const requests: readonly (readonly [path: string, body?: unknown])[] = [
    ["generate", { model, prompt: "hello", options }],
    ["chat", { model, messages, options }],
    ["generate", { model }],
    ["tags"],
    ["ps"],
    ["version"],
  ];
  for (const [path, body] of requests) {
    const ours = await fetch(
      `${standIn.url}/api/${path}`,
      body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    );
    const theirs = await real(path, body);
    assert.equal(ours.headers.get("content-type"), theirs.headers.get("content-type"), path);
    const [ourLines, theirLines] = [await linesOf(ours), await linesOf(theirs)];
    for (const at of [0, -1]) {
      const problems = shapeProblems(shapeOf(ourLines.at(at)), shapeOf(theirLines.at(at)), path);
      assert.deepEqual(problems, [], "what the stand-in sends and the server does not");
    }
  }
});

show(
  "the stand-in refuses with the status and the kind of body of this server",
  writer,
  "completion",
  async (model) => {
    await using standIn = await startOllama({ models: [{ name: model, capabilities: capabilities.get(model) ?? [] }] });
    const prompt = "hello";
    const rows: readonly (readonly [path: string, init: RequestInit])[] = [
      ["api/generate", post({ model: "nope", prompt })],
      ["api/chat", post({ model: "nope", messages: [{ role: "user", content: prompt }] })],
      ["api/embed", post({ model: "nope", input: prompt })],
      ["api/generate", post("{")],
      ["api/generate", post({ model, prompt, options: { temperature: "hot" } })],
      ["api/generate", post({ model, prompt, format: "xml" })],
      ["api/nothing", {}],
      ["api/generate", {}],
      ["api/generate", { ...post({ model, prompt }), headers: { origin: "https://evil.example" } }],
      ...(capabilities.get(model)?.includes("thinking")
        ? []
        : [["api/generate", post({ model, prompt, think: true })] as const]),
    ];
    for (const [path, init] of rows) {
      const ours: Response = await fetch(`${standIn.url}/${path}`, init);
      const theirs: Response = await fetch(`${host.baseUrl}${path}`, init);
      const told = `${path} ${String(init.body ?? "")}`;
      assert.equal(ours.status, theirs.status, told);
      assert.deepEqual(shapeOf(parse(await ours.text())), shapeOf(parse(await theirs.text())), told);
    }
  },
);

function post(body: unknown): RequestInit {
  return { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
}

async function linesOf(response: Response): Promise<unknown[]> {
  return (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
