/** What callers are told of an answer: prompts that do not fit, cuts that an engine keeps quiet about, thoughts, JSON. */
import assert from "node:assert/strict";
import { createOpenAiClient } from "../../src/llm/model_client.ts";
import { parseModelBaseUrl } from "../../src/llm/mod_settings.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { createLocalModel, createModelQueue } from "../../src/llm/local_model.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { parseAnswer, separateThoughts } from "../../src/llm/ask.ts";
import { startOllama } from "../fixtures/ollama.ts";
import {
  callTool,
  codeOf,
  messageOf,
  noWorkspace,
  structured,
  testContext,
  testLimits,
  testModel,
} from "../fixtures/ollama_calls.ts";
import { type EngineName, startEngine } from "../fixtures/openai_engine.ts";
import type { StandInModel } from "../fixtures/ollama_models.ts";
import { withWorkspace } from "../tools/with_workspace.ts";

const clock = (): number => performance.now();
const reader = () => testContext({ scopes: ["llm:generate", "files:read"] });
const prose = (lines: number): string =>
  Array.from({ length: lines }, (_, at) => `line ${at + 1} has seven more words in it\n`).join("");

function ownTool(url: string, workspace: Workspace | null, models?: readonly string[]) {
  const local = testModel(url);
  const source = workspace === null ? noWorkspace : () => workspace;
  return {
    tool: llmGenerateTool({ model: local.model, models, workspace: source, clock }),
    [Symbol.dispose]: () => local[Symbol.dispose](),
  };
}

function engineTool(
  name: EngineName,
  models: readonly StandInModel[],
  workspace: Workspace | null = null,
  allowed: string[] | undefined = undefined,
) {
  const engine = startEngine(name, { models });
  const host = parseModelBaseUrl(engine.url);
  assert.ok(host.ok);
  const limits = testLimits({ maxLoadingDelayMs: 20 });
  const client = createOpenAiClient({ host: host.value, fetch, limits });
  const local = createLocalModel({
    client,
    queue: createModelQueue({ clock, limits }),
    totalMs: 60_000,
    limits,
    clock,
    random: () => 0.5,
  });
  return {
    engine,
    tool: llmGenerateTool({
      model: local,
      models: allowed,
      workspace: workspace === null ? noWorkspace : () => workspace,
      clock,
    }),
    async [Symbol.asyncDispose]() {
      local.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a prompt that the known context has no room for is refused before it is sent, with lines that fit", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/long.txt`, prose(400));
    Deno.writeTextFileSync(`${root}/short.txt`, prose(3));
    const models = [{ name: "small", contextLength: 512 }];
    await using ollama = await startOllama({ models });
    await using llamaCpp = engineTool("llama.cpp", models, workspace);
    await using vllm = engineTool("vLLM", models, workspace);
    using own = ownTool(ollama.url, workspace);
    const asked = [
      [own.tool, () => ollama.requests.filter(({ path }) => path === "/api/generate").length],
      [llamaCpp.tool, () => llamaCpp.engine.chats.length],
      [vllm.tool, () => vllm.engine.chats.length],
    ] as const;
    for (const [tool, sent] of asked) {
      const call = { prompt: "Summarise.", files: ["short.txt", "long.txt"] };
      const refused = await callTool(tool, call, reader());
      assert.equal(codeOf(refused), "invalid_request");
      assert.match(messageOf(refused), /has at least \d+ tokens.* the context of small has room for 512/);
      assert.equal(sent(), 0, "nothing was sent");
      const [, fitting = ""] = /such as (long\.txt:1-\d+)\)/.exec(messageOf(refused)) ?? [];
      const again = await callTool(tool, { ...call, files: ["short.txt", fitting] }, reader());
      assert.ok(again.ok, messageOf(again));
      assert.ok(Number(fitting.split("-")[1]) > 20, `${fitting}: not much less than what fits`);
    }
  }));

Deno.test("NAME@TOKENS of LLM_MODELS sets Ollama's context, and bounds what is sent to any engine", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/long.txt`, prose(100));
    await using ollama = await startOllama({ models: [{ name: "m", contextLength: 131_072 }] });
    using own = ownTool(ollama.url, workspace, ["m@300"]);
    const call = { prompt: "Summarise.", files: ["long.txt"] };
    assert.match(messageOf(await callTool(own.tool, call, reader())), /has room for 300/);
    assert.ok((await callTool(own.tool, { prompt: "hi" })).ok);
    assert.deepEqual((ollama.requests.at(-1)?.json?.["options"] as Record<string, unknown>)["num_ctx"], 300);
    await using swap = engineTool("llama-swap", [{ name: "m" }], workspace, ["m@300"]);
    assert.match(messageOf(await callTool(swap.tool, call, reader())), /has room for 300/);
    assert.equal(swap.engine.chats.length, 0);
  }));

Deno.test("what a prompt must have is counted in any script, and one long word is left to the engine", async () => {
  await using ollama = await startOllama({ models: [{ name: "m", contextLength: 1_000 }] });
  using own = ownTool(ollama.url, null);
  assert.match(
    messageOf(await callTool(own.tool, { prompt: "漢字かな交じり文を読む".repeat(600) })),
    /has at least \d+ tokens/,
  );
  assert.match(messageOf(await callTool(own.tool, { prompt: "a b ".repeat(600) })), /has at least 1200 tokens/);
  for (const word of ["x".repeat(60_000), "हिन्दी".repeat(900), `${"don't ".repeat(900)}`]) {
    assert.ok((await callTool(own.tool, { prompt: word })).ok, word.slice(0, 9));
  }
});

Deno.test("where only the engine knows the context, its refusal names lines of the caller's file that fit", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/long.txt`, prose(400));
    await using swap = engineTool("llama-swap", [{ name: "m", contextLength: 600 }], workspace);
    const call = { prompt: "Summarise.", files: ["long.txt"] };
    const refused = await callTool(swap.tool, call, reader());
    const [, fitting = ""] = /such as (long\.txt:1-\d+)\)/.exec(messageOf(refused)) ?? assert.fail(messageOf(refused));
    assert.ok((await callTool(swap.tool, { ...call, files: [fitting] }, reader())).ok);
  }));

Deno.test("a prompt that the engine cut in silence is told in the answer", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/long.txt`, prose(400));
    await using old = engineTool("Ollama", [{ name: "m", contextLength: 600 }], workspace);
    const cut = await callTool(old.tool, { prompt: "Summarise.", files: ["long.txt"] }, reader());
    const content = structured(cut);
    assert.deepEqual([content["truncated"], (content["problem"] as { code: string }).code], [true, "prompt_cut"]);
    assert.ok(cut.ok);
    assert.match(
      JSON.stringify(cut.content),
      /The model read 300 tokens of a prompt that has at least \d+: the engine cut the rest/,
    );
    Deno.writeTextFileSync(
      `${root}/min.json`,
      JSON.stringify(Array.from({ length: 900 }, (_, id) => ({ id, ok: true }))),
    );
    const minified = structured(await callTool(old.tool, { prompt: "Count.", files: ["min.json"] }, reader()));
    assert.equal((minified["problem"] as { code: string }).code, "prompt_cut", "a text without blanks");
    const whole = structured(await callTool(old.tool, { prompt: "word ".repeat(400) }));
    assert.equal(whole["problem"], undefined, "a prompt that fits is not told to be cut");
  }));

Deno.test("thoughts in tags, with or without their beginning or end, are apart from the answer", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["<think>a b</think>\n\nanswer", "answer", "a b"],
    ["\n<think>\na\n</think>answer", "answer", "a"],
    ["<thinking>a</thinking> answer", "answer", "a"],
    ["[THINK]a[/THINK]answer", "answer", "a"],
    ["<|channel|>analysis<|message|>a<|channel|>final<|message|>answer", "answer", "a"],
    ["a\n</think>\nanswer", "answer", "a"],
    ["<think>never ends", "", "never ends"],
    ["a\n</think>\nthe tag <think> is", "the tag <think> is", "a"],
    ["<think></think>answer", "answer", ""],
    ["<thinner> is no mark", "<thinner> is no mark", ""],
    ["say <think> in the middle </think>", "say <think> in the middle </think>", ""],
    ["<", "<", ""],
    ["plain", "plain", ""],
  ];
  for (const [whole, text, thinking] of rows) assert.deepEqual(separateThoughts(whole), { text, thinking }, whole);
});

Deno.test("thoughts that an engine leaves in the text are told apart, also where only their end is there", async () => {
  const thinks = (
    answer: string,
  ): StandInModel[] => [{ name: "m", capabilities: ["completion", "thinking"], answer: () => answer }];
  for (const answer of ["<think>Hm.</think>Yes.", "Hm.\n</think>\n\nYes."]) {
    await using swap = engineTool("llama-swap", thinks(answer));
    const content = structured(await callTool(swap.tool, { prompt: "?" }));
    assert.deepEqual([content["text"], content["thinking"]], ["Yes.", "Hm."]);
  }
});

Deno.test("thoughts in the text are no progress of the answer, and what comes before a lone end of them is told anew", async () => {
  const rows: readonly (readonly [thinking: string, said: string, told: RegExp])[] = [
    ["", "<think>Hm, well.</think>Yes, it is.", /^Yes, it is\.$/],
    ["", "Hm, well.\n</think>\n\nYes, it is.", /^Hm,[^<]*Yes, it is\.$/],
    ["Hm.", "The tag\n</think>\nends them.", /^The tag\n<\/think>\nends them\.$/],
  ];
  for (const [thinking, said, told] of rows) {
    await using it = engineTool("llama.cpp", [{ name: "m", thinking, answer: () => said }]);
    const context = testContext();
    const content = structured(await callTool(it.tool, { prompt: "?" }, context));
    assert.match(context.updates.map(({ message = "" }) => message).join(""), told, said);
    assert.equal(content["text"], thinking === "" ? "Yes, it is." : said, "what an engine tells apart is apart");
  }
});

Deno.test("all thoughts and no answer is said, with what helps", async () => {
  for (const name of ["llama.cpp", "vLLM", "llama-swap"] as const) {
    await using it = engineTool(name, [{ name: "m", thinking: "Hm, well.", answer: () => "" }]);
    const outcome = await callTool(it.tool, { prompt: "?" });
    assert.equal((structured(outcome)["problem"] as { code: string }).code, "only_thoughts");
    assert.match(JSON.stringify(outcome), /set options\.think to false, raise max_tokens, or use another model/);
    assert.equal(structured(outcome)["thinking"], "Hm, well.");
  }
  await using empty = engineTool("LM Studio", [{ name: "m", answer: () => "" }]);
  assert.equal(
    (structured(await callTool(empty.tool, { prompt: "?" }))["problem"] as { code: string }).code,
    "empty_answer",
  );
});

Deno.test("a schema that thoughts got in the way of is tried once more with thinking off", async () => {
  const model = (calls: string[]): StandInModel => ({
    name: "m",
    capabilities: ["completion", "thinking"],
    thinking: "Let me think about that for long.",
    answer: () => (calls.push(""), calls.length === 1 ? "I would say it is 7" : '{"age":7}'),
  });
  const own: string[] = [];
  await using ollama = await startOllama({ models: [model(own)] });
  using first = ownTool(ollama.url, null);
  const call = { prompt: "age?", json_schema: { type: "object" } };
  assert.deepEqual(structured(await callTool(first.tool, call))["parsed"], { age: 7 });
  const thinks = ollama.requests.filter(({ path }) => path === "/api/generate").map(({ json }) => json?.["think"]);
  assert.deepEqual(thinks, [undefined, false]);
  for (const name of ["llama.cpp", "vLLM", "llama-swap"] as const) {
    const calls: string[] = [];
    await using it = engineTool(name, [model(calls)]);
    assert.deepEqual(structured(await callTool(it.tool, call))["parsed"], { age: 7 }, name);
    assert.equal(it.engine.chats.at(-1)?.json.reasoning_effort, "none");
    assert.equal(calls.length, 2, "once more, not twice");
  }
  await using plain = engineTool("vLLM", [{ name: "m", answer: () => "no JSON" }]);
  assert.equal(codeOf(await callTool(plain.tool, call)), "model_failed");
  assert.equal(plain.engine.chats.length, 1, "without thoughts a second try would be the same");
});

Deno.test("JSON in fences, after words or after thoughts is unwrapped, and a broken one is not mended", () => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['{"a":1}', { a: 1 }],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ["Here it is:\n```\n[1,2]\n```\nDone.", [1, 2]],
    ['Sure! {"a":{"b":[1]}} Hope it helps.', { a: { b: [1] } }],
    ['The list: [{"a":1},{"a":2}].', [{ a: 1 }, { a: 2 }]],
    ["7", 7],
    // models repeat the form, or try, before they answer
    ['The form:\n```json\n{"a":"string"}\n```\nAnswer:\n```json\n{"a":"Ada"}\n```', { a: "Ada" }],
    ["```\n[1]\n``` no, ```json\n[2]\n``` wait, ```JSON\n[3]\n```", [3]],
    ['```json\n{"a":1}\n```\nRun it:\n```sh\ncurl x\n```', { a: 1 }],
    ['```json\n{"a":1}\n```\nand ```json\n{"a":', { a: 1 }],
  ];
  for (const [text, value] of rows) {
    const parsed = parseAnswer(text, null);
    assert.deepEqual(parsed.ok && parsed.value.parsed, value, text);
  }
  for (const text of ['[{"a":1},{"b":', '{"a":{"b":1},"c"', "none", "", "[see] nothing"]) {
    assert.ok(!parseAnswer(text, null).ok, text);
  }
});

Deno.test("a model that is loaded, or swapped in, is waited for as long as the call may take", async () => {
  for (const name of ["llama.cpp", "LM Studio", "llama-swap"] as const) {
    await using it = engineTool(name, [{ name: "m" }]);
    it.engine.play("busy", "busy", "busy", "busy", "busy", "busy");
    assert.ok((await callTool(it.tool, { prompt: "hi" })).ok, name);
    assert.equal(it.engine.chats.length, 7);
    it.engine.play(...Array.from({ length: 1_000 }, () => "busy" as const));
    const late = await callTool(it.tool, { prompt: "hi", timeout_ms: 150 });
    assert.match(messageOf(late), /still (be )?loading the model[;:] try again/);
  }
});

Deno.test("what an engine has no word for is said in the answer", async () => {
  await using it = engineTool("vLLM", [{ name: "m" }]);
  const outcome = await callTool(it.tool, { prompt: "hi", keep_alive: 60 });
  assert.match(JSON.stringify(outcome), /options\.keep_alive has no effect/);
  assert.doesNotMatch(JSON.stringify(await callTool(it.tool, { prompt: "hi" })), /no effect/);
});
