/** Each remedy that a refusal of the local model's tool names works when the call is repeated with it. */
import assert from "node:assert/strict";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { parseInput, testContext, testModel } from "../fixtures/ollama_calls.ts";
import { refusedModelCalls } from "./refused_model_calls.ts";
import { withWorkspace } from "./with_workspace.ts";

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52);

Deno.test("the remedy that a refusal of llm_generate names works at the first repeat", async () => {
  const models = ["tinyllama", "phi3"] as const;
  const all = ["completion", "thinking", "vision"];
  await using ollama = await startOllama({
    models: models.map((name) => ({ name, capabilities: all, contextLength: 1e6, answer: () => '{"a":1}' })),
  });
  using local = testModel(ollama.url, { maxOutputBytes: 100_000 });
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/notes.txt`, "one\ntwo\n");
    Deno.writeTextFileSync(`${root}/large.txt`, "a line of a log\n".repeat(40_000));
    Deno.writeTextFileSync(`${root}/half.txt`, "a line of a log\n".repeat(9_000));
    Deno.writeTextFileSync(`${root}/one_line.txt`, "a".repeat(200_000));
    Deno.writeFileSync(`${root}/cat.png`, png);
    const tool = llmGenerateTool({
      model: local.model,
      models: [...models],
      workspace: () => workspace,
      clock: () => performance.now(),
    });
    const context = testContext({ scopes: ["llm:generate", "files:read"] });
    const refusalOf = async (args: Record<string, unknown>): Promise<string | null> => {
      const parsed = parseInput(tool, args);
      if (!parsed.ok) return parsed.error;
      const outcome = await tool.run(parsed.value as never, context);
      return outcome.ok ? null : outcome.message;
    };
    for (const { args, plays = [], says, repeat } of refusedModelCalls) {
      const title = `${plays.join(" ")} ${JSON.stringify(args).slice(0, 200)}`;
      ollama.play(...plays);
      const refusal = await refusalOf(args);
      const found = says.exec(refusal ?? "(none)") ?? assert.fail(`${title}: ${refusal}`);
      ollama.forgetPlays();
      const again = repeat(found, args);
      assert.equal(await refusalOf(again), null, `${title}: ${refusal} -> ${JSON.stringify(again).slice(0, 200)}`);
    }
  });
});
