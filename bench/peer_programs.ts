/**
 * The servers that Portcullis is measured beside, each with the tools `echo` and `file_read`, written as its own
 * documentation shows. The second reads the file that `PEER_FILE` names, whatever its arguments, and confines nothing.
 * With `PEER_TOOLS`, a file of definitions as `tools/list` shows them, they have these tools instead, which nothing calls.
 * They are installed for a run of the benchmark and are no dependencies of ours.
 */

/** What npm installs, in exactly these versions. */
export const peerPackages: readonly string[] = [
  "mcp-lite@0.10.0",
  "@modelcontextprotocol/sdk@1.32.2",
  "@modelcontextprotocol/server@2.4.0",
  "zod@4.6.7",
];

/** The same and what only the benchmark of starts runs beside. */
export const startPeerPackages: readonly string[] = [
  ...peerPackages,
  "@modelcontextprotocol/node@2.1.2",
  "@modelcontextprotocol/server-everything@2026.8.31",
  "@modelcontextprotocol/server-filesystem@2026.8.31",
];

/** One program that listens on any free port of loopback and prints where. */
export interface PeerProgram {
  readonly runtime: "deno" | "node";
  readonly source: string;
}

/** The definitions, parsed once. */
const listedTools = `
import { readFileSync } from "node:fs";
import { env } from "node:process";
const listed = env.PEER_TOOLS === undefined ? [] : JSON.parse(readFileSync(env.PEER_TOOLS, "utf8"));
`;

/** `mcp-lite`, without sessions: its README's quick start, on Deno.serve instead of Hono. */
export const mcpLite: PeerProgram = {
  runtime: "deno",
  source: `
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";
${listedTools}
const mcp = new McpServer({ name: "echo", version: "1.0.0", schemaAdapter: (schema) => z.toJSONSchema(schema) });
if (listed.length === 0) {
  mcp.tool("echo", {
    description: "Answers with the text it was given.",
    inputSchema: z.object({ text: z.string().describe("What to answer with") }),
    handler: ({ text }) => ({ content: [{ type: "text", text }] }),
  });
  mcp.tool("file_read", {
    description: "Reads a file.",
    inputSchema: z.object({ filename: z.string() }),
    handler: async () => ({ content: [{ type: "text", text: await Deno.readTextFile(Deno.env.get("PEER_FILE")) }] }),
  });
}
for (const { name, ...definition } of listed) mcp.tool(name, { ...definition, handler: () => ({ content: [] }) });
const handler = new StreamableHttpTransport().bind(mcp);
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => handler(request));
console.log("listening on http://127.0.0.1:" + server.addr.port + " ");
`,
};

const sdkV1 = `
${listedTools}
const schemas = listed.map(({ inputSchema, outputSchema, ...definition }) => ({
  ...definition,
  inputSchema: z.fromJSONSchema(inputSchema),
  ...(outputSchema === undefined ? {} : { outputSchema: z.fromJSONSchema(outputSchema) }),
}));
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/v4";
const getServer = () => {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  for (const { name, ...definition } of schemas) server.registerTool(name, definition, () => ({ content: [] }));
  if (schemas.length > 0) return server;
  server.registerTool("echo", {
    description: "Answers with the text it was given.",
    inputSchema: { text: z.string().describe("What to answer with") },
  }, async ({ text }) => ({ content: [{ type: "text", text }] }));
  server.registerTool("file_read", { description: "Reads a file.", inputSchema: { filename: z.string() } },
    async () => ({ content: [{ type: "text", text: await readFile(process.env.PEER_FILE, "utf8") }] }));
  return server;
};
const app = createMcpExpressApp();
const listener = app.listen(0, "127.0.0.1", () => console.log("listening on http://127.0.0.1:" + listener.address().port + " "));
`;

/** The official SDK v1 without sessions: its example `simpleStatelessStreamableHttp`, without the console lines. */
export const sdkV1Stateless: PeerProgram = {
  runtime: "node",
  source: `${sdkV1}
app.post("/mcp", async (req, res) => {
  const server = getServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
  res.on("close", () => {
    transport.close();
    server.close();
  });
});
`,
};

/** The official SDK v1 with sessions: its example `simpleStreamableHttp`, without the event store that only grows. */
export const sdkV1Stateful: PeerProgram = {
  runtime: "node",
  source: `${sdkV1}
const transports = new Map();
app.post("/mcp", async (req, res) => {
  const known = transports.get(req.headers["mcp-session-id"]);
  if (known !== undefined) return await known.handleRequest(req, res, req.body);
  if (!isInitializeRequest(req.body)) return res.status(404).end();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  transport.onclose = () => void transports.delete(transport.sessionId);
  await getServer().connect(transport);
  await transport.handleRequest(req, res, req.body);
});
`,
};

const sdkV2Handler = `
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { readFile } from "node:fs/promises";
import process from "node:process";
${listedTools}
const schemas = listed.map(({ inputSchema, outputSchema, ...definition }) => ({
  ...definition,
  inputSchema: fromJsonSchema(inputSchema),
  ...(outputSchema === undefined ? {} : { outputSchema: fromJsonSchema(outputSchema) }),
}));
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  for (const { name, ...definition } of schemas) server.registerTool(name, definition, () => ({ content: [] }));
  if (schemas.length > 0) return server;
  server.registerTool("echo", {
    description: "Answers with the text it was given.",
    inputSchema: z.object({ text: z.string().describe("What to answer with") }),
  }, async ({ text }) => ({ content: [{ type: "text", text }] }));
  server.registerTool("file_read", { description: "Reads a file.", inputSchema: z.object({ filename: z.string() }) },
    async () => ({ content: [{ type: "text", text: await readFile(process.env.PEER_FILE, "utf8") }] }));
  return server;
});
`;

/** The official SDK v2: its entry for fetch runtimes, which serves both eras. */
export const sdkV2: PeerProgram = {
  runtime: "deno",
  source: `${sdkV2Handler}
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => handler.fetch(request));
console.log("listening on http://127.0.0.1:" + server.addr.port + " ");
`,
};

/** The same on Node, by the SDK's own adapter. */
export const sdkV2OnNode: PeerProgram = {
  runtime: "node",
  source: `${sdkV2Handler}
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
const listener = createServer(toNodeHandler(handler));
listener.listen(0, "127.0.0.1", () => console.log("listening on http://127.0.0.1:" + listener.address().port + " "));
`,
};
