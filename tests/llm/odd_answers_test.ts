/** Answers of engines, and of what is in front of them, that are neither whole nor refused in a usual way. */
import assert from "node:assert/strict";
import { parseModelBaseUrl, parseOllamaHost } from "../../src/llm/mod_settings.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { type ModelClient, modelFailed, ollamaFailure } from "../../src/llm/port.ts";
import { createLocalModel, createModelQueue } from "../../src/llm/local_model.ts";
import { createModelClient } from "../../src/llm/model_client.ts";
import {
  ask,
  callTool,
  gather,
  messageOf,
  noSignal,
  noWorkspace,
  structured,
  testLimits,
} from "../fixtures/ollama_calls.ts";

const clock = (): number => performance.now();
type Answer = () => Response;

const lines = (...parts: readonly object[]): Answer => () =>
  new Response(parts.map((part) => `${JSON.stringify(part)}\n`).join(""), {
    headers: { "content-type": "application/x-ndjson" },
  });
const events = (...parts: readonly (object | string)[]): Answer => () => {
  const written = parts.map((part) => typeof part === "string" ? part : `data: ${JSON.stringify(part)}`);
  return new Response(`${written.join("\n\n")}\n\ndata: [DONE]\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
};
const delta = (text: string, reason: string | null = null) => ({
  choices: [{ index: 0, delta: text === "" ? {} : { content: text }, finish_reason: reason }],
});
const html = (status: number): Answer => () =>
  new Response("<html><h1>Nope</h1></html>", { status, headers: { "content-type": "text/html" } });
const json = (status: number, body: unknown): Answer => () => Response.json(body, { status });

/** A tool whose engine answers as `play` says: the first so many times with one answer, then as usual. */
function startOddEngine(api: "ollama" | "openai") {
  const plays: Answer[] = [];
  const usual = api === "ollama" ? lines({ response: "usual", done: true }) : events(delta("usual", "stop"));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.body?.cancel();
    const { pathname } = new URL(request.url);
    if (/generate|chat/.test(pathname)) return (plays.shift() ?? usual)();
    return Response.json({ data: [{ id: "m" }] });
  });
  const address = `http://127.0.0.1:${server.addr.port}`;
  const host = api === "ollama" ? parseOllamaHost(address) : parseModelBaseUrl(address);
  assert.ok(host.ok);
  const limits = testLimits({ retryDelayMs: 1, maxLoadingDelayMs: 5 });
  const client = createModelClient({ host: host.value, fetch, limits });
  const queue = createModelQueue({ clock, limits });
  const model = createLocalModel({ client, queue, totalMs: 60_000, limits, clock, random: () => 0.5 });
  return {
    tool: llmGenerateTool({ model, models: undefined, workspace: noWorkspace, clock }),
    play: (...answers: readonly Answer[]) => void plays.push(...answers),
    async [Symbol.asyncDispose]() {
      model.close();
      await server.shutdown();
    },
  };
}

Deno.test("an answer that the engine ended before the model was done does not pass for a whole one", async () => {
  await using ollama = startOddEngine("ollama");
  await using openai = startOddEngine("openai");
  for (const reason of ["abort", "error", "unload", "content_filter", "cancelled"]) {
    for (
      const [engine, answer] of [
        [ollama, lines({ response: "Once" }, { response: "", done: true, done_reason: reason })],
        [openai, events(delta("Once"), delta("", reason))],
      ] as const
    ) {
      engine.play(answer);
      const outcome = await callTool(engine.tool, { prompt: "hi" });
      const { text, truncated, problem } = structured(outcome);
      assert.deepEqual([text, truncated], ["Once", true], reason);
      assert.match(JSON.stringify(problem), new RegExp(`ended the answer early \\(${reason}\\); try again`));
      assert.match(JSON.stringify(outcome.ok && outcome.content), /ended the answer early/);
    }
  }
  openai.play(events(delta("Once"), delta("", "max_tokens")));
  const cut = structured(await callTool(openai.tool, { prompt: "hi", max_tokens: 1 }));
  assert.equal(cut["truncated"], true);
  for (const reason of ["eos_token", "end_turn", "stop_sequence"]) {
    openai.play(events(delta("Whole"), delta("", reason)));
    assert.equal(structured(await callTool(openai.tool, { prompt: "hi" }))["truncated"], false, reason);
  }
});

Deno.test("an error within a stream is told in each of its forms, and a null is none", async () => {
  await using ollama = startOddEngine("ollama");
  await using openai = startOddEngine("openai");
  openai.play(events(delta("Once"), 'event: error\ndata: {"message":"it broke","type":"server_error"}'));
  ollama.play(lines({ response: "Once" }, { error: { message: "it broke", code: 5 } }));
  for (const { tool } of [openai, ollama]) {
    const outcome = await callTool(tool, { prompt: "hi" });
    assert.match(messageOf(outcome), /failed: it broke\. Try again/);
    assert.equal(outcome.ok || outcome.partial?.structuredContent?.["text"], "Once");
  }
  ollama.play(lines({ error: null, response: "whole", done: true, eval_count: -1 }));
  openai.play(events({ ...delta("whole", "stop"), error: null, usage: { prompt_tokens: -1 } }));
  for (const { tool } of [openai, ollama]) {
    assert.equal(structured(await callTool(tool, { prompt: "hi" }))["text"], "whole");
  }
});

Deno.test("a model that called a tool, or declined, is told apart from one that wrote nothing", async () => {
  await using openai = startOddEngine("openai");
  openai.play(events({ choices: [{ delta: { tool_calls: [{ index: 0 }] }, finish_reason: "tool_calls" }] }));
  const called = structured(await callTool(openai.tool, { prompt: "hi" }));
  assert.match(JSON.stringify(called["problem"]), /called a tool, and it has none: ask for the answer in words/);
  openai.play(events({ choices: [{ delta: { refusal: "I will not." }, finish_reason: "stop" }] }));
  assert.equal(structured(await callTool(openai.tool, { prompt: "hi" }))["text"], "I will not.");
});

Deno.test("a refusal without a word of the engine's says what to try, and that works", async () => {
  for (const api of ["ollama", "openai"] as const) {
    await using engine = startOddEngine(api);
    const cases: readonly (readonly [Answer, RegExp])[] = [
      [html(413), /refused the request as too large: shorten the prompt, or leave out images\.$/],
      [json(400, {}), /refused the request and did not say why: leave out options, json_schema and images\.$/],
      [html(400), /refused the request and did not say why: leave out options, json_schema and images\.$/],
      [json(400, { error: "The model has crashed without additional information." }), /model failed: .*\. Try again/],
    ];
    for (const [answer, says] of cases) {
      engine.play(answer);
      assert.match(messageOf(await callTool(engine.tool, { prompt: "hi", temperature: 1 })), says);
      assert.ok((await callTool(engine.tool, { prompt: "hi" })).ok);
    }
  }
});

Deno.test("a model that is unloaded under a call is asked again", async () => {
  await using engine = startOddEngine("openai");
  engine.play(json(400, { error: "Model unloaded." }), json(503, { error: "model is unloading" }));
  assert.equal(structured(await callTool(engine.tool, { prompt: "hi" }))["text"], "usual");
});

Deno.test("a model that loads for as long as the call may take is said to load, whenever the last attempt was", async () => {
  const host = parseOllamaHost("");
  assert.ok(host.ok);
  const failures = [ollamaFailure("busy", "it loads", "loading"), ollamaFailure("timeout_first_byte", "0.001 s")];
  const client: ModelClient = {
    host: host.value,
    async *ask() {
      yield modelFailed(failures.shift() ?? assert.fail());
    },
    report: () => Promise.reject(new Error("not asked")),
    close() {},
  };
  const limits = testLimits({ retryDelayMs: 1 });
  const queue = createModelQueue({ clock, limits });
  const model = createLocalModel({ client, queue, totalMs: 60_000, limits, clock, random: () => 0.5 });
  const { failure } = await gather(model.ask(ask("hi"), { signal: noSignal(), fairnessKey: "a" }));
  assert.equal(failure?.message, "it loads");
});
