/** Peers with sessions of 2025-11-25, on Deno, as their own documentation shows: for the memory of a session and a stream. */

const listen = (handler: string): string => `
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log("listening on http://127.0.0.1:" + port + "/mcp") }, ${handler});
setInterval(() => globalThis.gc(), 500);
`;

/** Their names and programs. */
export const sessionPeers: Readonly<Record<string, string>> = {
  "mcp-lite": `
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
const mcp = new McpServer({ name: "bench", version: "1.0.0" });
mcp.tool("echo", { description: "Answers.", handler: () => ({ content: [{ type: "text", text: "hello" }] }) });
const transport = new StreamableHttpTransport({ sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }) });
const handler = transport.bind(mcp);
${listen("(request) => handler(request)")}`,
  "SDK v2": `
import { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
const transports = new Map();
const open = async () => {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool("echo", { description: "Answers." }, async () => ({ content: [{ type: "text", text: "hello" }] }));
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await server.connect(transport);
  return transport;
};
${
    listen(`async (request) => {
  const known = transports.get(request.headers.get("mcp-session-id") ?? "");
  return await (known ?? await open()).handleRequest(request);
}`)
  }`,
};
