/** What clients show of a tool, and how they judge it before they call it. */
import assert from "node:assert/strict";
import { toObjectSchema } from "../../src/mcp/registry.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { llmTools } from "../../src/llm/llm_models.ts";
import { servicenowTools } from "../../src/servicenow/servicenow_tools.ts";

const unused = {} as never;
const reading = [fileReadTool(unused), fileListTool(unused), fileSearchTool(unused)];
const changing = [
  ...[fileWriteTool, fileEditTool, fileMoveTool, fileDeleteTool, fileUndoTool].map((make) => make(unused)),
];
const others = [
  ...llmTools({ model: unused, models: ["m"], workspace: unused, clock: unused }),
  ...servicenowTools(unused, { files: unused, writing: true }),
];

Deno.test("every tool has a title and all annotations, and only what changes something may be destructive", () => {
  for (const tool of [...reading, ...changing, ...others]) {
    const { name, title, annotations = {} }: Tool = tool;
    assert.ok(title, name);
    for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const) {
      assert.equal(typeof annotations[hint], "boolean", `${hint} of ${name}`);
    }
    if (annotations.readOnlyHint === true) assert.equal(annotations.destructiveHint, false, name);
  }
  for (const { name, annotations } of reading) assert.equal(annotations?.readOnlyHint, true, name);
  for (const { name, annotations } of changing) assert.equal(annotations?.readOnlyHint, false, name);
});

Deno.test("the documentation names parameters as the tools list them, not by other names that they accept", async () => {
  const tools: readonly Tool[] = [...reading, ...changing, ...others];
  const listed = new Set(tools.flatMap(({ input }) => Object.keys(toObjectSchema(input, "input")["properties"] ?? {})));
  const accepted = tools.flatMap(({ aliases = {} }) => Object.keys(aliases));
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
