/** Where `link` is offered: over HTTP, but to ServiceNow, whose agents have no place to fetch an address from. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { withWorkspace } from "../tools/with_workspace.ts";

interface Listed {
  readonly name: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required?: readonly string[];
  };
}

Deno.test("file_read and file_write list link for agents, and not for ServiceNow's, whose content is required", async () => {
  for (const [profile, isOffered] of [["spec", true], ["servicenow", false]] as const) {
    await withFileServer({ env: { COMPATIBILITY: profile } }, async ({ server, token }) => {
      const listed = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token });
      const tools: readonly Listed[] = (await listed.json()).result.tools;
      for (const tool of tools.filter(({ name }) => ["file_read", "file_write"].includes(name))) {
        assert.equal("link" in tool.inputSchema.properties, isOffered, `${profile} ${tool.name}`);
        assert.ok(!JSON.stringify(tool).includes('"flat"'), "marks are our own");
      }
      const write = tools.find(({ name }) => name === "file_write");
      assert.deepEqual(write?.inputSchema.required, isOffered ? ["filename"] : ["filename", "content"]);
    });
  }
});

Deno.test("without HTTP there is no link, and a call that asks for one is told so", () =>
  withWorkspace(({ workspace }) => {
    const registry = createToolRegistry([fileReadTool(() => workspace), fileWriteTool(() => workspace)]);
    for (const registered of registry.all()) {
      assert.ok(!registered.parameters.has("link"));
      const parsed = parseToolInput(registered, { filename: "a", content: "", link: true });
      assert.ok(!parsed.ok);
      assert.match(parsed.error, new RegExp(`${registered.tool.name} has no (content, )?link`));
    }
  }));
