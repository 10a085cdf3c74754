import assert from "node:assert/strict";
import { z } from "zod";
import type { Tool, ToolContext } from "../../src/mcp/tool.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { defaultProgressPace, type ProgressPace } from "../../src/llm/ask.ts";
import { type StandInOllama, startOllama } from "../fixtures/ollama.ts";
import {
  callTool as call,
  codeOf,
  messageOf,
  type ModelChanges,
  noWorkspace,
  parseInput,
  structured,
  testContext,
  testModel,
} from "../fixtures/ollama_calls.ts";
import { until } from "../fixtures/until.ts";

const clock = (): number => performance.now();

function toolFor(
  ollama: StandInOllama,
  { limits = {}, pace = defaultProgressPace }: { limits?: ModelChanges; pace?: ProgressPace } = {},
): { readonly tool: Tool; readonly occupancy: () => { inFlight: number; waiting: number } } & Disposable {
  const local = testModel(ollama.url, limits);
  return {
    tool: llmGenerateTool({ model: local.model, models: ["tinyllama", "phi3"], workspace: noWorkspace, clock, pace }),
    occupancy: local.occupancy,
    [Symbol.dispose]: () => local[Symbol.dispose](),
  };
}

Deno.test("llm_generate answers with text and structured content", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }, { name: "phi3" }] });
  using it = toolFor(ollama);
  const outcome = await call(it.tool, { prompt: "hello there", model: "phi3" });
  const { duration_ms, ...rest } = structured(outcome);
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.content, [{ type: "text", text: "phi3 heard: hello there" }]);
  assert.equal(typeof duration_ms, "number");
  assert.deepEqual(rest, {
    text: "phi3 heard: hello there",
    model: "phi3",
    done_reason: "stop",
    truncated: false,
    prompt_tokens: 2,
    completion_tokens: 4,
    load_ms: 0,
    tokens_per_second: 1000,
  });
});

Deno.test("llm_generate advertises the operator's models, asks the first by default, and understands tinylama", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  const schema = z.toJSONSchema(it.tool.input, { io: "input" }) as {
    properties: Record<string, Record<string, unknown>>;
  };
  assert.deepEqual(schema.properties["model"]?.["enum"], ["tinyllama", "phi3"]);
  assert.equal(schema.properties["model"]?.["default"], "tinyllama");
  for (const property of Object.values(schema.properties)) assert.equal(typeof property["description"], "string");
  assert.deepEqual((schema as { required?: string[] }).required, ["prompt"]);
  const names = ["tinylama", "tinyllama:latest", "TinyLlama:Latest", "ollama/tinyllama", " tinyllama "];
  const named = names.map((model) => ({ prompt: "hi", model }));
  for (const input of [{ prompt: "hi" }, ...named]) {
    assert.equal(structured(await call(it.tool, input))["model"], "tinyllama");
  }
  assert.deepEqual(ollama.requests.map((request) => request.json?.["model"]), Array(6).fill("tinyllama"));
  for (const model of ["tinyllama:1b", "ollama/llama3", "tiny", "default"]) {
    assert.ok(!parseInput(it.tool, { prompt: "hi", model }).ok, model);
  }
});

Deno.test("llm_generate refuses input outside its bounds before anything is sent", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  for (
    const input of [
      {},
      { prompt: "" },
      { prompt: "x", model: "llama3" },
      { prompt: "x", model: "__proto__" },
      { prompt: "x", max_tokens: 0 },
      { prompt: "x", temperature: 2.1 },
      { prompt: "x", options: { temperature: 2.1 } },
      { prompt: "x", options: { tempreature: 1 } },
      { prompt: "x", options: { max_tokens: 0 } },
      { prompt: "x", temperature: 1, options: { temperature: 0 } },
      { prompt: "x", temperature: 1, options: "hot" },
      { prompt: "x", stop: Array.from({ length: 9 }, () => "a") },
      { prompt: "x", format: "xml" },
      { prompt: "x", files: Array.from({ length: 17 }, () => "a") },
      { prompt: "x", messages: Array.from({ length: 101 }, () => ({ role: "user", content: "x" })) },
      { prompt: "x", messages: [{ role: "root", content: "x" }] },
      { prompt: "x", messages: [{ role: "user", content: "x", name: "y" }] },
      { prompt: "x", keep_alive: -1 },
      { prompt: "x", keep_alive: "forever" },
      { prompt: "x", keep_alive: "999h" },
    ]
  ) assert.ok(!parseInput(it.tool, input).ok, JSON.stringify(input));
  const unclear = parseInput(it.tool, { prompt: "x", think: "no" });
  assert.match(unclear.ok ? "" : unclear.error, /think must be true, false, low, medium, high or max/);
  assert.equal(ollama.requests.length, 0);
});

Deno.test("llm_generate takes its options in one object, and by the names that they had beside it", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", capabilities: ["completion", "thinking"] }] });
  using it = toolFor(ollama);
  const options = { temperature: 0, seed: 7, top_p: 0.5, top_k: 10, stop: ["END"], think: "low", keep_alive: 60 };
  const { temperature, seed, ...others } = options;
  for (const input of [{ options }, options, { temperature, seed, options: { ...others, keep_alive: "1m" } }]) {
    await call(it.tool, { prompt: "x", max_tokens: 5, ...input });
  }
  for (const { json } of ollama.requests) {
    assert.deepEqual(json?.["options"], {
      num_predict: 5,
      temperature: 0,
      seed: 7,
      top_p: 0.5,
      top_k: 10,
      stop: ["END"],
    });
    assert.deepEqual([json?.["think"], json?.["keep_alive"]], ["low", 60]);
  }
  assert.equal(ollama.requests.length, 3);
});

Deno.test("llm_generate continues a conversation: system, earlier turns, then the prompt", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  const turns = [{ role: "user", content: "hello" }, { role: "assistant", content: "hi" }];
  const context = testContext();
  const outcome = await call(it.tool, { prompt: "rain?", system: "be brief", messages: turns }, context);
  assert.equal(structured(outcome)["text"], "tinyllama heard: be brief\nhello\nhi\nrain?");
  const [request] = ollama.requests;
  assert.equal(request?.path, "/api/chat");
  assert.deepEqual(request?.json?.["messages"], [
    { role: "system", content: "be brief" },
    ...turns,
    { role: "user", content: "rain?" },
  ]);
  assert.equal(context.updates.map((update) => update.message ?? "").join(""), structured(outcome)["text"]);
  using small = toolFor(ollama, { limits: { maxPromptBytes: 20 } });
  const long = await call(small.tool, { prompt: "x", messages: [{ role: "user", content: "y".repeat(20) }] });
  assert.match(messageOf(long), /21 bytes and may have 20/);
});

Deno.test("llm_generate says that an answer was cut at max_tokens", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => "one two three four" }] });
  using it = toolFor(ollama);
  const { text, truncated, done_reason } = structured(await call(it.tool, { prompt: "x", max_tokens: 2 }));
  assert.deepEqual([text, truncated, done_reason], ["one two", true, "length"]);
});

Deno.test("llm_generate parses JSON answers, and fails when they are none or cut", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama" }, { name: "phi3", answer: () => "I would rather not." }],
  });
  using it = toolFor(ollama);
  assert.deepEqual(structured(await call(it.tool, { prompt: "blue", format: "json" }))["parsed"], { answer: "blue" });
  const prose = await call(it.tool, { prompt: "blue", model: "phi3", format: "json" });
  assert.equal(codeOf(prose), "model_failed");
  const cut = await call(it.tool, { prompt: "blue and green", format: "json", max_tokens: 1 });
  assert.equal(codeOf(cut), "truncated");
  assert.match(messageOf(cut), /raise max_tokens/);
});

Deno.test("llm_generate keeps thinking apart and takes out control characters, and others that do not show", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  ollama.play("thinking_only", "control_characters");
  const thought = structured(await call(it.tool, { prompt: "x" }));
  assert.deepEqual([thought["text"], thought["thinking"]], ["", "Hm, well."]);
  const shown = "red [31malert2J\r\n\tend exe👩\u200d💻 zero می\u200cخواهم ❤\ufe0f";
  assert.equal(structured(await call(it.tool, { prompt: "x" }))["text"], shown);
});

Deno.test("llm_generate reports counts that the model left out as what it saw", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  ollama.play("missing_counts");
  const { duration_ms: _, ...rest } = structured(await call(it.tool, { prompt: "x" }));
  assert.deepEqual(rest, {
    text: "Once",
    model: "tinyllama",
    truncated: false,
    prompt_tokens: 0,
    completion_tokens: 1,
    load_ms: 0,
  });
});

Deno.test("llm_generate reports progress while the model speaks: growing, complete, and gathered", async () => {
  const context = testContext();
  const { updates } = context;
  await using ollama = await startOllama({
    models: [{
      name: "tinyllama",
      answer: () => "word ".repeat(60).trim(),
      async beforeToken(index) { // the half of an answer is told while the model thinks about the rest
        if (index === 30) await until("all words so far", () => updates.at(-1)?.progress === 30);
      },
    }],
  });
  using it = toolFor(ollama);
  const outcome = await call(it.tool, { prompt: "x", max_tokens: 200 }, context);
  assert.equal(updates.map((update) => update.message).join(""), structured(outcome)["text"]);
  updates.reduce((last, update) => (assert.ok(update.progress > last), update.progress), 0);
  assert.ok(updates.every((update) => update.total === 200));
  assert.equal(updates.at(-1)?.progress, structured(outcome)["completion_tokens"]);

  const gathered = testContext();
  await using quick = await startOllama({ models: [{ name: "tinyllama", answer: () => "word ".repeat(60).trim() }] });
  using leisurely = toolFor(quick, { pace: { ...defaultProgressPace, flushMs: 600_000 } });
  await call(leisurely.tool, { prompt: "x" }, gathered);
  assert.deepEqual(gathered.updates.map((update) => update.progress), [1, 60]);
});

Deno.test("llm_generate sends the first token at once, and an update early when a KB has gathered", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => `${"x".repeat(600)} `.repeat(10) }],
  });
  using it = toolFor(ollama, { pace: { ...defaultProgressPace, flushMs: 60_000 } });
  const context = testContext();
  await call(it.tool, { prompt: "x" }, context);
  assert.deepEqual(context.updates.map((update) => update.progress), [1, 3, 5, 7, 9, 11]);
});

Deno.test("llm_generate says that it waits while nothing comes", async () => {
  const context = testContext();
  await using ollama = await startOllama({
    models: [{
      name: "tinyllama",
      async beforeToken(index) {
        if (index === 0) await until("two signs of life", () => context.updates.length >= 2);
      },
    }],
  });
  using it = toolFor(ollama, { pace: { ...defaultProgressPace, waitingMs: 20 } });
  await call(it.tool, { prompt: "x" }, context);
  const signs = context.updates.filter((update) => update.message === "waiting for the model");
  assert.ok(signs.length >= 2);
  assert.ok(signs.every((update) => update.progress > 0 && update.progress < 1));
  context.updates.reduce((last, update) => (assert.ok(update.progress > last), update.progress), 0);
});

Deno.test("llm_generate stops the model and frees its place when the caller cancels in mid-sentence", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  ollama.play("slow_drip");
  using it = toolFor(ollama, { limits: { maxInFlight: 1, maxWaiting: 0 } });
  const controller = new AbortController();
  const context = testContext({ signal: controller.signal });
  const cut: ToolContext = { ...context, progress: () => controller.abort() };
  const outcome = await call(it.tool, { prompt: "x" }, cut);
  assert.equal(codeOf(outcome), "cancelled");
  assert.deepEqual(it.occupancy(), { inFlight: 0, waiting: 0 });
  await ollama.until((requests) => requests[0]?.outcome === "aborted");
  ollama.play("missing_counts");
  assert.ok((await call(it.tool, { prompt: "x" })).ok);
});

Deno.test("llm_generate gives up after timeout_ms, which cannot exceed the server's own limit", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], script: () => "silent" });
  // The limit that would end the call in the other place is ten minutes away.
  for (const [totalMs, timeout] of [[600_000, 30], [100, 600_000]] as const) {
    using it = toolFor(ollama, { limits: { totalMs } });
    const outcome = await call(it.tool, { prompt: "x", timeout_ms: timeout });
    assert.equal(codeOf(outcome), "timeout_first_byte");
  }
});

Deno.test("llm_generate tells failures in words, with a code for the log", async () => {
  await using ollama = await startOllama({ models: [] });
  using it = toolFor(ollama);
  assert.deepEqual(await call(it.tool, { prompt: "x" }), {
    ok: false,
    code: "model_not_installed",
    message: "The model tinyllama is not installed; run `ollama pull tinyllama` on the machine that runs Ollama.",
  });
});

Deno.test("llm_generate passes a schema on and the JSON back, and validates neither", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama" }, { name: "phi3", answer: () => '{"age":"old"}' }],
  });
  using it = toolFor(ollama);
  const schema = {
    type: "object",
    properties: { age: { type: "integer" }, name: { type: "string", pattern: "^(a+)+$" } },
    patternProperties: { "^x": {} },
  };
  const given = { prompt: "age?", json_schema: schema };
  assert.deepEqual(structured(await call(it.tool, given))["parsed"], { age: 1, name: "text" });
  assert.deepEqual(ollama.requests[0]?.json?.["format"], schema);
  assert.deepEqual(structured(await call(it.tool, { ...given, model: "phi3" }))["parsed"], { age: "old" });
  for (const any of [{ json_schema: {} }, { format: "json" }]) {
    assert.deepEqual(structured(await call(it.tool, { prompt: "blue", ...any }))["parsed"], { answer: "blue" });
    assert.equal(ollama.requests.at(-1)?.json?.["format"], "json");
  }
});

Deno.test("llm_generate refuses a schema over its bounds before it is sent", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama, { limits: { maxPromptBytes: 100_000 } });
  const nested = (levels: number): unknown => JSON.parse(`${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}`);
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [nested(129), /more than 128 levels/],
    [JSON.parse(`{"const":${"[".repeat(5000)}${"]".repeat(5000)}}`), /more than 128 levels/],
    [{ type: Array(10_000).fill("string") }, /more than 10000 values/],
    [{ anyOf: Array.from({ length: 79_000 }, () => ({ items: [] })) }, /more than 10000 values/],
    [{ $ref: "#/".padEnd(100_000, "k") }, /may have 100000; shorten it/],
  ];
  for (const [schema, problem] of rows) {
    const refused = await call(it.tool, { prompt: "x", json_schema: schema });
    assert.equal(codeOf(refused), "invalid_request");
    assert.match(messageOf(refused), problem);
  }
  assert.equal(ollama.requests.length, 0);
  assert.ok((await call(it.tool, { prompt: "x", json_schema: nested(127) })).ok);
});

Deno.test("llm_generate refuses JSON that is nested too deeply to be passed on", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => "[".repeat(20_000) + "]".repeat(20_000) }],
  });
  using it = toolFor(ollama);
  assert.match(messageOf(await call(it.tool, { prompt: "x", format: "json" })), /nested too deeply/);
});

Deno.test("llm_generate hands a long answer out as a task before the model is asked, and a short one not", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using it = toolFor(ollama);
  const askedBefore: number[] = [];
  const context: ToolContext = {
    ...testContext(),
    handOut: () => Promise.resolve(void askedBefore.push(ollama.requests.length)),
  };
  assert.ok((await call(it.tool, { prompt: "x", max_tokens: 1024 }, context)).ok);
  assert.deepEqual(askedBefore, []);
  assert.ok((await call(it.tool, { prompt: "x", max_tokens: 1025 }, context)).ok);
  assert.deepEqual(askedBefore, [1]);
});
