/** Which models agents are offered: what is there, in the order that suits them, and what the list of tools says of it. */
import assert from "node:assert/strict";
import { llmTools } from "../../src/llm/llm_tools.ts";
import { offerOf, parseAllowedModel, readModelList } from "../../src/llm/mod_settings.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { callTool, codeOf, messageOf, noWorkspace, structured, testModel } from "../fixtures/ollama_calls.ts";
import type { StandInModel } from "../fixtures/ollama_models.ts";
import { until } from "../fixtures/until.ts";

const here = { isElsewhere: false, isOllama: true };
const gigabytes = (name: string, size: number, more = {}) => ({ name, sizeBytes: size * 1e9, ...more });

Deno.test("what is installed is offered: the documents' models first, then those in memory, then by size, at most 20", () => {
  const installed = [
    gigabytes("large:70b", 40),
    gigabytes("warm:7b", 4, { isLoaded: true }),
    gigabytes("hot:3b", 2, { isLoaded: true }),
    gigabytes("tiny:1b", 1),
    gigabytes("phi3:latest", 3),
    gigabytes("nomic-embed-text:latest", 0.3),
    gigabytes("mxbai", 0.3, { capabilities: ["embedding"] }),
    gigabytes("gpt-oss:120b-cloud", 0.1, { isRemote: true }),
  ];
  assert.deepEqual(offerOf(undefined, here, installed), {
    names: ["phi3", "hot:3b", "warm:7b", "tiny:1b", "large:70b"],
    isUsable: true,
    problem: null,
  });
  const many = Array.from({ length: 50 }, (_, at) => gigabytes(`m${at}`, at + 1));
  assert.deepEqual(offerOf(undefined, here, many).names, many.slice(0, 20).map(({ name }) => name));
});

Deno.test("LLM_MODELS narrows and orders what is there, and says what is missing", () => {
  const installed = [gigabytes("a:latest", 1), gigabytes("b:7b", 2), gigabytes("c-cloud", 1, { isRemote: true })];
  const names = (allowed: string[] | undefined, known: Parameters<typeof offerOf>[2], host = here) => {
    const offer = offerOf(allowed, host, known);
    return [
      offer.names.join(),
      offer.isUsable,
      offer.problem === null ? null : `${offer.problem.what}; ${offer.problem.remedy}`,
    ];
  };
  assert.deepEqual(names(["b:7b", "a"], installed), ["b:7b,a", true, null]);
  assert.deepEqual(names(["c-cloud"], installed), ["c-cloud", true, null], "named, a model of the cloud may be used");
  assert.deepEqual(names(["x", "a@8192"], installed), ["a", true, "x is not installed; `ollama pull x`"]);
  assert.deepEqual(names(["x", "y"], installed), [
    "x,y",
    false,
    "x and y are not installed; set LLM_MODELS=a,b:7b to use what is",
  ]);
  assert.deepEqual(names(undefined, []), [
    "tinyllama,phi3",
    false,
    "no model is installed; `ollama pull tinyllama`",
  ]);
  assert.deepEqual(names(undefined, null), ["tinyllama,phi3", false, null], "as the source documents name them");
  const elsewhere = names(undefined, installed, { isElsewhere: true, isOllama: false });
  assert.deepEqual(elsewhere.slice(0, 2), ["tinyllama,phi3", false]);
  assert.match(String(elsewhere[2]), /another machine.*; name those that agents may use in LLM_MODELS/);
  assert.deepEqual(["q:4b@16384", "m@q4_k_m", "plain"].map(parseAllowedModel), [
    { name: "q:4b", contextTokens: 16_384 },
    { name: "m@q4_k_m" },
    { name: "plain" },
  ]);
});

Deno.test("readModelList() reads every engine's list, and nothing else", () => {
  const names = (reply: unknown) => readModelList(reply)?.map(({ name }) => name) ?? null;
  assert.deepEqual(names({ models: null }), []);
  assert.deepEqual(names({ models: [{ name: "a:latest", model: "a:latest" }, {}, 7] }), ["a:latest"]);
  assert.deepEqual(names({ object: "list", data: [{ id: "x/y.gguf" }], models: [{ name: "x/y.gguf" }] }), ["x/y.gguf"]);
  assert.deepEqual(names({ data: [{ id: "short", name: "A name for people" }] }), ["short"]);
  for (const other of [null, 1, [], {}, { data: "x" }, { error: "Unexpected endpoint" }, "<html>"]) {
    assert.equal(names(other), null, JSON.stringify(other));
  }
  assert.deepEqual(
    readModelList({ models: [{ name: "a", remote_host: "https://ollama.com", details: null, size: null }] }),
    [
      { name: "a", isRemote: true },
    ],
  );
});

/** The tools over a model server, with their registry. */
function registered(url: string, models?: readonly string[]) {
  const local = testModel(url, { reportKeptMs: 0 });
  const tools = llmTools({ model: local.model, models, workspace: noWorkspace, clock: () => performance.now() });
  const registry = createToolRegistry(tools, new Set(tools));
  const offered = () => {
    const { properties } = registry.get("llm_generate")?.inputSchema as {
      properties?: { model?: { enum?: string[]; default?: string } };
    };
    return [properties?.model?.enum, properties?.model?.default];
  };
  const [generate] = tools;
  if (generate === undefined) throw new Error("no tool");
  return { registry, offered, generate, model: local.model, [Symbol.dispose]: () => local[Symbol.dispose]() };
}

Deno.test("the list of tools follows the engine without waiting for it, and clients hear of each change", async () => {
  const models: StandInModel[] = [{ name: "qwen3:4b" }];
  await using ollama = await startOllama({ models });
  using it = registered(ollama.url);
  let changes = 0;
  it.registry.onChange(() => changes++);
  assert.deepEqual(it.offered(), [["tinyllama", "phi3"], "tinyllama"]);
  it.generate.refresh?.();
  assert.deepEqual(it.offered(), [["tinyllama", "phi3"], "tinyllama"], "nothing waits");
  await until("the engine's models", () => changes > 0);
  assert.deepEqual(it.offered(), [["qwen3:4b"], "qwen3:4b"]);
  models.push({ name: "tinyllama" });
  it.generate.refresh?.();
  await until("the new model", () => changes > 1);
  assert.deepEqual(it.offered(), [["tinyllama", "qwen3:4b"], "tinyllama"]);
  await it.model.recentReport();
  assert.equal(changes, 2, "an offer that stays the same is no change");
});

Deno.test("a call without a model asks the first that is there, and one that came since can be named", async () => {
  const models: StandInModel[] = [{ name: "qwen3:4b" }, { name: "gpt-oss:120b-cloud" }];
  await using ollama = await startOllama({ models });
  using it = registered(ollama.url);
  assert.equal(structured(await callTool(it.generate, { prompt: "hi" }))["model"], "qwen3:4b");
  models.push({ name: "new:1b" });
  assert.equal(structured(await callTool(it.generate, { prompt: "hi", model: "new:1b" }))["model"], "new:1b");
  const unknown = await callTool(it.generate, { prompt: "hi", model: "nope" });
  assert.match(messageOf(unknown), /^Use one of these models: qwen3:4b, new:1b$/);
  const cloud = await callTool(it.generate, { prompt: "hi", model: "gpt-oss:120b-cloud" });
  assert.match(messageOf(cloud), /runs on another machine: only the operator can allow it, with LLM_MODELS/);
  assert.ok(ollama.requests.every(({ json }) => json?.["model"] !== "gpt-oss:120b-cloud"), "nothing is sent there");
});

Deno.test("without a model, and without an engine, a call says the one thing that helps", async () => {
  await using ollama = await startOllama({ models: [] });
  using empty = registered(ollama.url);
  const none = await callTool(empty.generate, { prompt: "hi" });
  assert.equal(codeOf(none), "model_not_installed");
  assert.match(messageOf(none), /no model is installed; `ollama pull tinyllama`/);
  using gone = registered(`http://127.0.0.1:${freePort()}`);
  const refused = await callTool(gone.generate, { prompt: "hi" });
  assert.equal(codeOf(refused), "ollama_unreachable");
  assert.match(messageOf(refused), /start it with `ollama serve`/);
  assert.deepEqual(gone.offered(), [["tinyllama", "phi3"], "tinyllama"]);
});
