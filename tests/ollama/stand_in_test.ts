/** The stand-in against the observed contract, row by row, by plain requests. */
import assert from "node:assert/strict";
import { startOllama } from "../fixtures/ollama.ts";

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers });

const models = [
  { name: "tinyllama" },
  { name: "thinker:1b", capabilities: ["completion", "tools", "thinking", "vision"], thinking: "Let me see." },
  { name: "small", contextLength: 20 },
  { name: "all-minilm", capabilities: ["embedding"] },
];

const long = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");

Deno.test("the stand-in Ollama cuts a long prompt in silence, keeping its start and its end, as a real one does", async () => {
  await using ollama = await startOllama({ models });
  const generate = async (more: object) =>
    await (await post(`${ollama.url}/api/generate`, { model: "small", prompt: long, stream: false, ...more })).json();
  const { response, prompt_eval_count, error } = await generate({});
  assert.equal(error, undefined);
  assert.equal(prompt_eval_count, 13);
  assert.ok(response.startsWith("small heard: word0 word1 word2 word3 word4 word32"), response);
  assert.ok(response.endsWith("word39"), response);
  assert.match((await generate({ truncate: false })).error, /exceeds the available context size/);

  const full = await generate({ prompt: "a b c d e f g h i j k l", shift: false });
  assert.deepEqual([full.done_reason, full.prompt_eval_count, full.eval_count], ["length", 12, 8]);
  const shifted = await generate({ prompt: "a b c d e f g h i j k l" });
  assert.deepEqual([shifted.done_reason, shifted.eval_count], ["stop", 14]);
});

Deno.test("the stand-in Ollama refuses as a real one was observed to", async () => {
  await using ollama = await startOllama({ models });
  const rows: readonly (readonly [path: string, body: unknown, status: number, error: RegExp | string])[] = [
    ["generate", { model: "nope", prompt: "x" }, 404, "model 'nope' not found"],
    ["chat", { model: "nope", messages: [] }, 404, "model 'nope' not found"],
    ["embed", { model: "nope", input: "x" }, 404, 'model "nope" not found, try pulling it first'],
    ["generate", { model: "a b", prompt: "x" }, 400, "invalid model name"],
    ["generate", "{", 400, "unexpected EOF"],
    ["generate", "", 400, "missing request body"],
    ["generate", { model: "tinyllama", prompt: "x", options: { temperature: "hot" } }, 500, /must be of type float32/],
    ["generate", { model: "tinyllama", prompt: "x", options: { seed: "one" } }, 500, /must be of type integer/],
    [
      "generate",
      { model: "tinyllama", prompt: "x", format: "xml" },
      500,
      String.raw`invalid format: "\"xml\""; expected "json" or a valid JSON Schema object`,
    ],
    ["generate", { model: "", prompt: "x" }, 404, "model '' not found"],
    ["show", { model: "nope" }, 404, "model 'nope:latest' not found"],
    ["generate", { model: "all-minilm", prompt: "x" }, 400, '"all-minilm" does not support generate'],
    ["embed", { model: "all-minilm", input: [1] }, 400, "invalid input type"],
    ["embed", { model: "tinyllama", input: "x" }, 501, /^This server does not support embeddings\. Start it with `/],
    ["generate", { model: "thinker:1b", prompt: "x", think: "most" }, 400, /^invalid think value: "most" \(must be/],
    ["generate", { model: "tinyllama", prompt: "x", think: true }, 400, '"tinyllama" does not support thinking'],
    [
      "generate",
      { model: "tinyllama", prompt: "x", suffix: "y" },
      400,
      "registry.ollama.ai/library/tinyllama:latest does not support insert",
    ],
    ["chat", { model: "tinyllama", messages: [{ role: "user", content: "x" }], tools: [{}] }, 400, /support tools/],
    [
      "generate",
      { model: "small", prompt: long, truncate: false },
      400,
      /^\{"error":\{.*\(40 tokens\) exceeds .*"n_ctx":20/,
    ],
    ["generate", { model: "tinyllama", prompt: "x", images: ["AAAA"] }, 400, /^\{"error":\{.*image input is not/],
    ["generate", { model: "tinyllama", prompt: "x", format: { type: "nonsense" } }, 400, /schema conversion failed/],
  ];
  for (const [path, body, status, error] of rows) {
    const response = await post(`${ollama.url}/api/${path}`, body);
    const { error: said } = await response.json();
    assert.equal(response.status, status, JSON.stringify(body));
    if (typeof error === "string") assert.equal(said, error);
    else assert.match(said, error);
  }
  const route = await fetch(`${ollama.url}/api/nothing`);
  assert.deepEqual([route.status, route.headers.get("content-type")], [404, "text/plain"]);
  await route.body?.cancel();
  const verb = await fetch(`${ollama.url}/api/generate`);
  assert.deepEqual([verb.status, verb.headers.get("content-type")], [405, "text/plain"]);
  await verb.body?.cancel();
  const foreign = await post(`${ollama.url}/api/generate`, {}, { origin: "https://evil.example" });
  assert.deepEqual([foreign.status, await foreign.text()], [403, ""]);
});

Deno.test("the stand-in Ollama streams deltas and a final line, and loads and unloads by an empty prompt", async () => {
  await using ollama = await startOllama({ models });
  const response = await post(`${ollama.url}/api/generate`, { model: "tinyllama", prompt: "a b", unknown_field: 1 });
  assert.equal(response.headers.get("content-type"), "application/x-ndjson");
  const lines = (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => line.response), ["tinyllama", " heard:", " a", " b", ""]);
  assert.deepEqual(lines.map((line) => line.done), [false, false, false, false, true]);
  const { done_reason, prompt_eval_count, eval_count, context } = lines.at(-1);
  assert.deepEqual([done_reason, prompt_eval_count, eval_count, Array.isArray(context)], ["stop", 2, 4, true]);

  const load = await post(`${ollama.url}/api/generate`, { model: "tinyllama" });
  assert.match(load.headers.get("content-type") ?? "", /^application\/json/);
  const loadText = await load.text();
  assert.ok(!loadText.endsWith("\n"));
  assert.equal(JSON.parse(loadText).done_reason, "load");
  const loaded = await (await fetch(`${ollama.url}/api/ps`)).json();
  assert.deepEqual(loaded.models.map((it: { name: string }) => it.name), ["tinyllama:latest"]);
  const unload = await (await post(`${ollama.url}/api/generate`, { model: "tinyllama", keep_alive: 0 })).json();
  assert.equal(unload.done_reason, "unload");
  assert.deepEqual(await (await fetch(`${ollama.url}/api/ps`)).json(), { models: [] });
});

Deno.test("the stand-in Ollama chats: whole or streamed, with thinking and tool calls", async () => {
  await using ollama = await startOllama({ models });
  const messages = [{ role: "user", content: "rain?" }];
  const chat = { model: "thinker:1b", messages, stream: false };
  const whole = await (await post(`${ollama.url}/api/chat`, { ...chat, think: false })).json();
  assert.deepEqual(whole.message, { role: "assistant", content: "thinker heard: rain?" });
  const thought = await (await post(`${ollama.url}/api/chat`, chat)).json(); // as a real one does unless told not to
  assert.equal(thought.message.thinking, "Let me see.");
  const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }];
  const called = await (await post(`${ollama.url}/api/chat`, { model: "thinker:1b", messages, tools, stream: false }))
    .json();
  assert.deepEqual(called.message.tool_calls, [
    { id: "call_stand_in", function: { name: "get_weather", arguments: { query: "rain?" } } },
  ]);
});

Deno.test("the stand-in Ollama never stops when asked for no tokens, and queues as far as it is told", async () => {
  await using ollama = await startOllama({ models, parallel: 1, maxQueue: 1 });
  const controller = new AbortController();
  const endless = await fetch(`${ollama.url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ model: "tinyllama", prompt: "go", options: { num_predict: 0 } }),
    signal: controller.signal,
  });
  const reader = endless.body?.getReader();
  await reader?.read();
  const queued = post(`${ollama.url}/api/generate`, { model: "tinyllama", prompt: "second" });
  await ollama.until((requests) => requests.length === 2);
  const refused = await post(`${ollama.url}/api/generate`, { model: "tinyllama", prompt: "third" });
  assert.deepEqual([refused.status, (await refused.json()).error.slice(0, 11)], [503, "server busy"]);
  controller.abort();
  await reader?.cancel().catch(() => {});
  assert.match(await (await queued).text(), /second/);
});

Deno.test("the stand-in Ollama lists, shows and embeds", async () => {
  await using ollama = await startOllama({ models });
  assert.equal(await (await fetch(ollama.url)).text(), "Ollama is running");
  assert.deepEqual(await (await fetch(`${ollama.url}/api/version`)).json(), { version: "0.33.0" });
  const shown = await (await post(`${ollama.url}/api/show`, { model: "thinker:1b" })).json();
  assert.deepEqual(shown.capabilities, ["completion", "tools", "thinking", "vision"]);
  const { embeddings } = await (await post(`${ollama.url}/api/embed`, { model: "all-minilm", input: ["a", "b"] }))
    .json();
  assert.equal(embeddings.length, 2);
  for (const vector of embeddings) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-9);
});
