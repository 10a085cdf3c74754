/** Absolute paths into the workspace and Windows's separators, in calls of a tool behind the wrapper. */
import assert from "node:assert/strict";
import { takingMachinePaths } from "../../src/app/protocol_server.ts";
import type { Tool, ToolContext } from "../../src/mcp/tool.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { principalOf } from "./call_tool.ts";

Deno.test("absolute paths into the workspace are paths below it, before rules and tools see them; others stay", () =>
  withWorkspace(({ root, outside, workspace }) => {
    let seen: unknown;
    const inner = {
      run: (input: unknown) => {
        seen = input;
        return { ok: true, content: [] };
      },
    } as unknown as Tool;
    const tool = takingMachinePaths(inner, () => workspace);
    const context = { principal: principalOf("a"), signal: new AbortController().signal } as ToolContext;
    const cases: readonly [unknown, unknown][] = [
      [{ path: `${root}/a/b.txt` }, { path: "a/b.txt" }],
      [{ path: root }, { path: "." }],
      [{ path: `${root}/` }, { path: "." }],
      [{ filename: `${root}/a:2-4`, files: [`${root}/b`, "c"] }, { filename: "a:2-4", files: ["b", "c"] }],
      [{ path: "x", destination: `${root}/a` }, { path: "x", destination: "a" }],
      [{ paths: [`${root}/a`] }, { paths: ["a"] }],
      [{ edits: [{ path: `${root}/a`, old_text: `${root}/a` }] }, { edits: [{ path: "a", old_text: `${root}/a` }] }],
      [{ files: [{ filename: `${root}/a`, content: root }] }, { files: [{ filename: "a", content: root }] }],
      [{ messages: [{ content: root, files: [`${root}/a`] }] }, { messages: [{ content: root, files: ["a"] }] }],
      [{ path: "docs\\a\\b.md" }, { path: "docs/a/b.md" }],
      [{ path: `${root}/a\\u{5C}b\\x{FF}.txt` }, { path: "a\\u{5C}b\\x{FF}.txt" }], // as answers show names
      [{ path: `${root}\\d\\u{A0}b` }, { path: "d\\u{A0}b" }],
      [{ path: ".\\a" }, { path: "./a" }],
      [{ filename: `file://${root}/a%20b:2-4` }, { filename: "a b:2-4" }],
      [{ path: `file://localhost${root}` }, { path: "." }],
      [{ paths: [`FILE:${root}/a`] }, { paths: ["a"] }],
      [{ path: "workspace:///a%20b/c" }, { path: "a b/c" }],
      [{ filename: "a", against: `${root}/b` }, { filename: "a", against: "b" }],
      [{ pattern: `${root}/src/*.ts`, exclude: [`${root}/b`, "c"] }, { pattern: "src/*.ts", exclude: ["b", "c"] }],
      // what they are not
      [{ path: "file:///etc/passwd" }, { path: "/etc/passwd" }], // which every tool refuses
      [{ path: `file://${root}/%2e%2e/x` }, { path: "../x" }],
      [{ path: `file://host${root}/a` }, { path: `file://host${root}/a` }],
      [{ path: `file://${root}/%ff` }, { path: `file://${root}/%ff` }],
      [{ path: "file:a" }, { path: "file:a" }],
      [{ pattern: "src\\*.ts", exclude: ["a\\b"] }, { pattern: "src\\*.ts", exclude: ["a\\b"] }],
      [{ path: `${root}x/a` }, { path: `${root}x/a` }],
      [{ path: `${outside}/a` }, { path: `${outside}/a` }],
      [{ path: "/etc/passwd" }, { path: "/etc/passwd" }],
      [{ path: `${root}/../x` }, { path: "../x" }], // which every tool refuses
      [{ path: "a\\..\\b" }, { path: "a\\..\\b" }],
      [{ path: "C:\\a" }, { path: "C:\\a" }],
      [{ path: "a\\u{5C}b" }, { path: "a\\u{5C}b" }],
      [{ query: `${root}/a`, content: "a\\b" }, { query: `${root}/a`, content: "a\\b" }],
      [{ path: 5, files: null }, { path: 5, files: null }],
    ];
    for (const [sent, meant] of cases) {
      tool.run(sent as never, context);
      assert.deepEqual(seen, meant, JSON.stringify(sent));
    }
  }));
