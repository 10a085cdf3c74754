import assert from "node:assert/strict";
import { createOllamaClient } from "../../src/llm/model_client.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, hostOf, modelCall, noSignal, testClient, testLimits } from "../fixtures/ollama_calls.ts";

Deno.test("generate() sends Ollama's names, always streams, and reports counts and durations", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", capabilities: ["completion", "thinking"] }] });
  const client = testClient(ollama.url);
  const { text, deltas, completion } = await gather(client.ask(
    ask("one two three", {
      system: "be brief",
      options: { maxTokens: 2, temperature: 0, seed: 7, topP: 0.5, topK: 10, stop: ["END"] },
      think: false,
    }),
    modelCall(),
  ));
  assert.deepEqual(ollama.requests[0]?.json, {
    model: "tinyllama",
    prompt: "one two three",
    system: "be brief",
    stream: true,
    truncate: false,
    shift: false,
    think: false,
    options: { num_predict: 2, temperature: 0, seed: 7, top_p: 0.5, top_k: 10, stop: ["END"] },
  });
  assert.equal(text, "tinyllama heard:");
  assert.equal(deltas, 2);
  assert.deepEqual({ ...completion, loadMs: 0 }, {
    type: "done",
    doneReason: "length",
    promptTokens: 3,
    completionTokens: 2,
    loadMs: 0,
    evaluationMs: 2,
  });
  client.close();
});

Deno.test("ask() sends a conversation as a chat, and forbids Ollama to drop parts of it", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const client = testClient(ollama.url);
  const turns = [
    { role: "system", content: "be brief" },
    { role: "assistant", content: "what?" },
    { role: "user", content: "one" },
  ] as const;
  await gather(client.ask({ model: "tinyllama", options: { maxTokens: 2 }, messages: turns }, modelCall()));
  const { messages, truncate, shift } = ollama.requests[0]?.json ?? {};
  assert.deepEqual([messages, truncate, shift], [turns, false, false]);
  client.close();
});

Deno.test("generate() refuses a prompt over the context with both lengths, in place of an answer about half of it", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", contextLength: 20 }] });
  const client = testClient(ollama.url);
  const { failure, deltas } = await gather(client.ask(ask("word ".repeat(50).trim()), modelCall()));
  assert.deepEqual([failure?.code, deltas], ["invalid_request", 0]);
  assert.match(failure?.message ?? "", /has 50 tokens.*the context of tinyllama has room for 20/);
  client.close();
});

Deno.test("generate() ends an answer where the context is full, with all that was written", async () => {
  await using ollama = await startOllama({
    models: [{ name: "tinyllama", contextLength: 20, answer: () => "word ".repeat(50).trim() }],
  });
  const client = testClient(ollama.url);
  const { text, completion } = await gather(client.ask(ask("one two three four"), modelCall()));
  assert.equal(text, "word ".repeat(16).trim());
  assert.deepEqual([completion?.doneReason, completion?.completionTokens], ["length", 16]);
  client.close();
});

Deno.test("generate() takes the single JSON object that answers an empty prompt", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const client = testClient(ollama.url);
  const { text, completion } = await gather(client.ask(ask(""), modelCall()));
  assert.deepEqual([text, completion], ["", { type: "done", doneReason: "load" }]);
  client.close();
});

Deno.test("a report has the installed models, of which some are in memory", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }, { name: "phi3:mini" }] });
  const client = testClient(ollama.url);
  await gather(client.ask(ask("hi"), modelCall()));
  const { failure, installed } = await client.report(noSignal());
  assert.equal(failure, undefined);
  assert.deepEqual(installed.map((it) => [it.name, it.isLoaded ?? false]), [
    ["tinyllama:latest", true],
    ["phi3:mini", false],
  ]);
  assert.equal(installed[0]?.sizeBytes, 637_700_138);
  client.close();
});

Deno.test("a report is given up in time, and says what answered instead", async () => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = testClient(`http://127.0.0.1:${silent.addr.port}`, { limits: { probeMs: 100 } });
  const { failure } = await client.report(noSignal());
  assert.equal(failure?.code, "timeout_first_byte");
  assert.match(failure.message, /within 0\.1 s/);
  client.close();
  silent.close();

  const other = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => Response.json({ hello: "there" }));
  const stranger = testClient(`http://127.0.0.1:${other.addr.port}`);
  assert.equal((await stranger.report(noSignal())).failure?.code, "not_ollama");
  stranger.close();
  await other.shutdown();
});

Deno.test("an API key goes to loopback and https, and replaces nothing in messages", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }], apiKey: "key-1234" });
  const client = testClient(ollama.url, { apiKey: "key-1234" });
  assert.equal((await gather(client.ask(ask("hi"), modelCall()))).text, "tinyllama heard: hi");
  client.close();

  const wrong = testClient(ollama.url, { apiKey: "key-9999" });
  const { failure } = await gather(wrong.ask(ask("hi"), modelCall()));
  assert.equal(failure?.code, "auth_required");
  assert.match(failure.message, /check LLM_API_KEY/);
  assert.doesNotMatch(failure.message, /9999/);
  wrong.close();

  const sent: (string | null)[] = [];
  for (const setting of ["http://models.example", "https://models.example", "http://ann:pw@models.example"]) {
    const client = createOllamaClient({
      host: hostOf(setting),
      apiKey: "key-1234",
      limits: testLimits(),
      fetch: (_input, init) => {
        sent.push(new Headers(init?.headers).get("authorization"));
        return Promise.resolve(Response.json({ response: "hi", done: true }));
      },
    });
    assert.equal((await gather(client.ask(ask("hi"), modelCall()))).text, "hi");
    client.close();
  }
  assert.deepEqual(sent, [null, "Bearer key-1234", `Basic ${btoa("ann:pw")}`]);
});

Deno.test("a proxy of the environment does not see what goes to loopback", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const script = `
    import { ask, gather, hostOf, modelCall, testLimits } from "./tests/fixtures/ollama_calls.ts";
    import { createOllamaClient } from "./src/llm/model_client.ts";
    import { environmentHasProxy } from "./src/lib/network.ts";
    for (const avoidProxy of [environmentHasProxy((name) => Deno.env.get(name)), false]) {
      const client = createOllamaClient({
        host: hostOf(Deno.args[0]), fetch, avoidProxy, limits: testLimits(),
      });
      const { text, failure } = await gather(client.ask(ask("hi"), modelCall()));
      console.log(text || failure.code);
      client.close();
    }`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net", "--allow-env", "--no-check", "--ext=ts", "-", ollama.url],
    env: {
      HTTP_PROXY: "http://127.0.0.1:1",
      http_proxy: "http://127.0.0.1:1",
      NO_PROXY: "",
      no_proxy: "",
      NO_COLOR: "1",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { stdout } = await child.output();
  assert.equal(new TextDecoder().decode(stdout), "tinyllama heard: hi\nollama_unreachable\n");
});
