/** The tool of docs/tools.md, taken out of the page, does what the page says. */
import assert from "node:assert/strict";
import type { Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry } from "../../src/mcp/offers/tool_registry.ts";
import { createHarness, toolCall } from "./harness.ts";

interface Documented {
  wordCountTool(source: { read(filename: string): Promise<string | null> }): Tool;
}

Deno.test("docs/tools.md: the example is a working tool", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/tools.md", import.meta.url));
  const code = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? assert.fail("no example");
  const toolModule = new URL("../../src/mcp/tool.ts", import.meta.url).href;
  const source = code.replace('"../mcp/tool.ts"', JSON.stringify(toolModule));
  const { wordCountTool }: Documented = await import(`data:application/typescript,${encodeURIComponent(source)}`);
  const tool = wordCountTool({ read: (filename) => Promise.resolve(filename === "a.txt" ? "one two two" : null) });
  const { post } = createHarness({ tools: createToolRegistry([tool]) });
  const ask = async (args: unknown) => (await (await post(toolCall("word_count", args))).json()).result;
  assert.deepEqual((await ask({ filename: "a.txt" })).structuredContent, { words: 3 });
  assert.deepEqual((await ask({ filename: "a.txt", unique: true })).structuredContent, { words: 2 });
  assert.equal((await ask({ filename: "b.txt" })).isError, true);
});
