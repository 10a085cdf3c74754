/** The stand-in's answers against the examples of Ollama's API documentation (docs/api.md), by their shapes. */
import assert from "node:assert/strict";
import { startOllama } from "../fixtures/ollama.ts";
import { shapeOf, shapeProblems } from "../ollama_real/shape.ts";

/** The members that the documentation shows, without those that it shows as deprecated or for other versions. */
const documented = {
  delta: { model: "llama3.2", created_at: "2023-08-04T08:52:19.385406455-07:00", response: "The", done: false },
  final: {
    model: "llama3.2",
    created_at: "2023-08-04T19:22:45.499127Z",
    response: "",
    done: true,
    context: [1, 2, 3],
    total_duration: 10706818083,
    load_duration: 6338219291,
    prompt_eval_count: 26,
    prompt_eval_duration: 130079000,
    eval_count: 259,
    eval_duration: 4232710000,
  },
  chatDelta: {
    model: "llama3.2",
    created_at: "2023-08-04T08:52:19.385406455-07:00",
    message: { role: "assistant", content: "The" },
    done: false,
  },
  chatCall: {
    model: "llama3.2",
    created_at: "2024-07-22T20:33:28.123648Z",
    message: { role: "assistant", content: "", tool_calls: [{ function: { name: "get_weather", arguments: {} } }] },
    done_reason: "stop",
    done: true,
    total_duration: 885095291,
    load_duration: 3753500,
    prompt_eval_count: 122,
    prompt_eval_duration: 328493000,
    eval_count: 33,
    eval_duration: 552222000,
  },
  load: { model: "llama3.2", created_at: "2023-12-18T19:52:07.071755Z", response: "", done: true },
  unload: {
    model: "llama3.2",
    created_at: "2024-09-12T03:54:03.516566Z",
    response: "",
    done: true,
    done_reason: "unload",
  },
  tags: {
    models: [{
      name: "codellama:13b",
      modified_at: "2023-11-04T14:56:49.277302595-07:00",
      size: 7365960935,
      digest: "9f438cb9cd58",
      details: { format: "gguf", family: "llama", parameter_size: "13B", quantization_level: "Q4_0" },
    }],
  },
  ps: {
    models: [{
      name: "mistral:latest",
      model: "mistral:latest",
      size: 5137025024,
      digest: "2ae6f6dd7a3d",
      details: {
        parent_model: "",
        format: "gguf",
        family: "llama",
        families: ["llama"],
        parameter_size: "7.2B",
        quantization_level: "Q4_0",
      },
      expires_at: "2024-06-04T14:38:31.83753-07:00",
      size_vram: 5137025024,
    }],
  },
  embed: {
    model: "all-minilm",
    embeddings: [[0.010071029, -0.0017594862]],
    total_duration: 14143917,
    load_duration: 1019500,
    prompt_eval_count: 8,
  },
};

Deno.test("the stand-in Ollama answers in the shapes of the documentation's examples", async () => {
  await using ollama = await startOllama({
    models: [{ name: "m", capabilities: ["completion", "tools", "embedding"] }],
  });
  const lines = async (path: string, body?: unknown): Promise<unknown[]> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${ollama.url}/api/${path}`, init);
    return (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  };
  const messages = [{ role: "user", content: "a" }];
  const generated = await lines("generate", { model: "m", prompt: "a" });
  const tools = [{ type: "function", function: { name: "get_weather" } }];
  const observed: Record<keyof typeof documented, unknown> = {
    delta: generated[0],
    final: generated.at(-1),
    chatDelta: (await lines("chat", { model: "m", messages }))[0],
    chatCall: (await lines("chat", { model: "m", messages, tools, stream: false }))[0],
    load: (await lines("generate", { model: "m" }))[0],
    unload: (await lines("generate", { model: "m", keep_alive: 0 }))[0],
    tags: (await lines("tags"))[0],
    ps: (await lines("generate", { model: "m" }), (await lines("ps"))[0]),
    embed: (await lines("embed", { model: "m", input: "a" }))[0],
  };
  for (const [name, example] of Object.entries(documented)) {
    const seen = observed[name as keyof typeof documented];
    assert.deepEqual(shapeProblems(shapeOf(example), shapeOf(seen)), [], name);
  }
});
