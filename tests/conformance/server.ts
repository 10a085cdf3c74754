/**
 * The server under test of the conformance suite: our protocol layer behind our endpoint, with the fixtures that the
 * suite asks for, on loopback. `--port N` (any free port without it), `--token T` to ask for that bearer token.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { createMcpEndpoint, type McpEndpointOptions } from "../../src/http/mcp_endpoint.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { createMcpServer, type McpServer } from "../../src/mcp/mcp_server.ts";
import { specProfile } from "../../src/mcp/revision.ts";
import { createPromptRegistry, createResourceRegistry } from "../../src/mcp/resource.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { askingTools } from "./fixture_asking_tools.ts";
import { contentTools } from "./fixture_content_tools.ts";
import { prompts } from "./fixture_prompts.ts";
import { testResources } from "./fixture_resources.ts";
import { taskTools } from "./fixture_task_tools.ts";
import { fixture, text } from "./fixture_tool.ts";

/** A running conformance server. */
export interface ConformanceServer {
  readonly url: string;
  readonly mcp: McpServer;
  /** Answers a request without the socket. */
  readonly fetch: (request: Request, address: string) => Promise<Response>;
  close(): Promise<void>;
}

/** How a conformance server is started. */
export interface ConformanceServerOptions {
  readonly port?: number;
  /** The one bearer token that is accepted; without it, and without `guard`, nobody is asked for one. */
  readonly token?: string | undefined;
  /** The product's own guard. */
  readonly guard?: Pick<McpEndpointOptions, "authenticate" | "challenge">;
}

const principal = {
  subject: "conformance",
  clientId: "conformance",
  grantId: "conformance",
  tokenId: "conformance",
  keyId: null,
  scopes: new Set<string>(),
  expiresAt: Number.MAX_SAFE_INTEGER,
};

/** Starts the server on loopback. */
export function startConformanceServer(
  { port = 0, token, guard }: ConformanceServerOptions = {},
): ConformanceServer {
  const tools = createToolRegistry([...contentTools, ...askingTools, ...taskTools]);
  const promptRegistry = createPromptRegistry(prompts);
  tools.add(fixture("test_trigger_tool_change", () => {
    tools.add(fixture("test_comes_and_goes", () => text("Still here")));
    tools.remove("test_comes_and_goes");
    return text("The tools changed");
  }));
  tools.add(fixture("test_trigger_prompt_change", () => {
    const passing = { ...prompts[0], name: "test_passing_prompt" } as typeof prompts[number];
    promptRegistry.add(passing);
    promptRegistry.remove(passing.name);
    return text("The prompts changed");
  }));
  const log = { write: () => {}, flush: () => {} };
  const mcp = createMcpServer({
    serverInfo: { name: "portcullis-conformance", title: "Portcullis conformance server", version: "1.0.0" },
    instructions: () => "Fixtures of the conformance suite.",
    tools,
    prompts: promptRegistry,
    resources: createResourceRegistry([testResources]),
    secretBox: createSecretBox(crypto.getRandomValues(new Uint8Array(32))),
    storage: createMemoryStorage(),
    log,
    audit: () => {},
    admit: () => ({ ok: true }),
    toolTimeoutMs: 60_000,
    limits: { taskPollIntervalMs: 200 },
  });
  const wwwAuthenticate = "Bearer";
  const endpoint = createMcpEndpoint({
    mcp,
    authenticate: (request) =>
      token === undefined || request.headers.get("authorization") === `Bearer ${token}`
        ? { kind: "principal", principal }
        : { kind: "refused", status: 401, reason: "wrong token", wwwAuthenticate },
    challenge: { missingToken: () => wwwAuthenticate, insufficientScope: () => wwwAuthenticate },
    profileOf: () => specProfile,
    publicProfile: specProfile,
    createRequestId: () => crypto.randomUUID(),
    publicInitialize: "never",
    isOnLoopback: true,
    maxBodyBytes: 1_000_000,
    log,
    ...guard,
  });
  const fetch = async (request: Request, address: string): Promise<Response> =>
    isOwnHost(request) ? await endpoint(request, { address }) : new Response("Foreign host or origin", { status: 403 });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    (request, info) => fetch(request, info.remoteAddr.hostname),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    mcp,
    fetch,
    async close() {
      mcp.drain();
      await mcp.close();
      await server.shutdown();
    },
  };
}

/** DNS rebinding: only loopback names reach a server on loopback (MCP 2025-11-25, basic/transports: security). */
function isOwnHost(request: Request): boolean {
  const isLoopback = (host: string): boolean => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host);
  const origin = request.headers.get("origin");
  return isLoopback(request.headers.get("host") ?? "") &&
    (origin === null || isLoopback(origin.replace(/^https?:\/\//, "")));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string" }, token: { type: "string" } } });
  const { url } = startConformanceServer({ port: Number(values.port ?? 0), token: values.token });
  process.stdout.write(`conformance server listening on ${url}\n`);
}
