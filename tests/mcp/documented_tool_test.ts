/** The tool of docs/tools.md, taken out of the page, does what the page says. */
import assert from "node:assert/strict";
import type { Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import type { WorkspaceSource } from "../../src/files/workspace/port.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { createHarness, toolCall } from "./harness.ts";

interface Documented {
  wordCountTool(source: WorkspaceSource): Tool;
}

Deno.test("docs/tools.md: the example is a working tool", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/tools.md", import.meta.url));
  const [, path = "", code = ""] = /`(src\/files\/tools\/[^`]+)`:\n\n```ts\n([^]*?)```/.exec(page) ??
    assert.fail("no example");
  const home = new URL(`../../${path}`, import.meta.url);
  const source = code.replace(/"(\.[^"]+)"/g, (_, specifier) => JSON.stringify(new URL(specifier, home).href));
  const { wordCountTool }: Documented = await import(`data:application/typescript,${encodeURIComponent(source)}`);
  await withWorkspace(async ({ root, workspace }) => {
    await Deno.writeTextFile(`${root}/a.txt`, "one two two");
    const { post } = createHarness({ tools: createToolRegistry([wordCountTool(() => workspace)]) });
    const ask = async (args: unknown) => (await (await post(toolCall("word_count", args))).json()).result;
    assert.deepEqual((await ask({ filename: "a.txt" })).structuredContent, { words: 3 });
    assert.deepEqual((await ask({ filename: "a.txt", unique: true })).structuredContent, { words: 2 });
    assert.equal((await ask({ filename: "b.txt" })).isError, true);
  });
});
