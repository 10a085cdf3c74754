import assert from "node:assert/strict";
import { failure, success } from "../../src/lib/result.ts";
import { llmChatTool } from "../../src/tools/llm/llm_chat.ts";
import type { ReadImage } from "../../src/tools/llm/image.ts";
import { llmGenerateTool } from "../../src/tools/llm/llm_generate.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { callTool, codeOf, messageOf, noImages, structured, testContext, testModel } from "../fixtures/ollama_calls.ts";

const clock = (): number => performance.now();
const models = ["thinker", "tinyllama"] as const;
const installed = [
  {
    name: "thinker",
    capabilities: ["completion", "tools", "thinking", "vision"],
    thinking: "Let me see.",
    answer: (prompt: string) => `I heard ${prompt}`,
  },
  { name: "tinyllama" },
];
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tells the weather",
    parameters: { type: "object", properties: { query: { type: "string" } } },
  },
};

Deno.test("llm_chat sends the whole conversation and answers with the next message", async () => {
  await using ollama = await startOllama({ models: installed });
  using local = testModel(ollama.url);
  const tool = llmChatTool({ model: local.model, models, readImage: noImages, clock });
  const context = testContext();
  const outcome = await callTool(tool, {
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: "hello" },
      { role: "assistant", content: "hi", thinking: "a greeting" },
      { role: "user", content: "rain?" },
    ],
    think: true,
    temperature: 0,
  }, context);
  const { text, thinking, model, completion_tokens } = structured(outcome);
  assert.deepEqual([text, thinking, model], ["I heard be brief\nhello\nhi\nrain?", "Let me see.", "thinker"]);
  const sent = ollama.requests[0]?.json;
  assert.equal(ollama.requests[0]?.path, "/api/chat");
  assert.deepEqual(sent?.["messages"], [
    { role: "system", content: "be brief" },
    { role: "user", content: "hello" },
    { role: "assistant", content: "hi", thinking: "a greeting" },
    { role: "user", content: "rain?" },
  ]);
  assert.deepEqual([sent?.["think"], sent?.["stream"]], [true, true]);
  assert.equal(context.updates.map((update) => update.message ?? "").join(""), text);
  assert.equal(context.updates.at(-1)?.progress, completion_tokens);
});

Deno.test("llm_chat passes tool calls through to the caller, and their results to the model", async () => {
  await using ollama = await startOllama({ models: installed });
  using local = testModel(ollama.url);
  const tool = llmChatTool({ model: local.model, models, readImage: noImages, clock });
  const asked = { role: "user", content: "rain?" };
  const first = await callTool(tool, { messages: [asked], tools: [weather], format: "json" });
  const calls = [{ id: "call_stand_in", function: { name: "get_weather", arguments: { query: "rain?" } } }];
  assert.deepEqual(structured(first)["tool_calls"], calls);
  assert.ok(first.ok);
  assert.deepEqual(first.content, [{ type: "text", text: JSON.stringify(calls) }]);
  assert.deepEqual(ollama.requests[0]?.json?.["tools"], [weather]);
  const second = await callTool(tool, {
    messages: [
      asked,
      { role: "assistant", tool_calls: calls },
      { role: "tool", tool_name: "get_weather", tool_call_id: "call_stand_in", content: "sunny" },
    ],
  });
  assert.equal(structured(second)["text"], "I heard rain?\n\nsunny");
  const [, ...sent] = ollama.requests[1]?.json?.["messages"] as unknown[];
  assert.deepEqual(sent, [
    { role: "assistant", content: "", tool_calls: calls },
    { role: "tool", content: "sunny", tool_name: "get_weather", tool_call_id: "call_stand_in" },
  ]);
  const unable = await callTool(tool, { messages: [asked], tools: [weather], model: "tinyllama" });
  assert.equal(codeOf(unable), "invalid_request");
  assert.match(messageOf(unable), /^tinyllama does not support tools: leave out tools, or use another model/);
});

Deno.test("llm_chat refuses conversations outside its bounds", async () => {
  await using ollama = await startOllama({ models: installed });
  using local = testModel(ollama.url, { maxPromptBytes: 200 });
  const tool = llmChatTool({ model: local.model, models, readImage: noImages, clock });
  const deep = JSON.parse(`{"a":${"[".repeat(500)}${"]".repeat(500)}}`);
  const hello = { role: "user", content: "hello" };
  for (
    const input of [
      {},
      { messages: [] },
      { messages: Array.from({ length: 101 }, () => hello) },
      { messages: [{ role: "root", content: "x" }] },
      { messages: [hello], tools: [{ type: "function", function: { name: "has space" } }] },
      { messages: [hello], tools: [{ type: "function", function: { name: "deep", parameters: deep } }] },
      { messages: [{ role: "assistant", tool_calls: [{ function: { name: "x", arguments: deep } }] }] },
    ]
  ) assert.equal(tool.input.safeParse(input).success, false, JSON.stringify(input).slice(0, 80));
  const long = await callTool(tool, { messages: [{ role: "user", content: "x".repeat(200) }] });
  assert.equal(codeOf(long), "invalid_request");
  assert.equal(ollama.requests.length, 0);
});

Deno.test("images come from workspace files by name, under files:read, and only if they are images", async () => {
  await using ollama = await startOllama({ models: installed });
  using local = testModel(ollama.url);
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2]);
  const asked: string[] = [];
  const readImage: ReadImage = ({ subject }, filename) => {
    asked.push(`${subject}:${filename}`);
    if (filename === "cat.png") return Promise.resolve(success(png));
    if (filename === "notes.txt") return Promise.resolve(success(new TextEncoder().encode("secret notes")));
    return Promise.resolve(failure({ code: "not_found", message: `Failed to read file: no such file (${filename})` }));
  };
  const generate = llmGenerateTool({ model: local.model, models, readImage, clock });
  const chat = llmChatTool({ model: local.model, models, readImage, clock });
  const allowed = testContext({ scopes: ["llm:generate", "files:read"] });

  assert.ok((await callTool(generate, { prompt: "what?", images: ["cat.png"] }, allowed)).ok);
  assert.deepEqual(ollama.requests[0]?.json?.["images"], [btoa(String.fromCharCode(...png))]);
  assert.deepEqual(asked, ["owner:cat.png"]);
  const messages = [{ role: "user", content: "what?", images: ["cat.png"] }];
  assert.ok((await callTool(chat, { messages }, allowed)).ok);
  const sent = ollama.requests[1]?.json?.["messages"] as { images: string[] }[];
  assert.equal(sent[0]?.images.length, 1);

  const text = await callTool(generate, { prompt: "what?", images: ["notes.txt"] }, allowed);
  assert.match(messageOf(text), /"notes\.txt" is not a PNG/);
  const missing = await callTool(generate, { prompt: "what?", images: ["dog.png"] }, allowed);
  assert.equal(codeOf(missing), "not_found");
  const before = asked.length;
  const forbidden = await callTool(generate, { prompt: "what?", images: ["cat.png"] });
  assert.equal(codeOf(forbidden), "insufficient_scope");
  assert.equal(asked.length, before, "nothing is read without the scope");
  const many = Array.from({ length: 3 }, () => ({ role: "user", images: ["cat.png", "cat.png", "cat.png"] }));
  assert.match(messageOf(await callTool(chat, { messages: many }, allowed)), /may hold 8 images/);
  const blind = await callTool(generate, { prompt: "what?", images: ["cat.png"], model: "tinyllama" }, allowed);
  assert.match(messageOf(blind), /^Image input is not supported by tinyllama: leave out images, or use another model/);
});
