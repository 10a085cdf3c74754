/** Each way in which Ollama's answers go wrong, and what the caller is told. The stand-in plays them byte by byte. */
import assert from "node:assert/strict";
import type { OllamaFailure, OllamaLimits } from "../../src/llm/port.ts";
import { pause } from "../../src/lib/time.ts";
import { freePort } from "../fixtures/free_port.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { ask, gather, modelCall, testClient } from "../fixtures/ollama_calls.ts";
import { type FaultName, trickyText } from "../fixtures/ollama_faults.ts";
import { deltaLine, finalLine } from "../fixtures/ollama_lines.ts";

type Expected = { readonly text: string } | { readonly code: OllamaFailure["code"]; readonly says?: RegExp };
const now = Promise.resolve();
const never = new Promise<void>(() => {});
const fails = (code: OllamaFailure["code"], says?: RegExp): Expected => says === undefined ? { code } : { code, says };

/** For the faults that only a time-out ends, that one; all else gets as long as a busy machine may need. */
const endedByTime: Readonly<Record<string, { readonly totalMs?: number; readonly limits?: Partial<OllamaLimits> }>> = {
  silent: { totalMs: 1_500 },
  stall_mid_stream: { limits: { idleMs: 150 } },
  slow_drip: { totalMs: 1_500 },
};

/** An answer that comes in these pieces, one for each time that the client reads. */
function answerOf(pieces: readonly (() => string | undefined)[]): Response {
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift()?.();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}

const wholeAnswer = `${JSON.stringify(deltaLine("generate", "tinyllama", { text: "Once" }))}\n${
  JSON.stringify(finalLine("generate", "tinyllama", { reason: "stop", promptTokens: 1, tokens: 1 }))
}\n`;

const table: Readonly<Record<FaultName, Expected>> = {
  close_before_headers: fails("bad_upstream", /closed the connection before it answered/),
  garbage_http: fails("not_ollama", /does not speak HTTP/),
  half_headers: fails("bad_upstream"),
  silent: fails("timeout_first_byte", /loading the model/),
  reset_mid_stream: fails("truncated"),
  stall_mid_stream: fails("timeout_idle", /0\.15 s/),
  slow_drip: fails("timeout_total", /max_tokens/),
  endless_stream: fails("output_too_large", /100000 bytes/),
  linger_after_done: { text: "Once" },
  cut_without_final: fails("truncated"),
  half_line_at_eof: fails("bad_upstream", /not its protocol; try again/),
  final_without_newline: { text: "Once" },
  invalid_json_line: fails("bad_upstream"),
  scalar_line: fails("bad_upstream"),
  wrong_types: fails("bad_upstream"),
  invalid_utf8: fails("bad_upstream", /UTF-8/),
  one_byte_chunks: { text: trickyText },
  three_byte_chunks: { text: trickyText },
  many_lines_in_one_chunk: { text: "abc" },
  crlf_lines: { text: "a" },
  error_first: fails("model_failed", /signal: killed/),
  error_mid_stream: fails("model_failed", /signal: killed/),
  error_after_tool_call: fails("model_failed", /signal: killed/),
  data_after_done: { text: "Once" },
  long_line: fails("bad_upstream", /line over the limit/),
  empty_body: fails("truncated"),
  missing_counts: { text: "Once" },
  thinking_only: { text: "" },
  control_characters: {
    text:
      "red \u001b[31malert\u0007\u009b2J\r\n\tend \u202eexe\u202c\u2066\u200f\u{e0069}\u{e0067}\u{e007f}👩\u200d💻 z\u200be\u2060r\ufeffo\u00ad\u{e0101}\u3164 می\u200cخواهم ❤\ufe0f",
  },
  gzip: { text: "zipped" },
  broken_gzip: fails("truncated"),
  model_missing: fails("model_not_installed", /ollama pull tinyllama/),
  blob_lost: fails("model_not_installed", /ollama pull tinyllama/),
  bad_name: fails("invalid_request", /invalid model name/),
  unknown_route: fails("not_ollama"),
  wrong_verb: fails("not_ollama"),
  bad_json: fails("invalid_request", /unexpected EOF/),
  wrong_option_type: fails("invalid_request", /temperature/),
  wrong_format: fails("invalid_request", /invalid format/),
  no_thinking: fails("invalid_request", /does not support thinking/),
  context_exceeded: fails(
    "invalid_request",
    /has 2002 tokens.* room for 512.*: shorten it to some 19 % of it .*, or split it.*Only the op/,
  ),
  context_exceeded_without_numbers: fails("invalid_request", /longer than the context of tinyllama: shorten it/),
  no_vision: fails(
    "invalid_request",
    /^Image input is not supported by tinyllama: leave out image files, or use another model/,
  ),
  no_writer: fails("invalid_request", /^tinyllama does not write text: use another model/),
  cloud_off: fails("auth_required", /cloud, which is switched off: use a local model.*OLLAMA_NO_CLOUD/),
  queue_full: fails("busy", /try again/),
  load_failure: fails("model_failed", /unable to load model: …/),
  foreign_host: fails("forbidden_host", /OLLAMA_ORIGINS/),
  signed_out: fails("auth_required", /LLM_API_KEY/),
  rate_limited: fails("busy"),
  proxy_502: fails("ollama_unreachable", /502/),
  proxy_503: fails("ollama_unreachable", /503/),
  html_200: fails("not_ollama"),
  plain_500: fails("bad_upstream", /500/),
  huge_error: fails("bad_upstream", /500/),
  redirect_307: fails("not_ollama", /redirects/),
};

Deno.test("generate() survives every fault with the right outcome", async (t) => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const client = testClient(ollama.url, { limits: { maxOutputBytes: 100_000 } });
  for (const [fault, expected] of Object.entries(table)) {
    await t.step(fault, async () => {
      ollama.play(fault as FaultName);
      const { limits, totalMs } = endedByTime[fault] ?? {};
      const impatient = limits === undefined ? undefined : testClient(ollama.url, { limits });
      const { text, completion, failure } = await gather(
        (impatient ?? client).ask(ask("hi"), modelCall(totalMs === undefined ? {} : { totalMs })),
      );
      if ("text" in expected) {
        assert.equal(failure, undefined);
        assert.equal(text, expected.text);
        assert.equal(completion?.type, "done");
      } else {
        assert.equal(failure?.code, expected.code, failure?.message);
        assert.equal(completion, undefined);
        if (expected.says !== undefined) assert.match(failure.message, expected.says);
        assert.doesNotMatch(failure.message, /alice|secret|undefined|\/home/);
      }
      await ollama.until((requests) => requests.every((request) => request.outcome !== "running"));
      impatient?.close();
    });
  }
  assert.ok(ollama.requests.filter((it) => it.outcome === "aborted").length >= 4);
  assert.equal((await gather(client.ask(ask("hi"), modelCall()))).text, "tinyllama heard: hi");
  client.close();
});

Deno.test("generate() waits for a first byte that is slow but within the limit, however short the stream may be idle", async () => {
  const client = testClient("127.0.0.1:1", {
    limits: { idleMs: 10 },
    fetch: () => pause(100).then(() => answerOf([() => wholeAnswer])),
  });
  assert.equal((await gather(client.ask(ask("hi"), modelCall()))).text, "Once");
  client.close();
});

Deno.test("generate() reports how long the model took to load", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama", loadMilliseconds: 20 }] });
  const client = testClient(ollama.url);
  const { completion } = await gather(client.ask(ask("hi"), modelCall()));
  assert.equal(completion?.loadMs, 20);
  client.close();
});

Deno.test("generate() says what to do when nothing listens, the name is unknown, or TLS meets a plain port", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  const cases: [string, OllamaFailure["code"], RegExp][] = [
    [
      `http://127.0.0.1:${freePort()}`,
      "ollama_unreachable",
      /is not running at http:\/\/127\.0\.0\.1:\d+; start it with `ollama serve` or set/,
    ],
    ["http://ann:s3cret@no-such-host.invalid", "host_not_found", /^The host of http:\/\/no-such-host\.invalid has no/],
    [ollama.url.replace("http:", "https:"), "not_ollama", /http:\/\/ instead of https/],
    ["127.0.0.1:6667", "ollama_unreachable", /not running/],
  ];
  for (const [setting, code, says] of cases) {
    const client = testClient(setting);
    const { failure } = await gather(client.ask(ask("hi"), modelCall()));
    assert.equal(failure?.code, code, `${setting}: ${failure?.message}`);
    assert.match(failure.message, says);
    client.close();
  }
});

Deno.test("generate() stops the model when its caller cancels or leaves, before and in the middle", async (t) => {
  await using ollama = await startOllama({
    models: [
      { name: "tinyllama", answer: () => "word ".repeat(100), beforeToken: (index) => index < 10 ? now : never },
      { name: "phi3", beforeToken: () => never },
    ],
  });
  const client = testClient(ollama.url);
  const stopped = (): Promise<void> => ollama.until((requests) => requests.at(-1)?.outcome === "aborted");
  await t.step("cancelled before anything is sent", async () => {
    const before = ollama.requests.length;
    const { failure } = await gather(client.ask(ask("hi"), modelCall({ signal: AbortSignal.abort() })));
    assert.equal(failure?.code, "cancelled");
    assert.equal(ollama.requests.length, before);
  });
  await t.step("cancelled while the model loads", async () => {
    const controller = new AbortController();
    const call = gather(client.ask(ask("hi", { model: "phi3" }), modelCall({ signal: controller.signal })));
    await ollama.until((requests) => requests.length > 0);
    controller.abort();
    assert.equal((await call).failure?.code, "cancelled");
    await stopped();
  });
  await t.step("cancelled in the middle", async () => {
    const controller = new AbortController();
    let deltas = 0;
    let code = "";
    for await (const event of client.ask(ask("hi"), modelCall({ signal: controller.signal }))) {
      if (event.type === "delta" && ++deltas === 3) controller.abort();
      if (event.type === "failed") code = event.failure.code;
    }
    assert.ok(deltas >= 3 && deltas <= 10);
    assert.equal(code, "cancelled");
    await stopped();
  });
  await t.step("the iteration is left", async () => {
    for await (const event of client.ask(ask("hi"), modelCall())) if (event.type === "delta") break;
    await stopped();
  });
  await t.step("cancelled after the final line: the answer stands", async () => {
    const controller = new AbortController();
    const cancels = (): undefined => void controller.abort(); // when the client reads on after the final line
    const late = testClient("127.0.0.1:1", { fetch: () => Promise.resolve(answerOf([() => wholeAnswer, cancels])) });
    const { completion, failure } = await gather(late.ask(ask("hi"), modelCall({ signal: controller.signal })));
    assert.ok(controller.signal.aborted);
    assert.deepEqual([completion?.type, failure], ["done", undefined]);
    late.close();
  });
  client.close();
});

Deno.test("generate() of one caller goes on when another's is cancelled", async () => {
  const { promise: cancelled, resolve: goOn } = Promise.withResolvers<void>();
  await using ollama = await startOllama({
    models: [{
      name: "tinyllama",
      answer: (prompt) => `${prompt} `.repeat(20),
      beforeToken: (index) => index < 10 ? now : cancelled,
    }],
  });
  const client = testClient(ollama.url);
  const controller = new AbortController();
  const calls = [
    gather(client.ask(ask("one"), modelCall({ signal: controller.signal }))),
    gather(client.ask(ask("two"), modelCall())),
  ] as const;
  await ollama.until((requests) => requests.length === 2);
  controller.abort();
  const first = await calls[0];
  goOn();
  const second = await calls[1];
  assert.equal(first.failure?.code, "cancelled");
  assert.equal(second.text.trim(), "two ".repeat(20).trim());
  client.close();
});

Deno.test("generate() works again after Ollama was restarted, and reuses its connections before", async () => {
  const first = await startOllama({ models: [{ name: "tinyllama" }], port: freePort() });
  const client = testClient(first.url);
  for (const prompt of ["one", "two", "three", "four", "five"]) {
    assert.equal(
      (await gather(client.ask(ask(prompt), modelCall()))).text,
      `tinyllama heard: ${prompt}`,
    );
  }
  assert.ok(first.connections() < 5);
  await first[Symbol.asyncDispose]();
  const down = await gather(client.ask(ask("down"), modelCall()));
  assert.equal(down.failure?.code, "ollama_unreachable");
  await using second = await startOllama({ models: [{ name: "tinyllama" }], port: first.port });
  assert.equal((await gather(client.ask(ask("up"), modelCall()))).text, "tinyllama heard: up");
  assert.equal(second.requests.length, 1);
  client.close();
});
