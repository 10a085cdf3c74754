/** What clients show of a tool, and how they judge it before they call it. */
import assert from "node:assert/strict";
import { toObjectSchema } from "../../src/mcp/registry.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { changingFileTools, everyTool, readingFileTools } from "../fixtures/every_tool.ts";

Deno.test("every tool has a title and all annotations, and only what changes something may be destructive", () => {
  for (const tool of everyTool) {
    const { name, title, annotations = {} }: Tool = tool;
    assert.ok(title, name);
    for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const) {
      assert.equal(typeof annotations[hint], "boolean", `${hint} of ${name}`);
    }
    if (annotations.readOnlyHint === true) assert.equal(annotations.destructiveHint, false, name);
  }
  for (const { name, annotations } of readingFileTools) assert.equal(annotations?.readOnlyHint, true, name);
  for (const { name, annotations } of changingFileTools) assert.equal(annotations?.readOnlyHint, false, name);
});

Deno.test("the documentation names parameters as the tools list them, not by other names that they accept", async () => {
  const listed = new Set(
    everyTool.flatMap(({ input }) => Object.keys(toObjectSchema(input, "input")["properties"] ?? {})),
  );
  const accepted = everyTool.flatMap(({ aliases = {} }) => Object.keys(aliases));
  const former = new Set(accepted.filter((name) => /[_A-Z]/.test(name) && !listed.has(name)));
  assert.ok(former.has("if_match"));
  const docs = new URL("../../docs/", import.meta.url);
  const wrong: string[] = [];
  for (const { name } of Deno.readDirSync(docs)) {
    if (!name.endsWith(".md")) continue;
    const page = await Deno.readTextFile(new URL(name, docs));
    for (const [, word = ""] of page.matchAll(/`(\w+)`/g)) if (former.has(word)) wrong.push(`${name}: ${word}`);
  }
  assert.deepEqual(wrong, []);
});
