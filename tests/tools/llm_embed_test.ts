import assert from "node:assert/strict";
import { llmEmbedTool } from "../../src/tools/llm/llm_embed.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { callTool, codeOf, messageOf, structured, testModel } from "../fixtures/ollama_calls.ts";

const models = [{ name: "all-minilm", capabilities: ["embedding"] }, { name: "tinyllama" }];

Deno.test("llm_embed answers one vector for each text, in single precision", async () => {
  await using ollama = await startOllama({ models });
  using local = testModel(ollama.url);
  const tool = llmEmbedTool({ model: local.model, embeddingModels: ["all-minilm"] });
  const outcome = await callTool(tool, { texts: ["red fox", "blue whale", "red fox"] });
  const { embeddings, dimensions, prompt_tokens } = structured(outcome) as
    & { embeddings: number[][] }
    & Record<string, unknown>;
  assert.deepEqual([embeddings.length, dimensions, prompt_tokens], [3, 8, 6]);
  assert.deepEqual(embeddings[0], embeddings[2]);
  assert.notDeepEqual(embeddings[0], embeddings[1]);
  for (const number of embeddings.flat()) assert.ok(String(number).replace(/^-?0\.0*|\D/g, "").length <= 7);
  assert.deepEqual(ollama.requests[0]?.json, {
    model: "all-minilm",
    input: ["red fox", "blue whale", "red fox"],
    truncate: false,
  });
  assert.deepEqual(local.occupancy(), { inFlight: 0, waiting: 0 });
});

Deno.test("llm_embed tells failures in words", async () => {
  await using ollama = await startOllama({ models });
  using local = testModel(ollama.url);
  using impatient = testModel(ollama.url, { totalMs: 100 });
  const embeddingModels = ["all-minilm", "tinyllama", "nope"] as const;
  const tool = llmEmbedTool({ model: local.model, embeddingModels, maxNumbers: 16 });
  assert.equal(codeOf(await callTool(tool, { texts: ["a", "b", "c"] })), "output_too_large");
  assert.match(
    messageOf(await callTool(tool, { texts: ["a"], model: "tinyllama" })),
    /^tinyllama does not support embeddings: use another model.*LLM_EMBEDDING_MODELS/,
  );
  assert.match(messageOf(await callTool(tool, { texts: ["a"], model: "nope" })), /ollama pull nope/);
  for (
    const [fault, code] of [
      ["invalid_json_line", "bad_upstream"],
      ["html_200", "not_ollama"],
      ["reset_mid_stream", "bad_upstream"],
    ] as const
  ) {
    ollama.play(fault);
    assert.equal(codeOf(await callTool(tool, { texts: ["a"] })), code, fault);
  }
  ollama.play("silent");
  const impatientTool = llmEmbedTool({ model: impatient.model, embeddingModels });
  assert.equal(codeOf(await callTool(impatientTool, { texts: ["a"] })), "timeout_first_byte");
  for (const input of [{}, { texts: [] }, { texts: [""] }, { texts: ["a"], model: "other" }]) {
    assert.equal(tool.input.safeParse(input).success, false);
  }
});
