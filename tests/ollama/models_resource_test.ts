import assert from "node:assert/strict";
import { describeModels, llmModelsResource } from "../../src/llm/llm_models.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { noSignal, testContext, testModel } from "../fixtures/ollama_calls.ts";

Deno.test("llm://models holds what llm_models reports, and no other llm:// address exists", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  using local = testModel(ollama.url);
  const options = { model: local.model, models: ["tinyllama", "phi3"] };
  const family = llmModelsResource(options);
  const context = testContext();
  const [resource] = await family.list(context.principal);
  assert.ok(resource !== undefined && family.owns(resource.uri) && family.owns("llm://else"));
  assert.ok(!family.owns("file:///etc/passwd"));
  const read = await family.read(resource.uri, context);
  const [contents] = read !== null && "contents" in read ? read.contents : [];
  assert.ok(contents !== undefined && "text" in contents);
  assert.deepEqual(JSON.parse(contents.text), await describeModels(options, noSignal()));
  assert.equal(await family.read("llm://else", context), null);
  assert.deepEqual(family.scopes, ["llm:generate"]);
});
