/** The whole way with the official SDKs: discovery, registration, sign-in, consent, tools, refresh, revocation. */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { OAuthApplication } from "../fixtures/oauth_application.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { workspaceText } from "../fixtures/workspace_text.ts";

interface ToolAnswer {
  readonly isError: boolean | undefined;
  readonly text: string;
}

/** One SDK, reduced to what the story needs. */
interface Driver {
  /** Connects without a token: is refused, sends the person to approve, redeems the code. */
  signIn(): Promise<void>;
  connect(): Promise<void>;
  serverName(): string | undefined;
  listTools(): Promise<string[]>;
  callTool(name: string, input: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
  tokens(): { access_token: string; refresh_token?: string | undefined };
  spoilAccessToken(): void;
  clientId(): string;
}

type MakeDriver = (endpoint: URL, person: Person) => Driver;

const makeV1: MakeDriver = (endpoint, person) => {
  const application = new OAuthApplication<OAuthClientInformationMixed, OAuthTokens>((url) => approve(person, url));
  const client = new Client({ name: "sdk-v1", version: "1" });
  return {
    async signIn() {
      const transport = new StreamableHTTPClientTransport(endpoint, { authProvider: application });
      await assert.rejects(new Client({ name: "sdk-v1", version: "1" }).connect(transport), UnauthorizedError);
      await transport.finishAuth(application.callback?.searchParams.get("code") ?? "");
      await transport.close();
    },
    connect: () => client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: application })),
    serverName: () => client.getServerVersion()?.name,
    listTools: async () => (await client.listTools()).tools.map((tool: { name: string }) => tool.name),
    callTool: async (name, input) => toAnswer(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
    tokens: () => application.savedTokens ?? assert.fail("no tokens"),
    spoilAccessToken: () =>
      void (application.savedTokens = { ...application.savedTokens, access_token: "spoilt", token_type: "Bearer" }),
    clientId: () => application.savedInformation?.client_id ?? "",
  };
};

const makeV2: MakeDriver = (endpoint, person) => {
  const application = new OAuthApplication<v2.StoredOAuthClientInformation, v2.StoredOAuthTokens>((url) =>
    approve(person, url)
  );
  const client = new v2.Client({ name: "sdk-v2", version: "1" });
  return {
    async signIn() {
      const transport = new v2.StreamableHTTPClientTransport(endpoint, { authProvider: application });
      await assert.rejects(new v2.Client({ name: "sdk-v2", version: "1" }).connect(transport), v2.UnauthorizedError);
      assert.ok(application.callback);
      await transport.finishAuth(application.callback.searchParams); // checks iss (RFC 9207)
      await transport.close();
    },
    connect: () => client.connect(new v2.StreamableHTTPClientTransport(endpoint, { authProvider: application })),
    serverName: () => client.getServerVersion()?.name,
    listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    callTool: async (name, input) => toAnswer(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
    tokens: () => application.savedTokens ?? assert.fail("no tokens"),
    spoilAccessToken: () =>
      void (application.savedTokens = { ...application.savedTokens, access_token: "spoilt", token_type: "Bearer" }),
    clientId: () => application.savedInformation?.client_id ?? "",
  };
};

function toAnswer(result: Record<string, unknown>): ToolAnswer {
  const [block] = result["content"] as { type: string; text?: string }[];
  return { isError: result["isError"] as boolean | undefined, text: block?.text ?? "" };
}

for (const [name, makeDriver] of [["SDK v1", makeV1], ["SDK v2 (legacy mode)", makeV2]] as const) {
  Deno.test(`${name} signs in, calls the four tools, refreshes, and is refused after revocation`, async () => {
    await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
    await using place = await makeServerPlace();
    await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    const driver = makeDriver(new URL(`${server.url}/mcp`), person);

    await driver.signIn();
    await driver.connect();
    assert.equal(driver.serverName(), "portcullis");
    const offered = new Set(await driver.listTools());
    for (const name of ["file_list", "file_read", "file_write", "llm_generate"]) assert.ok(offered.has(name), name);

    const written = await driver.callTool("file_write", { filename: "notes/a.txt", content: "Grüße\n" });
    assert.equal(written.isError, false, written.text);
    const token = driver.tokens().access_token;
    assert.equal(await workspaceText(server, { token, filename: "notes/a.txt" }), "Grüße\n");
    assert.deepEqual(await driver.callTool("file_read", { filename: "notes/a.txt" }), {
      isError: false,
      text: "Grüße\n",
    });
    assert.match((await driver.callTool("file_list", {})).text, /notes/);
    const generated = await driver.callTool("llm_generate", { prompt: "What is 5 + 3?" });
    assert.equal(generated.isError, false, generated.text);
    assert.notEqual(generated.text, "");
    const missing = await driver.callTool("file_read", { filename: "nope.txt" });
    assert.equal(missing.isError, true);
    assert.match(missing.text, /^Failed to read file: /);

    // An SDK whose access token is refused refreshes by itself.
    const before = driver.tokens();
    driver.spoilAccessToken();
    await driver.listTools();
    assert.ok(driver.tokens().refresh_token);
    assert.notEqual(driver.tokens().refresh_token, before.refresh_token, "the refresh token rotated");

    const revoked = await fetch(`${server.url}/oauth/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token: driver.tokens().refresh_token ?? "", client_id: driver.clientId() }),
    });
    assert.equal(revoked.status, 200);
    await revoked.body?.cancel();
    const refused = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${driver.tokens().access_token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
    await refused.body?.cancel();
    await driver.close();
  });
}
