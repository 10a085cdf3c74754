/** A protocol server with a few tools of every temper, behind the real endpoint, for the tests of this folder. */
import { z } from "zod";
import { createMcpEndpoint, type McpEndpointOptions } from "../../src/http/mcp_endpoint.ts";
import type { Endpoint } from "../../src/lib/endpoint.ts";
import type { LogFields } from "../../src/lib/log.ts";
import type { Principal } from "../../src/lib/principal.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { AuditEntry, McpServerOptions } from "../../src/mcp/runtime.ts";
import { checkBody } from "./wire_check.ts";
import { createMemoryStorage } from "./memory_storage.ts";
import { createMcpServer, type McpServer } from "../../src/mcp/mcp_server.ts";
import { serviceNowProfile, specProfile } from "../../src/mcp/revision.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { createToolRegistry, type ToolRegistry } from "../../src/mcp/registry.ts";

/** A token that the harness accepts, with the scopes of its principal. */
export const tokens: Readonly<Record<string, readonly string[]>> = {
  "all-scopes": ["files:read", "files:write", "llm:generate"],
  "read-only": ["files:read"],
};

const readOnly = { readOnlyHint: true };

/** The tools of the harness. */
export function harnessTools(): Tool[] {
  return [
    defineTool({
      name: "echo",
      title: "Echo",
      description: "Says what it is told.",
      knownAs: "say repeat",
      scopes: ["files:read"],
      annotations: readOnly,
      input: z.object({
        text: z.string().max(100).describe("What to say"),
        times: z.int().min(1).max(3).default(1).describe("How often"),
      }),
      run: ({ text, times }) => ({ ok: true, content: [{ type: "text", text: text.repeat(times) }] }),
    }),
    defineTool({
      name: "measure",
      title: "Measure",
      description: "Counts the characters of a text.",
      scopes: ["files:read"],
      annotations: readOnly,
      input: z.object({ text: z.string().describe("What to measure") }),
      output: z.object({ length: z.int().describe("Characters") }),
      run: ({ text }) =>
        text === ""
          ? { ok: false, code: "empty", message: "There is nothing to measure" }
          : { ok: true, content: [], structuredContent: { length: text.length } },
    }),
    defineTool({
      name: "store",
      title: "Store",
      description: "Needs a scope for writing.",
      scopes: ["files:read", "files:write"],
      annotations: { destructiveHint: true },
      input: z.object({}),
      run: () => Promise.resolve({ ok: true, content: [{ type: "text", text: "stored" }] }),
    }),
    defineTool({
      name: "crash",
      title: "Crash",
      description: "Throws, at once or later.",
      scopes: [],
      annotations: {},
      input: z.object({ later: z.boolean().optional().describe("Whether to wait") }),
      run: ({ later }) => {
        const error = new Error("secret detail at /etc/portcullis");
        if (later) return Promise.reject(error);
        throw error;
      },
    }),
    defineTool({
      name: "break_promise",
      title: "Break a promise",
      description: "Answers something else than its output schema says.",
      scopes: [],
      annotations: {},
      input: z.object({}),
      output: z.object({ length: z.int().describe("Characters") }),
      run: () => ({ ok: true, content: [], structuredContent: { width: 3 } }),
    }),
    defineTool({
      name: "wait",
      title: "Wait",
      description: "Waits until it is told to stop.",
      scopes: [],
      annotations: {},
      input: z.object({}),
      run: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            resolve({ ok: false, code: "stopped", message: `stopped: ${(signal.reason as Error).name}` });
          });
        }),
    }),
  ];
}

/** What a test looks at, and how it talks to the endpoint. */
export interface Harness {
  readonly tools: ToolRegistry;
  readonly mcp: McpServer;
  readonly endpoint: Endpoint;
  readonly audit: AuditEntry[];
  readonly logged: { readonly event: string; readonly fields: LogFields | undefined }[];
  /** Posts a body (text as it is, anything else as JSON) with a token of all scopes unless told otherwise. */
  post(body: unknown, headers?: Record<string, string | null>): Promise<Response>;
  /** Posts a request of 2026-07-28 with its envelope and headers. */
  modern(method: string, params?: Record<string, unknown>, options?: ModernOptions): Promise<Response>;
  /** Opens a legacy session and gives the headers that belong to it. */
  openSession(version?: string, capabilities?: Record<string, unknown>): Promise<Record<string, string>>;
}

/** What a modern request may say of itself. */
export interface ModernOptions {
  readonly id?: string | number;
  readonly headers?: Record<string, string | null>;
  readonly capabilities?: Record<string, unknown>;
  readonly meta?: Record<string, unknown>;
}

/** The version string of the modern era. */
export const modernVersion = "2026-07-28";

const eventStream = "application/json, text/event-stream";

/** Builds a harness; `options` replace its settings. */
export function createHarness(options: Partial<McpServerOptions & McpEndpointOptions> = {}): Harness {
  const tools = options.tools ?? createToolRegistry(harnessTools());
  const audit: AuditEntry[] = [];
  const logged: Harness["logged"] = [];
  const log = {
    write: (_level: string, event: string, fields?: LogFields) => void logged.push({ event, fields }),
    flush() {},
  };
  let requests = 0;
  const mcp = createMcpServer({
    tools,
    log,
    audit: (entry) => void audit.push(entry),
    admit: () => ({ ok: true }),
    secretBox: createSecretBox(new Uint8Array(32)),
    storage: createMemoryStorage(),
    serverInfo: { name: "portcullis", title: "Portcullis", version: "0.0.0" },
    instructions: () => "Use the files.",
    structuredResults: "always",
    ...options,
    toolTimeoutMs: options.toolTimeoutMs ?? 60_000,
    // A slow machine makes no stream of an answer: the tests that look at one say so.
    limits: { maxBatchLength: 5, beginAnswerAfterMs: 600_000, ...options.limits },
  });
  const endpoint = createMcpEndpoint({
    mcp,
    log,
    authenticate,
    challenge: {
      missingToken: () => `Bearer resource_metadata="https://host/.well-known/oauth-protected-resource/mcp"`,
      insufficientScope: (_request, scopes) => `Bearer error="insufficient_scope", scope="${scopes.join(" ")}"`,
    },
    profileOf: () => specProfile,
    publicProfile: serviceNowProfile,
    createRequestId: () => `r${++requests}`,
    maxBodyBytes: 10_000,
    maxPublicBodyBytes: 1_000,
    publicInitialize: "auto",
    isOnLoopback: false,
    ...options,
  });
  return {
    tools,
    endpoint,
    audit,
    logged,
    mcp,
    async post(body, headers = {}) {
      const response = await endpoint(postRequest(body, headers), { address: "192.0.2.1" });
      const isJson = response.headers.get("content-type") === "application/json";
      if (isJson) {
        checkBody(
          body,
          headers["mcp-protocol-version"] === modernVersion,
          await response.clone().json(),
        );
      }
      return response;
    },
    modern(method, params = {}, options = {}) {
      const { id = 1, headers = {}, capabilities = {}, meta = {} } = options;
      const name = params["name"] ?? params["uri"] ?? params["taskId"];
      return this.post({
        jsonrpc: "2.0",
        id,
        method,
        params: {
          ...params,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": modernVersion,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            ...meta,
          },
        },
      }, {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": modernVersion,
        "mcp-method": method,
        ...(typeof name === "string" ? { "mcp-name": name } : {}),
        ...headers,
      });
    },
    async openSession(version = "2025-11-25", capabilities = {}) {
      const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } };
      const response = await this.post(rpc("initialize", params), { accept: eventStream });
      await response.body?.cancel();
      const id = response.headers.get("mcp-session-id") ?? "";
      return { accept: eventStream, "mcp-session-id": id, "mcp-protocol-version": version };
    },
  };
}

/** A POST to `/mcp`. A header that is `null` is left out. */
export function postRequest(body: unknown, headers: Record<string, string | null> = {}): Request {
  const all = new Headers({ "content-type": "application/json", authorization: "Bearer all-scopes" });
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  return new Request("http://127.0.0.1/mcp", {
    method: "POST",
    headers: all,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** A JSON-RPC request. */
export function rpc(method: string, params?: unknown, id: string | number = 1): Record<string, unknown> {
  return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params };
}

/** A `tools/call` request. */
export function toolCall(name: string, args?: unknown, id: string | number = 1): Record<string, unknown> {
  return rpc("tools/call", args === undefined ? { name } : { name, arguments: args }, id);
}

function authenticate(request: Request): ReturnType<McpEndpointOptions["authenticate"]> {
  const header = request.headers.get("authorization");
  if (header === null) return { kind: "no_token" };
  const scopes = tokens[header.slice("Bearer ".length)];
  if (scopes === undefined) {
    return { kind: "refused", status: 401, reason: "unknown", wwwAuthenticate: `Bearer error="invalid_token"` };
  }
  return { kind: "principal", principal: principalWith(scopes) };
}

/** A principal with some scopes. */
export function principalWith(scopes: readonly string[]): Principal {
  return {
    subject: "user-1",
    clientId: "client-1",
    grantId: "grant-1",
    tokenId: "token-1",
    keyId: null,
    scopes: new Set(scopes),
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}
