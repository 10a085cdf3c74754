/**
 * `deno task test tests/ollama_real/*.ts`: the tools against a real Ollama at OLLAMA_HOST, with whatever models it has.
 * What a machine cannot show is skipped, and its name says why. No part of the gate.
 */
import assert from "node:assert/strict";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { callTool, codeOf, messageOf, structured, testContext } from "../fixtures/ollama_calls.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { clock, having, redPixel, show, toolsFor, writer } from "./real_server.ts";

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

show("llm_generate refuses a prompt over the context with both lengths", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const outcome = await callTool(tools.generate, { prompt: "word ".repeat(50_000), max_tokens: 1 });
  if (outcome.ok) assert.ok(Number(structured(outcome)["prompt_tokens"]) >= 50_000, "the whole prompt was read");
  else assert.match(messageOf(outcome), /has \d+ tokens.* has room for \d+/);
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

show("llm_generate continues a conversation", writer, "completion", async (model) => {
  using tools = toolsFor(model);
  const messages = [{ role: "user", content: "My name is Ada." }, { role: "assistant", content: "Hello Ada." }];
  const input = { prompt: "What is my name?", system: "Be brief.", messages, max_tokens: 32 };
  assert.notEqual(structured(await callTool(tools.generate, input))["text"], "");
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

show("thinking is kept apart from the answer", having("thinking"), "thinking", async (model) => {
  using tools = toolsFor(model);
  const outcome = await callTool(tools.generate, { prompt: "What is 5 + 3?", think: true, max_tokens: 1024 });
  assert.equal(typeof structured(outcome)["thinking"], "string");
});

show("an image from a file is looked at", having("vision"), "vision", async (model) => {
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeFileSync(`${root}/red.png`, Uint8Array.from(atob(redPixel), (it) => it.charCodeAt(0)));
    using tools = toolsFor(model, workspace);
    const context = testContext({ scopes: ["llm:generate", "files:read"] });
    const input = { prompt: "What colour is this?", files: ["red.png"], max_tokens: 32 };
    assert.notEqual(structured(await callTool(tools.generate, input, context))["text"], "");
  });
});
