import assert from "node:assert/strict";
import { describeModels, llmModelsTool, llmTools, type ModelsReport } from "../../src/llm/llm_tools.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import {
  ask,
  callTool,
  codeOf,
  gather,
  noSignal,
  noWorkspace,
  structured,
  testModel,
} from "../fixtures/ollama_calls.ts";

Deno.test("llm_models lists which models are installed, in memory and allowed", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama" }, { name: "llama3:8b" }, { name: "all-minilm" }],
  });
  using local = testModel(ollama.url);
  await gather(local.model.ask(ask("hi"), { signal: noSignal(), fairnessKey: "ann" }));
  const tool = llmModelsTool({ model: local.model, models: ["tinyllama", "phi3"] });
  const outcome = await callTool(tool, {});
  const { models, server } = structured(outcome) as unknown as ModelsReport;
  assert.deepEqual(models.map(({ name, installed, loaded, allowed }) => [name, installed, loaded, allowed]), [
    ["tinyllama", true, true, true],
    ["phi3", false, false, true],
    ["all-minilm:latest", true, false, false],
    ["llama3:8b", true, false, false],
  ]);
  assert.equal(models[0]?.parameter_size, "1B");
  assert.deepEqual(server, { address: ollama.url, ok: true });
  assert.ok(outcome.ok && outcome.content[0]?.type === "text");
  assert.match(outcome.content[0].text, /^llama3:8b \(1B, completion\): installed, not allowed by the operator$/m);
  assert.match(
    outcome.content[0].text,
    /^tinyllama \(1B, completion\): installed, in memory\nphi3: missing: ollama pull phi3\n/,
  );
});

Deno.test("llm_models says what to do when Ollama is down, as the resource does", async () => {
  using local = testModel(`http://127.0.0.1:${freePort()}`);
  const options = { model: local.model, models: ["tinyllama"] };
  const { server, models } = await describeModels(options, noSignal());
  assert.equal(server.ok, false);
  assert.match(server.problem ?? "", /ollama serve/);
  assert.equal(models[0]?.installed, false);
  assert.equal(codeOf(await callTool(llmModelsTool(options), {})), "ollama_unreachable");
});

Deno.test("llmTools() gives each tool its scope, a title and all hints", async () => {
  await using ollama = await startOllama({ models: [] });
  using local = testModel(ollama.url);
  const options = { model: local.model, models: ["tinyllama"], workspace: noWorkspace, clock: () => 0 } as const;
  for (const tool of llmTools(options)) {
    assert.ok(tool.scopes.includes("llm:generate"));
    const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
    const hints = [readOnlyHint, destructiveHint, idempotentHint, openWorldHint];
    assert.ok(title === tool.title && hints.every((hint) => typeof hint === "boolean"), tool.name);
  }
});
