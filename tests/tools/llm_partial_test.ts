/** What a model wrote before a call ended early reaches the caller, marked and with the reason, whatever ended it. */
import assert from "node:assert/strict";
import type { ToolOutcome } from "../../src/mcp/tool.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { type Play, type StandInOllama, startOllama } from "../fixtures/ollama.ts";
import {
  callTool,
  codeOf,
  messageOf,
  type ModelChanges,
  noWorkspace,
  structured,
  testContext,
  testModel,
} from "../fixtures/ollama_calls.ts";

const clock = (): number => performance.now();
const now = Promise.resolve();
const never = new Promise<void>(() => {});

function toolsFor(ollama: StandInOllama, limits: ModelChanges = {}) {
  const local = testModel(ollama.url, limits);
  const options = { model: local.model, models: ["tinyllama", "phi3"], workspace: noWorkspace, clock } as const;
  return {
    generate: llmGenerateTool(options),
    [Symbol.dispose]: () => local[Symbol.dispose](),
  };
}

/** The structured content of a failure that has a part of the answer. */
function partOf(outcome: ToolOutcome): Record<string, unknown> {
  assert.ok(!outcome.ok, "the call failed");
  return { ...outcome.partial?.structuredContent ?? assert.fail(outcome.message) };
}

function textsOf(outcome: ToolOutcome): readonly string[] {
  const blocks = outcome.ok ? outcome.content : outcome.partial?.content ?? [];
  return blocks.map((block) => block.type === "text" ? block.text : assert.fail());
}

Deno.test("llm_generate returns what the model wrote, and why it ended, for every fault in the middle of an answer", async (t) => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const faults: readonly (readonly [Play, code: string, limits?: ModelChanges])[] = [
    ["reset_mid_stream", "truncated"],
    ["cut_without_final", "truncated"],
    ["half_line_at_eof", "bad_upstream"],
    ["invalid_json_line", "bad_upstream"],
    ["scalar_line", "bad_upstream"],
    ["wrong_types", "bad_upstream"],
    ["invalid_utf8", "bad_upstream"],
    ["long_line", "bad_upstream"],
    ["error_mid_stream", "model_failed"],
    ["stall_mid_stream", "timeout_idle", { idleMs: 1_500 }],
    ["endless_stream", "output_too_large", { maxOutputBytes: 100_000 }],
  ];
  for (const [play, code, limits = {}] of faults) {
    await t.step(play, async () => {
      using tools = toolsFor(ollama, limits);
      ollama.play(play);
      const context = testContext();
      const outcome = await callTool(tools.generate, { prompt: "x" }, context);
      assert.equal(codeOf(outcome), code);
      assert.match(messageOf(outcome), /What the model wrote follows\.$/);
      const { text, truncated, problem, model } = partOf(outcome);
      assert.match(String(text), play === "endless_stream" ? /^word word/ : /^Once( upon)?$/);
      assert.deepEqual([truncated, model], [true, "tinyllama"]);
      assert.equal((problem as { code: string }).code, code);
      assert.deepEqual(textsOf(outcome), [text]);
      assert.equal(
        context.updates.map((update) => update.message ?? "").join(""),
        text,
        "the stream has the same text",
      );
    });
  }
});

Deno.test("llm_generate returns what the model wrote when the caller's time limit is reached", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using tools = toolsFor(ollama);
  ollama.play("slow_drip");
  const outcome = await callTool(tools.generate, { prompt: "x", timeout_ms: 2000 });
  assert.equal(codeOf(outcome), "timeout_total");
  assert.match(String(partOf(outcome)["text"]), /^( drip)+$/);
});

Deno.test("llm_generate returns no partial answer when none had begun", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using tools = toolsFor(ollama);
  ollama.play("error_first");
  const outcome = await callTool(tools.generate, { prompt: "x" });
  assert.equal(codeOf(outcome), "model_failed");
  assert.ok(!outcome.ok && outcome.partial === undefined);
  assert.doesNotMatch(messageOf(outcome), /follows/);
});

Deno.test("llm_generate returns the thoughts of a model that had not reached its answer", async () => {
  const controller = new AbortController();
  await using ollama = await startOllama({
    models: [{
      name: "tinyllama",
      capabilities: ["completion", "thinking"],
      thinking: "Let me see.",
      beforeToken: (index) => index < 3 ? now : never,
    }],
  });
  using tools = toolsFor(ollama);
  const context = testContext({ signal: controller.signal });
  const watching = { ...context, progress: ({ progress = 0 }) => progress >= 3 ? controller.abort() : undefined };
  const outcome = await callTool(tools.generate, { prompt: "x" }, watching);
  assert.deepEqual([partOf(outcome)["text"], partOf(outcome)["thinking"]], ["", "Let me see."]);
  assert.deepEqual(textsOf(outcome), ["The model had only thought so far:\nLet me see."]);
});

Deno.test("llm_generate returns the text that is not JSON, or was cut before its JSON was complete", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => "I would rather not." }, {
      name: "phi3",
      answer: () => '{"age": "old"}',
    }],
  });
  using tools = toolsFor(ollama);
  const schema = { type: "object", properties: { age: { type: "integer" } } };
  const rows = [
    [{ prompt: "x", format: "json" }, "model_failed", "I would rather not.", false],
    [{ prompt: "x", json_schema: schema, model: "phi3", max_tokens: 1 }, "truncated", '{"age":', true],
  ] as const;
  for (const [input, code, text, truncated] of rows) {
    const outcome = await callTool(tools.generate, input);
    assert.equal(codeOf(outcome), code);
    assert.deepEqual(textsOf(outcome), [text]);
    assert.deepEqual([partOf(outcome)["text"], partOf(outcome)["truncated"]], [text, truncated]);
  }
});

Deno.test("llm_generate says in the text why an answer was cut: at max_tokens, in thought, or where the context was full", async () => {
  await using ollama = await startOllama({
    models: [
      { name: "tinyllama", answer: () => "one two three four" },
      { name: "phi3", answer: () => "word ".repeat(50), contextLength: 20 },
    ],
  });
  using tools = toolsFor(ollama);
  const rows = [
    [{ prompt: "x", max_tokens: 2 }, "max_tokens", "one two", /^\[The answer was cut at max_tokens \(2\): raise/],
    [
      { prompt: "x", model: "phi3" },
      "context_full",
      "word ".repeat(19).trim(),
      /^\[.* context of phi3 was full: shorten/,
    ],
  ] as const;
  for (const [input, code, text, note] of rows) {
    const outcome = await callTool(tools.generate, input);
    const { problem, truncated, text: written } = structured(outcome);
    assert.deepEqual([(problem as { code: string }).code, truncated, written], [code, true, text]);
    const [first, second = ""] = textsOf(outcome);
    assert.equal(first, text);
    assert.match(second, note);
  }
  const whole = await callTool(tools.generate, { prompt: "x" });
  assert.deepEqual([textsOf(whole), structured(whole)["problem"]], [["one two three four"], undefined]);
});

Deno.test("llm_generate returns what there is before its client gives up, and says so", async () => {
  await using ollama = await startOllama({
    models: [
      { name: "tinyllama", answer: () => "one two three four", beforeToken: (index) => index < 3 ? now : never },
      { name: "phi3", beforeToken: () => never },
    ],
  });
  using tools = toolsFor(ollama);
  const reason = new DOMException("the client waits no longer", "TimeoutError");
  const hurried = (afterTokens: number) => {
    const controller = new AbortController();
    const progress = ({ progress }: { progress: number }): void =>
      progress >= afterTokens ? controller.abort(reason) : undefined;
    return { ...testContext(), answerNow: controller.signal, progress, controller };
  };
  const part = await callTool(tools.generate, { prompt: "x" }, hurried(1));
  const { text, truncated, problem } = structured(part);
  assert.match(String(text), /^one( two( three)?)?$/);
  assert.deepEqual([truncated, (problem as { code: string }).code], [true, "client_time_limit"]);
  assert.equal(textsOf(part)[0], text);
  assert.match(
    textsOf(part)[1] ?? "",
    /^\[The model was not done in the time that this client waits.*lower max_tokens/,
  );
  await ollama.until((requests) => requests.at(-1)?.outcome === "aborted");

  const json = await callTool(tools.generate, { prompt: "x", format: "json" }, hurried(1));
  assert.equal(codeOf(json), "truncated");
  assert.match(String(partOf(json)["text"]), /^one/);

  const { controller, ...context } = hurried(Infinity);
  const silent = callTool(tools.generate, { prompt: "x", model: "phi3" }, context);
  await ollama.until((requests) => requests.length === 3);
  controller.abort(reason);
  assert.equal(codeOf(await silent), "client_time_limit");
});
