/** What both clients promise: Ollama's by its own API, and the one of OpenAI's API with each engine's habits. */
import assert from "node:assert/strict";
import { createOllamaClient, createOpenAiClient } from "../../src/llm/model_client.ts";
import { parseModelBaseUrl } from "../../src/llm/mod_settings.ts";
import type { ModelClient, ModelRequest, OllamaLimits } from "../../src/llm/port.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, hostOf, modelCall, noSignal, testLimits } from "../fixtures/ollama_calls.ts";
import type { StandInModel } from "../fixtures/ollama_models.ts";
import { engineHabits, type EngineName, type EnginePlay, startEngine } from "../fixtures/openai_engine.ts";

/** An engine with a client of it. */
interface Scene extends AsyncDisposable {
  readonly client: ModelClient;
  play(play: EnginePlay): void;
  /** The last request for text. */
  // deno-lint-ignore no-explicit-any
  last(): any;
  /** Resolves when the last request for text was given up. */
  aborted(): Promise<void>;
}

interface SceneOptions {
  readonly models?: readonly StandInModel[];
  readonly apiKey?: string;
  /** What the client sends. */
  readonly key?: string;
  readonly limits?: Partial<OllamaLimits>;
}

const usual: readonly StandInModel[] = [{ name: "tinyllama" }];

const ollamaPlays = {
  busy: "queue_full",
  html: "html_200",
  cut: "cut_without_final",
  broken: "error_mid_stream",
  silent: "silent",
  redirect: "redirect_307",
  stall: "stall_mid_stream",
  no_usage: "missing_counts",
  overloaded: "rate_limited",
} as const;

async function ownApi({ models = usual, apiKey, key, limits }: SceneOptions): Promise<Scene> {
  const ollama = await startOllama({ models, ...(apiKey === undefined ? {} : { apiKey }) });
  const client = createOllamaClient({
    host: hostOf(ollama.url),
    apiKey: key,
    fetch,
    limits: testLimits(limits),
  });
  return {
    client,
    play: (play) => ollama.play(ollamaPlays[play]),
    last: () => ollama.requests.findLast(({ path }) => /generate|chat/.test(path))?.json,
    aborted: () => ollama.until((requests) => requests.at(-1)?.outcome === "aborted"),
    async [Symbol.asyncDispose]() {
      client.close();
      await ollama[Symbol.asyncDispose]();
    },
  };
}

function openAiApi(name: EngineName) {
  return async ({ models = usual, apiKey, key, limits }: SceneOptions): Promise<Scene> => {
    const engine = startEngine(name, { models, ...(apiKey === undefined ? {} : { apiKey }) });
    const host = parseModelBaseUrl(engine.url);
    assert.ok(host.ok);
    const client = createOpenAiClient({ host: host.value, apiKey: key, fetch, limits: testLimits(limits) });
    return await Promise.resolve({
      client,
      play: (play: EnginePlay) => engine.play(play),
      last: () => engine.chats.at(-1)?.json,
      aborted: async () => {
        await engine.until((calls) => calls.at(-1)?.outcome === "aborted");
      },
      async [Symbol.asyncDispose]() {
        client.close();
        await engine[Symbol.asyncDispose]();
      },
    });
  };
}

const engines: Readonly<Record<string, (options: SceneOptions) => Promise<Scene>>> = {
  "Ollama's own API": ownApi,
  ...Object.fromEntries(
    Object.keys(engineHabits).map((name) => [`OpenAI's API of ${name}`, openAiApi(name as EngineName)]),
  ),
};

const schema = { type: "object", properties: { age: { type: "integer" } } };
const generate = (scene: Scene, prompt: string, more: Parameters<typeof ask>[1] = {}) =>
  gather(scene.client.ask(ask(prompt, more), modelCall()));

for (const [name, start] of Object.entries(engines)) {
  const isStreaming = !name.endsWith("a gateway");
  const countsTokens = !/llama-swap/.test(name);

  Deno.test(`${name}: text in pieces, then one end with its reason and the counts`, async () => {
    await using scene = await start({});
    const { text, deltas, completion } = await generate(scene, "one two three");
    assert.equal(text, "tinyllama heard: one two three");
    assert.ok(isStreaming ? deltas === 5 : deltas === 1, String(deltas));
    assert.equal(completion?.doneReason, "stop");
    if (countsTokens) assert.deepEqual([completion.promptTokens, completion.completionTokens], [3, 5]);
    const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }] as const;
    const request: ModelRequest = { model: "tinyllama", options: { maxTokens: 50 }, messages };
    assert.match((await gather(scene.client.ask(request, modelCall()))).text, /heard: Be brief\.\n?\s?Hi|heard: /);
  });

  Deno.test(`${name}: options, schema and a cut at max_tokens reach the engine`, async () => {
    await using scene = await start({});
    const options = { maxTokens: 2, temperature: 0.5, seed: 7, topP: 0.9, topK: 40, stop: ["\n\n"] };
    const { text, completion } = await generate(scene, "a b c d", { options });
    assert.equal(text, "tinyllama heard:");
    assert.equal(completion?.doneReason, "length");
    const sent = JSON.stringify(scene.last());
    for (const part of ['"temperature":0.5', '"seed":7', '"top_p":0.9', '"top_k":40', '"stop":["\\n\\n"]']) {
      assert.ok(sent.includes(part), part);
    }
    for (const format of [schema, "json"] as const) {
      assert.equal(typeof JSON.parse((await generate(scene, "age?", { format })).text), "object");
    }
  });

  Deno.test(`${name}: thoughts are apart from the text where the engine parts them, and off when told`, async () => {
    await using scene = await start({
      models: [{ name: "tinyllama", capabilities: ["completion", "thinking"], thinking: "Let me see." }],
    });
    const { text, thinking } = await generate(scene, "hi");
    if (name.endsWith("llama-swap")) assert.match(text, /^<think>Let me see\.<\/think>/); // parted by the tool
    else assert.deepEqual([text, thinking], ["tinyllama heard: hi", "Let me see."]);
    assert.deepEqual(await generate(scene, "hi", { think: false }).then((it) => [it.text, it.thinking]), [
      "tinyllama heard: hi",
      "",
    ]);
  });

  Deno.test(`${name}: images go beside the prompt, and a model that sees none is named`, async () => {
    await using scene = await start({ models: [...usual, { name: "seer", capabilities: ["completion", "vision"] }] });
    const images = ["iVBORw0KGgo="];
    assert.equal((await generate(scene, "what?", { model: "seer", images })).failure, undefined);
    const { failure } = await generate(scene, "what?", { images });
    assert.equal(failure?.code, "invalid_request");
    assert.match(failure?.message ?? "", /not supported by tinyllama: leave out image files/);
  });

  Deno.test(`${name}: each failure has its code, and words that say what to do`, async () => {
    await using scene = await start({ limits: { idleMs: 2_000 } });
    const plays: readonly (readonly [EnginePlay, readonly string[], RegExp])[] = [
      ["busy", ["busy"], /try again in a little while/],
      ["overloaded", ["busy"], /try again in a little while/],
      ["html", ["not_ollama"], /correct (OLLAMA_HOST|LLM_BASE_URL)/],
      ["redirect", ["not_ollama"], /redirects elsewhere/],
      ["cut", ["truncated", "bad_upstream"], /try again/],
      ["broken", ["model_failed"], /failed: .*Try again/],
      ...(isStreaming ? [["stall", ["timeout_idle"], /stopped in the middle/] as const] : []),
    ];
    for (const [play, codes, words] of plays) {
      scene.play(play);
      const { failure } = await generate(scene, "one two three");
      assert.ok(failure !== undefined && codes.includes(failure.code), `${play}: ${failure?.code} ${failure?.message}`);
      assert.match(failure.message, words, play);
    }
    const missing = await generate(scene, "hi", { model: "nope" });
    assert.equal(missing.failure?.code, "model_not_installed", missing.failure?.message);
    assert.match(missing.failure?.message ?? "", /nope/);
    assert.equal((await generate(scene, "still there?")).failure, undefined);
  });

  Deno.test(`${name}: a prompt over the context is refused with both lengths, or its cut shows in the counts`, async () => {
    await using scene = await start({ models: [{ name: "tinyllama", contextLength: 512 }] });
    const { failure, completion } = await generate(scene, "word ".repeat(2000));
    if (name === "OpenAI's API of Ollama") return assert.equal(completion?.promptTokens, 256);
    assert.equal(failure?.code, "invalid_request");
    assert.deepEqual(failure?.tooLong, { promptTokens: 2001, contextTokens: 512 });
  });

  Deno.test(`${name}: a key is sent where it may be, and a wrong one is told`, async () => {
    await using good = await start({ apiKey: "secret", key: "secret" });
    assert.equal((await generate(good, "hi")).failure, undefined);
    assert.equal((await good.client.report(noSignal())).failure, undefined);
    await using bad = await start({ apiKey: "secret", key: "guess" });
    const { failure } = await generate(bad, "hi");
    assert.equal(failure?.code, "auth_required");
    assert.match(failure?.message ?? "", /check (OLLAMA|LLM)_API_KEY/);
    assert.equal((await bad.client.report(noSignal())).failure?.code, "auth_required");
  });

  Deno.test(`${name}: an answer that does not begin ends at the call's time, and a caller that leaves stops the engine`, async () => {
    await using scene = await start({ models: [{ name: "tinyllama", tokenMilliseconds: 20 }] });
    scene.play("silent");
    const late = await gather(scene.client.ask(ask("hi"), modelCall({ totalMs: 100 })));
    assert.equal(late.failure?.code, "timeout_first_byte");
    const leaving = new AbortController();
    const prompt = "word ".repeat(500);
    for await (
      const event of scene.client.ask(
        ask(prompt, { options: { maxTokens: 400 } }),
        modelCall({ signal: leaving.signal }),
      )
    ) {
      if (event.type === "delta") leaving.abort();
      else if (isStreaming) assert.deepEqual(event.type === "failed" && event.failure.code, "cancelled");
    }
    if (isStreaming) await scene.aborted();
  });

  Deno.test(`${name}: an engine that is not there, or whose counts are missing, is no surprise`, async () => {
    await using scene = await start({});
    scene.play("no_usage");
    const { failure, completion } = await generate(scene, "hi");
    assert.deepEqual([failure, completion?.promptTokens], [undefined, undefined]);
    const gone = /own/.test(name)
      ? createOllamaClient({ host: hostOf(`http://127.0.0.1:${freePort()}`), fetch })
      : createOpenAiClient({
        host: { ...scene.client.host, baseUrl: `http://127.0.0.1:${freePort()}/v1/` },
        fetch,
      });
    const refused = await gather(gone.ask(ask("hi"), modelCall()));
    assert.equal(refused.failure?.code, "ollama_unreachable");
    assert.match(refused.failure?.message ?? "", /start it/);
    assert.equal((await gone.report(noSignal())).failure?.code, "ollama_unreachable");
    gone.close();
  });
}

Deno.test("what engines know of their models is told: memory, context, what they can do, what runs elsewhere", async () => {
  const models = [{ name: "small", contextLength: 8192 }, { name: "seer", capabilities: ["completion", "vision"] }];
  const known: Record<string, unknown> = {};
  for (const name of ["vLLM", "LM Studio", "llama-swap"] as const) {
    await using engine = startEngine(name, { models, loaded: ["small"] });
    const host = parseModelBaseUrl(engine.url);
    assert.ok(host.ok);
    const { installed } = await createOpenAiClient({ host: host.value, fetch }).report(noSignal());
    known[name] = installed.map((it) => [it.name, it.isLoaded ?? false, it.contextTokens, it.capabilities?.join()]);
  }
  assert.deepEqual(known, {
    vLLM: [["small", false, 8192, undefined], ["seer", false, 4096, undefined]],
    "LM Studio": [["small", true, 8192, "completion"], ["seer", false, 131072, "completion,vision"]],
    "llama-swap": [["small", true, undefined, undefined], ["seer", false, undefined, undefined]],
  });
  await using one = startEngine("llama.cpp", { models: models.slice(0, 1) });
  const host = parseModelBaseUrl(one.url);
  assert.ok(host.ok);
  const { installed: [only] } = await createOpenAiClient({ host: host.value, fetch }).report(noSignal());
  assert.deepEqual([only?.isLoaded, only?.contextTokens, only?.sizeBytes], [true, 8192, 637_700_138]);
  await using own = await startOllama({ models });
  const client = createOllamaClient({ host: hostOf(own.url), fetch });
  await gather(client.ask(ask("hi", { model: "small" }), modelCall()));
  const report = await client.report(noSignal());
  client.close();
  assert.deepEqual(report.installed.map((it) => [it.name, it.isLoaded ?? false, it.contextTokens]), [
    ["small:latest", true, 8192],
    ["seer:latest", false, 4096],
  ]);
});

Deno.test("LLM_BASE_URL is understood as people write it, and its key goes to no other machine in the clear", async () => {
  const rows: readonly (readonly [string, string])[] = [
    ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/"],
    ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/"],
    ["127.0.0.1:1234/v1/", "http://127.0.0.1:1234/v1/"],
    ["localhost:8000", "http://localhost:8000/v1/"],
    ["https://llm.example.com/api/v1", "https://llm.example.com/api/v1/"],
    ["http://box:8080/v1/chat/completions", "http://box:8080/v1/"],
    ["http://box:8080/v1/models/", "http://box:8080/v1/"],
  ];
  for (const [setting, base] of rows) {
    const parsed = parseModelBaseUrl(setting);
    assert.equal(parsed.ok && parsed.value.baseUrl, base, setting);
  }
  for (const setting of ["", "ftp://x/v1", "a b", "http://x?y=1"]) {
    const parsed = parseModelBaseUrl(setting);
    if (setting !== "") assert.match(parsed.ok ? "" : parsed.error, /must be a URL such as/);
  }
  const sent: (string | null)[] = [];
  const spy = ((_url: unknown, init: RequestInit) => {
    sent.push(new Headers(init.headers).get("authorization"));
    return Promise.reject(new TypeError("stopped here"));
  }) as typeof fetch;
  for (const setting of ["http://192.168.1.9:8080/v1", "https://llm.example.com/v1", "http://127.0.0.1:9/v1"]) {
    const parsed = parseModelBaseUrl(setting);
    assert.ok(parsed.ok);
    await gather(
      createOpenAiClient({ host: parsed.value, apiKey: "k", fetch: spy }).ask(ask("x"), modelCall()),
    );
  }
  assert.deepEqual(sent, [null, "Bearer k", "Bearer k"]);
});
