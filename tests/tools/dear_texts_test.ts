/** No text of a call to the file tools, nor of a model's answer, is dearer than its length. */
import assert from "node:assert/strict";
import { placeReader } from "../../src/app/approval.ts";
import { takingMachinePaths } from "../../src/app/protocol_server.ts";
import { placesOf } from "../../src/console/approvals/rule.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { parseAnswer } from "../../src/llm/ask.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { assertCheap, frames } from "../fixtures/dear_texts.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { withWorkspace } from "./with_workspace.ts";

const needed: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  file_read: { filename: "notes/a.txt" },
  file_write: { filename: "notes/a.txt", content: "x", mode: "create" },
  file_edit: { path: "notes/a.txt", old_text: "not there", new_text: "x", dry_run: true },
  file_list: {},
  file_search: { query: "x" },
  file_move: { path: "not there", destination: "nor there" },
  file_delete: { path: "not there" },
  file_undo: {},
};

Deno.test("no text of a call to the file tools is dearer than its length", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/notes`);
    Deno.writeTextFileSync(`${root}/notes/a.txt`, "alpha beta\n".repeat(100));
    const makers = [fileReadTool, fileWriteTool, fileEditTool, fileListTool, fileSearchTool, fileMoveTool];
    const tools = [
      ...makers.map((make) => make(() => workspace)),
      fileDeleteTool(() => workspace),
      fileUndoTool(() => workspace),
    ];
    const registry = createToolRegistry(tools.map((tool) => takingMachinePaths(tool, () => workspace)));
    const context = {
      ...{ principal: principalOf("owner"), signal: new AbortController().signal, progress: () => {} },
      ...quietCaller,
    };
    let calls = 0;
    for (const { name } of tools) {
      const registered = registry.get(name) ?? assert.fail(name);
      const act = async (parameter: string, value: unknown): Promise<void> => {
        calls++;
        const parsed = parseToolInput(registered, { ...needed[name], [parameter]: value });
        if (!parsed.ok) return;
        placesOf(registered.tool, parsed.value, placeReader);
        await registered.tool.run(parsed.value as never, context);
      };
      const { properties = {} } = registered.wholeSchema as {
        properties?: Record<string, { type?: string; items?: { type?: string } }>;
      };
      for (const [parameter, { type, items }] of Object.entries(properties)) {
        if (type !== "string" && items?.type !== "string") continue;
        const valueOf = (text: string): unknown => type === "string" ? text : [text, text];
        const around = [...frames, (text: string) => `notes/a.txt:${text}!`];
        await assertCheap(`${name} ${parameter}`, (text) => act(parameter, valueOf(text)), around);
      }
    }
    assert.ok(calls > 1_000, `${calls} calls`);
  });
});

Deno.test("no text of a model is dearer than its length where JSON is looked for", async () => {
  await assertCheap("an answer", (text) => parseAnswer(text, null), [
    ...frames,
    (text) => `\`\`\`json\n${text}`,
    (text) => `{${text}`,
  ]);
});

Deno.test("JSON is found in fences, whatever else is in fences before it", () => {
  const found = (text: string): unknown => {
    const answer = parseAnswer(text, null);
    return answer.ok ? answer.value : answer.error.code;
  };
  const expected = { parsed: { a: 1 }, text: '{"a": 1}' };
  for (
    const text of [
      '```json\n{"a": 1}\n```',
      'So:\n```JSON\n\n{"a": 1}\n\n  ```\nas asked.',
      '```\n{"a": 1}\n```',
      'First\n```python\nprint("{}")\n```\nthen\n```json\n{"a": 1}\n```',
    ]
  ) assert.deepEqual(found(text), expected, text);
  assert.equal(found("```json\n" + "\n".repeat(100)), "model_failed");
});
