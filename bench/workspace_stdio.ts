/** The file tools over stdio with the official SDK's server: the same carrier as the server they are compared with. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  type CallToolRequest,
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { ToolContext } from "../src/mcp/tool.ts";
import { fileListTool } from "../src/tools/file_list.ts";
import { fileReadTool } from "../src/tools/file_read.ts";
import { fileSearchTool } from "../src/tools/file_search.ts";
import { fileWriteTool } from "../src/tools/file_write.ts";
import { quietCaller } from "../tests/fixtures/quiet_context.ts";
import { openDiskWorkspace } from "../src/workspace/disk_workspace.ts";

const [root] = Deno.args;
if (root === undefined) throw new Error("usage: workspace_stdio.ts ROOT");
const maxBytes = 16 * 1024 * 1024;
const workspace = openDiskWorkspace({
  root,
  limits: { maxReadBytes: maxBytes, maxWriteBytes: maxBytes, maxListEntries: 1000 },
});
const tools = [fileReadTool(workspace), fileWriteTool(workspace), fileListTool(workspace), fileSearchTool(workspace)];
const context: ToolContext = {
  principal: {
    subject: "bench",
    clientId: "bench",
    grantId: "bench",
    tokenId: "bench",
    scopes: new Set(),
    expiresAt: Number.MAX_SAFE_INTEGER,
  },
  signal: new AbortController().signal,
  progress: () => {},
  ...quietCaller,
};
const server = new Server({ name: "portcullis-files", version: "0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: tools.map(({ name, description, input }) => ({
    name,
    description,
    inputSchema: { ...z.toJSONSchema(input, { io: "input" }), type: "object" as const },
  })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }: CallToolRequest) => {
  const tool = tools.find(({ name }) => name === params.name);
  if (tool === undefined) throw new Error(`Unknown tool: ${params.name}`);
  const outcome = await tool.run(tool.input.parse(params.arguments ?? {}) as never, context);
  if (!outcome.ok) return { content: [{ type: "text" as const, text: outcome.message }], isError: true };
  return { content: [...outcome.content], structuredContent: { ...outcome.structuredContent } };
});
await server.connect(new StdioServerTransport());
