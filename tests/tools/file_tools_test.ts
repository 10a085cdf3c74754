import assert from "node:assert/strict";
import { z } from "zod";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import type { Tool, ToolOutcome } from "../../src/mcp/tool.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { callTool } from "../workspace/call_tool.ts";
import { makeConfinedBase } from "../workspace/confined_base.ts";
import { toFlatSchema, toObjectSchema } from "../../src/mcp/registry.ts";

interface FileTools {
  readonly root: string;
  readonly read: Tool;
  readonly write: Tool;
  readonly list: Tool;
}

Deno.test("what file_write wrote, file_read gives back exactly and file_list names", () =>
  withTools(async ({ read, write, list }) => {
    const content = "\ufeffline one\r\nline two\tdéjà vu \u202e 😀\u0000 end";
    const written = await callTool(write, { filename: "notes/today.txt", content });
    assert.ok(written.ok);
    assert.equal(written.structuredContent?.["created"], true);
    const answer = await callTool(read, { filename: "notes/today.txt" });
    assert.ok(answer.ok);
    assert.equal(answer.structuredContent?.["content"], content);
    assert.equal(answer.structuredContent?.["sha256"], written.structuredContent?.["sha256"]);
    const listed = await callTool(list, {});
    assert.ok(listed.ok);
    assert.deepEqual(listed.content, [{ type: "text", text: "notes/" }]);
    const below = await callTool(list, { path: "notes" });
    assert.ok(below.ok);
    assert.deepEqual(below.structuredContent?.["entries"], [{ name: "today.txt", kind: "file" }]);
  }));

Deno.test("an empty text file and an empty directory are answers, not errors", () =>
  withTools(async ({ root, read, list }) => {
    assert.deepEqual(content(await callTool(list, {})), "(no entries)");
    Deno.writeTextFileSync(`${root}/a`, "");
    assert.deepEqual(content(await callTool(read, { filename: "a" })), "");
  }));

const refusals: readonly (readonly ["read" | "write" | "list", Record<string, unknown>, string])[] = [
  ["read", { filename: "" }, "filename parameter is required"],
  ["write", { filename: "", content: "" }, "filename parameter is required"],
  ["read", { filename: "../a" }, "Invalid filename - path traversal not allowed"],
  [
    "read",
    { filename: "/etc/passwd" },
    "Invalid filename - path traversal not allowed; paths are relative to the workspace: etc/passwd",
  ],
  [
    "read",
    { filename: "a\\b" },
    "Invalid filename - path traversal not allowed; paths are relative to the workspace: a/b",
  ],
  [
    "read",
    { filename: "C:a" },
    "Invalid filename - path traversal not allowed; paths are relative to the workspace: a",
  ],
  ["write", { filename: "a/../../b", content: "" }, "Invalid filename - path traversal not allowed"],
  ["list", { path: ".." }, "Invalid path - path traversal not allowed"],
  ["read", { filename: "a\u0007" }, "Invalid filename - control characters and line separators are not allowed"],
  ["read", { filename: "\ud800" }, "Invalid filename - it is not valid Unicode (unpaired surrogate)"],
  ["read", { filename: "text/" }, "Invalid filename - a file name does not end in a slash; did you mean text?"],
  ["read", { filename: "none\u202e.txt" }, "Failed to read file: no such file or directory (none\\u{202E}.txt)"],
  ["read", { filename: "folder" }, "Failed to read file: it is a directory; file_list lists it (folder)"],
  [
    "read",
    { filename: "binary" },
    "Failed to read file: it is binary: no text, and no known image or audio format (binary)",
  ],
  [
    "read",
    { filename: "out" },
    "Failed to read file: access denied - a link in the path leads outside the workspace (out)",
  ],
  ["write", { filename: "folder", content: "" }, "Failed to write file: it is a directory; name a file in it (folder)"],
  [
    "write",
    { filename: "a:b", content: "" },
    "Invalid filename - path traversal not allowed; paths are relative to the workspace: b",
  ],
  ["write", { filename: "ab:c", content: "" }, "Failed to write file: a new name may not hold a colon (ab:c)"],
  [
    "write",
    { filename: "a", content: "\udfff" },
    "Failed to write file: the content is not valid Unicode (unpaired surrogate)",
  ],
  ["list", { path: "none" }, "Failed to list directory: no such file or directory (none)"],
  [
    "list",
    { path: "text/none" },
    "Failed to list directory: it, or a part of its path, is a file and not a directory; leave out what follows the file's name (text/none)",
  ],
];

Deno.test("refusals say what is wrong, in the documents' words, without a path outside", () =>
  withTools(async (tools) => {
    Deno.mkdirSync(`${tools.root}/folder`);
    Deno.writeTextFileSync(`${tools.root}/text`, "text");
    Deno.writeFileSync(`${tools.root}/binary`, Uint8Array.of(0xff, 0xfe, 0));
    Deno.symlinkSync("/etc/passwd", `${tools.root}/out`);
    for (const [tool, input, message] of refusals) {
      const outcome = await callTool(tools[tool], input);
      assert.equal(outcome.ok ? "ok" : outcome.message, message, JSON.stringify(input));
      assert.match(outcome.ok ? "" : outcome.code, /^[a-z][a-z_]+$/);
    }
  }));

Deno.test("the file tools' schemas are flat objects of described primitives, with hints and scopes", () =>
  withTools(({ read, write, list }) => {
    for (const tool of [read, write, list]) {
      const schema = toFlatSchema(toObjectSchema(tool.input, "input"));
      assert.equal(schema.type, "object");
      for (const property of Object.values(schema["properties"] as Record<string, Record<string, unknown>>)) {
        assert.ok(typeof property === "object" && property["description"]);
        assert.ok(["string", "integer", "boolean"].includes(String(property["type"])), JSON.stringify(property));
      }
      assert.equal(tool.annotations.openWorldHint, false);
      assert.equal(tool.annotations.readOnlyHint, tool.name !== "file_write");
      assert.deepEqual(tool.scopes, [tool.name === "file_write" ? "files:write" : "files:read"]);
    }
    assert.deepEqual(z.toJSONSchema(read.input, { io: "input" }).required, ["filename"]);
    assert.deepEqual(z.toJSONSchema(write.input, { io: "input" }).required, ["filename", "content"]);
    assert.equal(z.toJSONSchema(list.input, { io: "input" }).required, undefined);
  }));

function content(outcome: ToolOutcome): string {
  assert.ok(outcome.ok);
  const [block] = outcome.content;
  assert.ok(block?.type === "text");
  return block.text;
}

async function withTools(body: (tools: FileTools) => void | Promise<void>): Promise<void> {
  const scene = makeConfinedBase();
  const workspace = openDiskWorkspace({ root: scene.root });
  try {
    await body({
      root: scene.root,
      read: fileReadTool(() => workspace),
      write: fileWriteTool(() => workspace),
      list: fileListTool(() => workspace),
    });
  } finally {
    await workspace.close();
    scene.remove();
  }
}
