/** `llm_embed`: passages of files by meaning, or their vectors in a file; vectors never reach the caller. */
import assert from "node:assert/strict";
import { defaultWorkspaceLimits } from "../../src/files/workspace/limits.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { llmEmbedTool, splitPassages } from "../../src/llm/llm_embed.ts";
import { type StandInOllama, startOllama } from "../fixtures/ollama.ts";
import {
  callTool,
  codeOf,
  messageOf,
  type ModelChanges,
  parseInput,
  structured,
  testContext,
  testModel,
} from "../fixtures/ollama_calls.ts";
import { withWorkspace } from "./with_workspace.ts";

const models = [{ name: "all-minilm", capabilities: ["embedding"] }, { name: "tinyllama" }];
const reader = () => testContext({ scopes: ["llm:generate", "files:read"] });
const writer = () => testContext({ scopes: ["llm:generate", "files:read", "files:write"] });

function toolFor(ollama: StandInOllama, workspace: Workspace, changes: ModelChanges = {}) {
  const local = testModel(ollama.url, changes);
  return {
    tool: llmEmbedTool({ model: local.model, embeddingModels: ["all-minilm", "tinyllama", "nope"], workspace }),
    occupancy: local.occupancy,
    [Symbol.dispose]: () => local[Symbol.dispose](),
  };
}

Deno.test("llm_embed ranks passages of files by their nearness to a query, with lines that file_read takes", async () => {
  await using ollama = await startOllama({ models });
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a.md`, `${"red fox ".repeat(70)}\nsecond line\n\n${"blue whale ".repeat(50)}\n`);
    Deno.writeTextFileSync(`${root}/b.md`, "one\ntwo\nmono\u202elog\n");
    using it = toolFor(ollama, workspace);
    const query = "second";
    const outcome = await callTool(it.tool, { path: "a.md", files: ["b.md:2-3"], query, limit: 2 }, reader());
    const { matches, ...rest } = structured(outcome) as
      & { matches: Record<string, unknown>[] }
      & Record<string, unknown>;
    const passages = [`${"red fox ".repeat(70)}\nsecond line`, "blue whale ".repeat(50).trim(), "two\nmono\u202elog"];
    assert.deepEqual(ollama.requests[0]?.json, {
      model: "all-minilm",
      input: [query, ...passages],
      truncate: false,
    });
    assert.equal(rest["passages"], 3);
    assert.equal(rest["dimensions"], 8);
    assert.equal(matches.length, 2);
    const [first, second] = matches;
    assert.ok(Number(first?.["score"]) >= Number(second?.["score"]) && Number(first?.["score"]) <= 1);
    assert.ok(outcome.ok && outcome.content[0]?.type === "text");
    assert.match(outcome.content[0].text, /^0\.\d\d (a\.md:1-2|a\.md:4-4|b\.md:2-3) {2}\S.*\n0\.\d\d /);
    assert.ok(!JSON.stringify(outcome).includes('embedding"'), "no vector reaches the caller");
    const same = await callTool(it.tool, { path: "b.md:3", query: "mono\u202elog" }, reader());
    assert.deepEqual((structured(same)["matches"] as unknown[])[0], {
      file: "b.md",
      start_line: 3,
      end_line: 3,
      score: 1,
      text: "mono\\u{202E}log",
    });
    assert.deepEqual(it.occupancy(), { inFlight: 0, waiting: 0 });
  });
});

Deno.test("llm_embed writes vectors to a new file, a passage on each line, however many writes that takes", async () => {
  await using ollama = await startOllama({ models });
  const limits = { ...defaultWorkspaceLimits, maxWriteBytes: 2_000 };
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/long.txt`, `${"word ".repeat(100).trim()}\n`.repeat(10));
    using it = toolFor(ollama, workspace);
    const input = { path: "long.txt", output: "index/long.jsonl" };
    const outcome = await callTool(it.tool, input, writer());
    assert.ok(outcome.ok && outcome.content[0]?.type === "text");
    assert.equal(outcome.content[0].text, "Wrote 10 vectors to index/long.jsonl, one JSON object a line.");
    assert.deepEqual([structured(outcome)["output"], structured(outcome)["matches"]], ["index/long.jsonl", undefined]);
    const lines = Deno.readTextFileSync(`${root}/index/long.jsonl`).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.deepEqual(lines.map(({ file, start_line, end_line }) => [file, start_line, end_line]), [
      ...Array.from({ length: 10 }, (_, index) => ["long.txt", index + 1, index + 1]),
    ]);
    assert.ok(lines.every(({ embedding, text }) => embedding.length === 8 && text.startsWith("word ")));

    const again = await callTool(it.tool, input, writer());
    assert.equal(codeOf(again), "already_exists");
    const forbidden = await callTool(it.tool, { ...input, output: "other" }, reader());
    assert.equal(codeOf(forbidden), "insufficient_scope");
    assert.equal(codeOf(await callTool(it.tool, { ...input, output: "../x" }, writer())), "path_leaves_workspace");
    assert.equal(ollama.requests.length, 1, "the model is not asked for what cannot be written");
  }, { limits });
});

Deno.test("splitPassages() cuts at lines, cuts long lines, and loses no character but blanks at the ends", () => {
  const texts = [
    "one\ntwo\n",
    `${"x".repeat(2_000)}\nshort\n`,
    `${"é\u{1f600}".repeat(500)}`,
    "\n\n \n",
    "a\r\nb",
    `${"line\n".repeat(400)}`,
  ];
  for (const text of texts) {
    const passages = splitPassages({ name: "f", file: "f", text, startLine: 5 });
    const squeeze = (it: string): string => it.replace(/\s/g, "");
    assert.equal(squeeze(passages.map((passage) => passage.text).join("")), squeeze(text));
    const all = text.split("\n");
    let before = 5;
    for (const { lines, text: passage } of passages) {
      assert.ok(new TextEncoder().encode(passage).byteLength <= 600);
      assert.ok(passage.isWellFormed());
      assert.ok(lines !== undefined && lines.first >= before && lines.last >= lines.first);
      assert.ok(squeeze(all.slice(lines.first - 5, lines.last - 4).join("")).includes(squeeze(passage)));
      before = lines.last;
    }
  }
  assert.deepEqual(splitPassages({ name: "f", file: "f", text: "tail", startLine: null }), [{
    file: "f",
    text: "tail",
  }]);
});

Deno.test("llm_embed refuses in words that say what to do", async () => {
  await using ollama = await startOllama({ models });
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a.txt`, "text");
    Deno.writeTextFileSync(`${root}/blank.txt`, " \n");
    Deno.writeTextFileSync(`${root}/many.txt`, `${"x".repeat(590)}\n`.repeat(300));
    Deno.writeFileSync(`${root}/cat.png`, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
    using it = toolFor(ollama, workspace);
    const query = "q";
    const cases: readonly (readonly [input: Record<string, unknown>, code: string, says: RegExp])[] = [
      [{ path: "a.txt" }, "invalid_request", /Give a query to find passages, or output/],
      [{ path: "blank.txt", query }, "invalid_request", /hold no text/],
      [
        { path: "many.txt", query },
        "invalid_request",
        /300 passages and a call may have 256: name fewer files, or lines/,
      ],
      [{ path: "a.txt", files: ["cat.png"], query }, "invalid_request", /leave out image files/],
      [{ path: "none.txt", query }, "not_found", /none\.txt/],
      [
        { path: "a.txt", query, model: "tinyllama" },
        "invalid_request",
        /does not support embeddings.*LLM_EMBEDDING_MODELS/,
      ],
      [{ path: "a.txt", query, model: "nope" }, "model_not_installed", /ollama pull nope/],
    ];
    for (const [input, code, says] of cases) {
      const outcome = await callTool(it.tool, input, reader());
      assert.equal(codeOf(outcome), code, JSON.stringify(input));
      assert.match(messageOf(outcome), says);
    }
    for (
      const [fault, code] of [
        ["invalid_json_line", "bad_upstream"],
        ["html_200", "not_ollama"],
        ["reset_mid_stream", "bad_upstream"],
      ] as const
    ) {
      ollama.play(fault);
      assert.equal(codeOf(await callTool(it.tool, { path: "a.txt", query }, reader())), code, fault);
    }
    using impatient = toolFor(ollama, workspace, { totalMs: 100 });
    ollama.play("silent");
    assert.equal(codeOf(await callTool(impatient.tool, { path: "a.txt", query }, reader())), "timeout_first_byte");
    for (
      const input of [{}, { path: "" }, { path: "a", query, limit: 0 }, { texts: ["a"] }]
    ) {
      assert.ok(!parseInput(it.tool, input).ok, JSON.stringify(input));
    }
  });
});
