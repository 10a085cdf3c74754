/** The stand-in against a real Ollama, request by request. Part of `deno task test tests/ollama_real/*.ts`. */
import assert from "node:assert/strict";
import { startOllama } from "../fixtures/ollama.ts";
import { baseUrl, capabilities, real, redPixel, show, writer } from "./real_server.ts";
import { shapeOf, shapeProblems } from "./shape.ts";

const long = "word ".repeat(2000);

show("the stand-in answers in the shapes of this server", writer, "completion", async (model) => {
  await using standIn = await startOllama({ models: [{ name: model }] });
  const messages = [{ role: "user", content: "hello" }];
  const options = { num_predict: 4 };
  const requests: readonly (readonly [path: string, body?: unknown])[] = [
    ["generate", { model, prompt: "hello", options }],
    ["chat", { model, messages, options }],
    ["generate", { model }],
    ["tags"],
    ["ps"],
    ["version"],
  ];
  for (const [path, body] of requests) {
    const ours = await fetch(
      `${standIn.url}/api/${path}`,
      body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    );
    const theirs = await real(path, body);
    assert.equal(ours.headers.get("content-type"), theirs.headers.get("content-type"), path);
    const [ourLines, theirLines] = [await linesOf(ours), await linesOf(theirs)];
    for (const at of [0, -1]) {
      const problems = shapeProblems(shapeOf(ourLines.at(at)), shapeOf(theirLines.at(at)), path);
      assert.deepEqual(problems, [], "what the stand-in sends and the server does not");
    }
  }
});

show(
  "the stand-in refuses with the status and the kind of body of this server",
  writer,
  "completion",
  async (model) => {
    await using standIn = await startOllama({ models: [{ name: model, capabilities: capabilities.get(model) ?? [] }] });
    const prompt = "hello";
    const rows: readonly (readonly [path: string, init: RequestInit])[] = [
      ["api/generate", post({ model: "nope", prompt })],
      ["api/chat", post({ model: "nope", messages: [{ role: "user", content: prompt }] })],
      ["api/embed", post({ model: "nope", input: prompt })],
      ["api/generate", post({ model: "", prompt })],
      ["api/show", post({ model: "nope" })],
      ["api/embed", post({ model, input: [1] })],
      ["api/generate", post({ model, prompt, think: "most" })],
      ["api/generate", post({ model, prompt: long, truncate: false, shift: false, options: { num_ctx: 512 } })],
      ["api/generate", post({ model, prompt, format: { type: "nonsense" } })],
      ["api/generate", post("{")],
      ["api/generate", post({ model, prompt, options: { temperature: "hot" } })],
      ["api/generate", post({ model, prompt, format: "xml" })],
      ["api/nothing", {}],
      ["api/generate", {}],
      ["api/generate", { ...post({ model, prompt }), headers: { origin: "https://evil.example" } }],
      ...unlessAble(model, "thinking", ["api/generate", post({ model, prompt, think: true })]),
      ...unlessAble(model, "embedding", ["api/embed", post({ model, input: prompt })]),
      ...unlessAble(model, "insert", ["api/generate", post({ model, prompt, suffix: "x" })]),
      ...unlessAble(model, "vision", ["api/generate", post({ model, prompt, images: [redPixel] })]),
    ];
    for (const [path, init] of rows) {
      const ours: Response = await fetch(`${standIn.url}/${path}`, init);
      const theirs: Response = await fetch(`${baseUrl}${path}`, init);
      const told = `${path} ${String(init.body ?? "")}`;
      assert.equal(ours.status, theirs.status, told);
      assert.deepEqual(shapeOf(parse(await ours.text())), shapeOf(parse(await theirs.text())), told);
    }
  },
);

show("the stand-in cuts a long prompt where this server does", writer, "completion", async (model) => {
  await using standIn = await startOllama({ models: [{ name: model }] });
  const options = { num_ctx: 512, num_predict: 1 };
  const request = post({ model, prompt: long, raw: true, stream: false, options });
  for (const url of [`${standIn.url}/`, baseUrl]) {
    const reply = await (await fetch(`${url}api/generate`, request)).json();
    assert.equal(reply.error, undefined);
    assert.ok(reply.prompt_eval_count > 200 && reply.prompt_eval_count < 512, `${url}: ${reply.prompt_eval_count}`);
  }
});

function unlessAble(model: string, capability: string, row: readonly [string, RequestInit]): readonly (typeof row)[] {
  return capabilities.get(model)?.includes(capability) ? [] : [row];
}

function post(body: unknown): RequestInit {
  return { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
}

async function linesOf(response: Response): Promise<unknown[]> {
  return (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
