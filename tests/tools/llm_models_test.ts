import assert from "node:assert/strict";
import { describeModels, type HostEntry, type ModelEntry } from "../../src/ollama/models_report.ts";
import { llmModelsTool } from "../../src/tools/llm/llm_models.ts";
import { llmTools } from "../../src/tools/llm/llm_tools.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, callTool, codeOf, gather, noImages, noSignal, structured, testModel } from "../fixtures/ollama_calls.ts";

Deno.test("llm_models tells which models are installed, in memory and allowed, on which host", async () => {
  await using a = await startOllama({ models: [{ name: "tinyllama" }, { name: "llama3:8b" }] });
  await using b = await startOllama({ models: [{ name: "tinyllama:latest" }, { name: "all-minilm" }] });
  using local = testModel(`${a.url},${b.url}`);
  await gather(local.model.generate(ask("hi"), { signal: noSignal(), fairnessKey: "ann" }));
  const tool = llmModelsTool({ model: local.model, models: ["tinyllama", "phi3"], embeddingModels: ["all-minilm"] });
  const outcome = await callTool(tool, {});
  const { models, hosts } = structured(outcome) as { models: readonly ModelEntry[]; hosts: readonly HostEntry[] };
  assert.deepEqual(
    models.map(({ name, installed, loaded, allowed, hosts }) => [name, installed, loaded, allowed, hosts]),
    [
      ["tinyllama", true, true, true, [a.url, b.url]],
      ["phi3", false, false, true, []],
      ["all-minilm", true, false, true, [b.url]],
      ["llama3:8b", true, false, false, [a.url]],
    ],
  );
  assert.equal(models[0]?.parameter_size, "1B");
  assert.deepEqual(hosts, [{ host: a.url, ok: true, version: "0.33.0" }, { host: b.url, ok: true, version: "0.33.0" }]);
  assert.ok(outcome.ok && outcome.content[0]?.type === "text");
  assert.match(outcome.content[0].text, /^tinyllama: installed, in memory\nphi3: missing: ollama pull phi3\n/);
});

Deno.test("llm_models names a host that is down beside one that is not, and fails when all are", async () => {
  const gone = await startOllama({ models: [] });
  await gone[Symbol.asyncDispose]();
  await using up = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(`${gone.url},${up.url}`);
  const { hosts, models } = await describeModels({ model: local.model, models: ["tinyllama"] }, noSignal());
  assert.deepEqual(hosts.map((host) => host.ok), [false, true]);
  assert.match(hosts[0]?.problem ?? "", /ollama serve/);
  assert.equal(models[0]?.installed, true);
  using none = testModel(gone.url);
  assert.equal(
    codeOf(await callTool(llmModelsTool({ model: none.model, models: ["tinyllama"] }), {})),
    "ollama_unreachable",
  );
});

Deno.test("llmTools() offers llm_embed only with an embedding model", async () => {
  await using ollama = await startOllama({ models: [] });
  using local = testModel(ollama.url);
  const options = { model: local.model, models: ["tinyllama"], readImage: noImages, clock: () => 0 } as const;
  assert.deepEqual(llmTools(options).map((tool) => tool.name), ["llm_generate", "llm_chat", "llm_models"]);
  assert.deepEqual(
    llmTools({ ...options, embeddingModels: ["all-minilm"] }).map((tool) => tool.name).at(-1),
    "llm_embed",
  );
  for (const tool of llmTools({ ...options, embeddingModels: ["all-minilm"] })) {
    assert.deepEqual(tool.scopes, ["llm:generate"]);
    assert.equal(typeof tool.annotations.openWorldHint, "boolean");
  }
});
