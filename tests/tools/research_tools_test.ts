/** `search` and `fetch`, which ChatGPT's deep research needs, and which no other client sees. */
import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import { type FileServer, withFileServer } from "../fixtures/file_server.ts";
import { researchTools } from "../../src/files/tools/research_tools.ts";
import type { Tool, ToolContext } from "../../src/mcp/tool.ts";
import { postMcp } from "../fixtures/mcp_call.ts";

function fill(root: string): void {
  Deno.mkdirSync(join(root, "notes"));
  Deno.writeTextFileSync(join(root, "notes/revenue plan.md"), "# Plan\nThe quarterly revenue grows.\n");
  Deno.writeTextFileSync(join(root, "notes/other.md"), "Revenue of last year\n");
  Deno.writeFileSync(join(root, "picture.png"), new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0]));
}

async function begin({ server, token }: FileServer, name: string): Promise<void> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name, version: "1" } };
  const headers = { accept: "application/json" };
  const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "initialize", params }, {
    token,
    headers,
  });
  assert.equal(response.status, 200, await response.text());
}

async function toolNames({ server, token }: FileServer): Promise<string[]> {
  const response = await postMcp(server.url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, { token });
  const { result } = await response.json();
  return result.tools.map(({ name }: { name: string }) => name);
}

Deno.test("ChatGPT gets search and fetch in the shapes that OpenAI documents; other clients do not see them", async () => {
  await withFileServer({ fill }, async (files) => {
    await begin(files, "a-client");
    const usual = await toolNames(files);
    assert.ok(!usual.includes("search") && !usual.includes("fetch"));
    assert.match(await files.refused("search", { query: "revenue" }), /Unknown tool: search; did you mean file_search/);

    await begin(files, "openai-mcp");
    assert.deepEqual(await toolNames(files), [...usual, "search", "fetch"]);
    const found = await files.done("search", { query: "What is the quarterly Revenue plan?" });
    assert.deepEqual(JSON.parse(found.text), found.structured);
    const results = found.structured["results"] as { id: string; title: string; url: string }[];
    assert.deepEqual(results.map(({ id }) => id), ["notes/revenue plan.md", "notes/other.md"]);
    for (const result of results) assert.deepEqual(Object.keys(result), ["id", "title", "url"]);
    assert.equal(results[0]?.url, "workspace:///notes/revenue%20plan.md");
    const none = await files.done("search", { query: "zebra" });
    assert.deepEqual(none.structured, { results: [] });
    assert.match(await files.refused("search", { query: "?!" }), /query has no word/);

    const read = await files.done("fetch", { id: "notes/revenue plan.md" });
    assert.deepEqual(JSON.parse(read.text), read.structured);
    const { metadata, ...document } = read.structured as Record<string, unknown>;
    assert.deepEqual(document, {
      id: "notes/revenue plan.md",
      title: "notes/revenue plan.md",
      text: "# Plan\nThe quarterly revenue grows.\n",
      url: "workspace:///notes/revenue%20plan.md",
    });
    for (const value of Object.values(metadata as object)) assert.equal(typeof value, "string");
    assert.match(await files.refused("fetch", { id: "../outside" }), /outside|workspace|path/i);
    assert.match(await files.refused("fetch", { id: "missing.md" }), /missing\.md|no such|does not exist/i);
    assert.match(await files.refused("fetch", { id: "picture.png" }), /no text/);

    await begin(files, "a-client");
    assert.deepEqual(await toolNames(files), usual);
  });
});

Deno.test("search finds files by one word or several of their names, in any case and of any length", async () => {
  const names = ["Budget.txt", "low budget.txt", "BILANZ ÜBER ALLES.md"];
  const fillNames = (root: string): void => {
    for (const name of names) Deno.writeTextFileSync(join(root, name), "x\n");
    Deno.writeTextFileSync(join(root, "c.txt"), "The budget\n");
  };
  await withFileServer({ fill: fillNames }, async (files) => {
    await begin(files, "openai-mcp");
    const found = async (query: string): Promise<string[]> => {
      const { structured } = await files.done("search", { query });
      return (structured["results"] as { id: string }[]).map(({ id }) => id).sort();
    };
    for (const query of ["budget", "Budget", "BUDGET"]) {
      assert.deepEqual(await found(query), ["Budget.txt", "c.txt", "low budget.txt"], query);
    }
    assert.deepEqual(await found("low"), ["low budget.txt"]);
    assert.deepEqual(await found("Low Zebra"), ["low budget.txt"]);
    assert.deepEqual(await found("über"), ["BILANZ ÜBER ALLES.md"]);
    assert.deepEqual(await found(`${"z".repeat(400)} Bilanz`), ["BILANZ ÜBER ALLES.md"]);
    const long = Array.from({ length: 6 }, (_, at) => `𠮷${at}`.repeat(80).slice(0, 160)).join(" ");
    assert.deepEqual(await found(long), []);
  });
});

Deno.test("search asks for names once and for each word's texts, and answers in its time with what it has found", async () => {
  const asked: unknown[] = [];
  const slow = (name: string): Tool => ({
    ...{ name, title: name, description: "", scopes: ["files:read"], annotations: {}, input: z.looseObject({}) },
    async run(input: Record<string, unknown>, { signal }) {
      asked.push(input["pattern"] ?? input["query"]);
      if (asked.length > 2) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { ok: true, content: [], structuredContent: { matches: [{ filename: "a.md" }] } };
    },
  });
  const context = { signal: new AbortController().signal } as ToolContext;
  const [search] = researchTools(slow, { maxSearchMs: 1_000 });
  const outcome = await search?.run({ query: "one three four fives sixteen seventy eighty" } as never, context);
  assert.ok(outcome?.ok);
  assert.deepEqual(asked, ["{*sixteen*,*seventy*,*eighty*,*three*,*fives*,*four*}", "sixteen", "seventy"]);
  assert.deepEqual(outcome.structuredContent, {
    results: [{ id: "a.md", title: "a.md", url: "workspace:///a.md" }],
  });
});

Deno.test("search and fetch go through the tools behind the rules, and pass a refusal on", async () => {
  const asked: string[] = [];
  const behindRules = (name: string): Tool => ({
    ...{ name, title: name, description: "", scopes: ["files:read"], annotations: {}, input: z.looseObject({}) },
    run: () => {
      asked.push(name);
      return { ok: false, code: "denied", message: "a rule refuses this" };
    },
  });
  for (const tool of researchTools(behindRules)) {
    const outcome = await tool.run({ query: "revenue", id: "a.md" } as never, {} as never);
    assert.deepEqual(outcome, { ok: false, code: "denied", message: "a rule refuses this" }, tool.name);
  }
  assert.deepEqual(asked, ["file_search", "file_read"]);
  assert.deepEqual(researchTools(() => undefined), []);
});
