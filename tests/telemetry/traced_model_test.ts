import assert from "node:assert/strict";
import { traceModel } from "../../src/audit/traced_model.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, modelCall, testClient } from "../fixtures/ollama_calls.ts";
import { createRecordingTracer } from "../fixtures/recording_tracer.ts";

Deno.test("a model's span lasts until its answer is whole, has the counts of tokens, and says how it ended", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", answer: () => "ANSWER one two" }],
  });
  const { tracer, spans } = createRecordingTracer();
  const client = traceModel(testClient(ollama.url), tracer);
  const call = modelCall();
  const outcomeOf = async (events: AsyncIterable<{ readonly type: string }>): Promise<string | undefined> => {
    let last: string | undefined;
    for await (const { type } of events) {
      last = type;
      if (type === "delta") assert.equal(spans.at(-1)?.isOver, false);
    }
    return last;
  };
  assert.equal(await outcomeOf(client.ask(ask("PROMPT words"), call)), "done");
  const messages = [{ role: "assistant", content: "What?" }, { role: "user", content: "PROMPT" }] as const;
  assert.equal(
    await outcomeOf(client.ask({ model: "tinyllama", messages, options: { maxTokens: 7 } }, call)),
    "done",
  );
  ollama.play("model_missing");
  assert.equal(await outcomeOf(client.ask(ask("PROMPT"), call)), "failed");
  for await (const _event of client.ask(ask("PROMPT"), call)) break;
  client.close();

  assert.deepEqual(spans.map(({ name, failure, isOver }) => [name, failure, isOver]), [
    ["text_completion tinyllama", undefined, true],
    ["chat tinyllama", undefined, true],
    ["text_completion tinyllama", "model_not_installed", true],
    ["text_completion tinyllama", "cancelled", true],
  ]);
  assert.deepEqual(spans[1]?.attributes, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "ollama",
    "gen_ai.request.model": "tinyllama",
    "gen_ai.request.max_tokens": 7,
    "gen_ai.usage.input_tokens": 2,
    "gen_ai.usage.output_tokens": 3,
    "server.address": "127.0.0.1",
    "server.port": ollama.port,
  });
  assert.ok(!/PROMPT|ANSWER/.test(JSON.stringify(spans)));
});
