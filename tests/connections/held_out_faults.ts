/** Faults that were written down before anyone looked at what the recorder says of them. */
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "@panva/jose";
import type { ConnectingClient } from "./connecting_client.ts";

export interface HeldOutFault {
  readonly name: string;
  /** What the first cause says: culprit and remedy together. */
  readonly says: RegExp;
  readonly isNoFault?: true;
  run(client: ConnectingClient): Promise<unknown>;
}

const json = { "content-type": "application/json" };
const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

const toPath = (path: string, init: RequestInit = { method: "POST", body: list, headers: json }) =>
async (
  client: ConnectingClient,
): Promise<void> => {
  const response = await client.send(path, init);
  await response.body?.cancel();
};

/** Registers, then asks for access with these changes. */
const authorizing = (changes: Readonly<Record<string, string | null>>, metadata = {}) =>
async (
  client: ConnectingClient,
): Promise<void> => {
  await client.discover();
  await client.register(metadata);
  await client.open(changes);
};

const registering = (changes: Readonly<Record<string, unknown>>) => async (client: ConnectingClient): Promise<void> => {
  await client.discover();
  assert.equal((await client.register(changes)).ok, false);
};

const redeeming = (changes: Readonly<Record<string, string | null>>, metadata = {}) =>
async (
  client: ConnectingClient,
): Promise<void> => {
  await client.discover();
  await client.register(metadata);
  assert.equal((await client.redeem(await client.allow(), changes)).ok, false);
};

/** Connects, then posts this. */
const posting = (init: RequestInit & { readonly method?: string }, status: number) =>
async (
  client: ConnectingClient,
): Promise<void> => {
  await client.connect();
  const headers = new Headers({ ...json, accept: "application/json, text/event-stream" });
  headers.set("authorization", `Bearer ${client.token}`);
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const response = await client.send("/mcp", { method: "POST", ...init, headers });
  assert.equal(response.status, status, await response.text());
};

const wrongPath = /path that is not the server's|old HTTP\+SSE transport/;

export const heldOutFaults: readonly HeldOutFault[] = [
  { name: "path-in-capitals", says: wrongPath, run: toPath("/MCP") },
  { name: "path-with-version", says: wrongPath, run: toPath("/v1/mcp") },
  { name: "path-with-a-space", says: wrongPath, run: toPath("/mcp%20") },
  { name: "path-slash-doubled", says: wrongPath, run: (client) => toPath(`${client.origin}//mcp`)(client) },
  { name: "path-of-the-console", says: wrongPath, run: toPath("/console") },
  {
    name: "path-of-sse-below-mcp",
    says: wrongPath,
    run: toPath("/mcp/sse", { headers: { accept: "text/event-stream" } }),
  },
  {
    name: "trailing-slash-and-well",
    says: /has called a tool/,
    isNoFault: true,
    async run(client) {
      const { origin } = client;
      await (await client.send("/mcp/", { method: "POST", body: list, headers: json })).body?.cancel();
      await (await client.send("/.well-known/oauth-protected-resource/mcp/")).body?.cancel();
      await client.register();
      await client.redeem(await client.allow({ resource: `${origin}/mcp/` }));
      assert.equal((await client.callTool()).status, 200);
    },
  },
  {
    name: "addresses-of-2025-03",
    says: /has called a tool/,
    isNoFault: true,
    async run(client) {
      await client.post("tools/list");
      const { send } = client;
      client.send = (path, init) => send(path.replace(/^\/oauth\//, "/"), init);
      await client.register();
      assert.equal((await client.redeem(await client.allow())).status, 200);
      assert.equal((await client.callTool()).status, 200);
    },
  },
  {
    name: "oidc-configuration-alone",
    says: /looks for the server's documents where they are not/,
    async run(client) {
      await client.post("tools/list");
      await (await client.send("/.well-known/oauth-protected-resource/mcp")).body?.cancel();
      await (await client.send("/.well-known/openid-configuration")).body?.cancel();
    },
  },
  {
    name: "user-information",
    says: wrongPath,
    async run(client) {
      await client.connect();
      const headers = { authorization: `Bearer ${client.token}` };
      await (await client.send("/oauth/userinfo", { headers })).body?.cancel();
    },
  },
  {
    name: "device-flow",
    says: wrongPath,
    async run(client) {
      await client.discover();
      await toPath("/oauth/device_authorization", { method: "POST", body: new URLSearchParams({ client_id: "a" }) })(
        client,
      );
    },
  },
  {
    name: "token-address-of-entra",
    says: wrongPath,
    run: toPath("/oauth2/v2.0/token", {
      method: "POST",
      body: new URLSearchParams({ grant_type: "authorization_code", code: "x", client_id: "x" }),
    }),
  },
  {
    name: "get-for-post",
    says: /POST|method|Streamable HTTP/,
    run: posting({ method: "GET", headers: { accept: "application/json" } }, 405),
  },
  { name: "put-for-post", says: /POST|method/, run: posting({ method: "PUT", body: list }, 405) },
  { name: "body-empty", says: /could not read the client's request|without its body/, run: posting({ body: "" }, 400) },
  {
    name: "body-utf-16",
    says: /could not read the client's request|Content-Type/,
    run: posting({
      body: new Uint8Array([123, 0, 125, 0]),
      headers: { "content-type": "application/json; charset=utf-16" },
    }, 400),
  },
  {
    name: "body-gzip",
    says: /compresses its requests/,
    run: posting({ body: new Uint8Array([31, 139, 8, 0, 0, 0, 0, 0]), headers: { "content-encoding": "gzip" } }, 415),
  },
  {
    // 2025-03-26 has batches, and a client without a session may be of that age
    name: "body-batch",
    says: /has read the list of tools/,
    isNoFault: true,
    run: posting({ body: `[${list},${list}]` }, 200),
  },
  {
    name: "body-too-large",
    says: /too large|larger than/,
    run: posting({
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { x: "x".repeat(100 << 20) } }),
    }, 413),
  },
  {
    name: "left-after-initialize",
    says: /has not read the list of tools yet.*restart the client/,
    isNoFault: true,
    async run(client) {
      await client.connect();
      assert.equal((await client.post("initialize")).status, 200);
    },
  },
  {
    name: "scheme-in-small-letters",
    says: /has read the list of tools/,
    isNoFault: true,
    async run(client) {
      await client.connect();
      assert.equal((await client.post("tools/list", { authorization: `bearer ${client.token}` })).status, 200);
    },
  },
  {
    name: "token-with-a-comma",
    says: /placeholder was not filled in|token.*(changed|whole|damaged)/,
    async run(client) {
      await client.connect();
      assert.equal((await client.post("tools/list", { authorization: `Bearer ${client.token},` })).ok, false);
    },
  },
  {
    name: "token-in-a-cookie",
    says: /without (one|a token|its token|it)/,
    async run(client) {
      await client.connect();
      const cookie = `access_token=${client.token}`;
      client.token = "";
      assert.equal((await client.post("tools/list", { cookie })).status, 401);
    },
  },
  {
    name: "key-in-a-header-of-its-own",
    says: /credentials that are no Bearer token/,
    run: (client) => client.post("tools/list", { "api-key": "0123456789abcdef" }),
  },
  {
    name: "token-in-a-header-of-its-own",
    says: /credentials that are no Bearer token/,
    run: (client) => client.post("tools/list", { "x-auth-token": "0123456789abcdef" }),
  },
  {
    name: "assertion-of-yesterday",
    says: /clock|expired/,
    async run(client) {
      await client.discover();
      const { privateKey, publicKey } = await generateKeyPair("ES256");
      const key = { ...await exportJWK(publicKey), kid: "k", alg: "ES256", use: "sig" };
      assert.equal(
        (await client.register({ token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key] } })).status,
        201,
      );
      const yesterday = Math.floor(Date.now() / 1000) - 86400;
      const assertion = await new SignJWT({ jti: "j" }).setProtectedHeader({ alg: "ES256", kid: "k" })
        .setIssuer(client.clientId).setSubject(client.clientId).setAudience(client.origin)
        .setIssuedAt(yesterday).setExpirationTime(yesterday + 60).sign(privateKey);
      const answer = await client.redeem(await client.allow(), {
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: assertion,
      });
      assert.equal(answer.ok, false);
    },
  },
  {
    name: "secret-left-out",
    says: /did not prove itself/,
    run: redeeming({}, { token_endpoint_auth_method: "client_secret_basic" }),
  },
  {
    name: "refresh-of-a-former-registration",
    says: /another client|issued to|registered again/,
    async run(client) {
      await client.connect();
      await client.register();
      assert.equal((await client.refresh()).status, 400);
    },
  },
  {
    name: "code-of-a-former-registration",
    says: /code that is not its own/,
    async run(client) {
      await client.discover();
      await client.register();
      const code = await client.allow();
      await client.register();
      assert.equal((await client.redeem(code)).status, 400);
    },
  },
  { name: "challenge-too-short", says: /PKCE/, run: authorizing({ code_challenge: "abc" }) },
  { name: "verifier-too-short", says: /PKCE verifier/, run: redeeming({ code_verifier: "short" }) },
  {
    name: "resource-by-https",
    says: /another resource than this server/,
    run: (client) => authorizing({ resource: `${client.origin.replace("http:", "https:")}/mcp` })(client),
  },
  { name: "client-id-left-out", says: /without (its id|the client.s request)/, run: authorizing({ client_id: null }) },
  {
    name: "document-by-http",
    says: /must be https|not https|public https address/,
    run: authorizing({ client_id: "http://app.example/client.json" }),
  },
  {
    name: "return-address-left-out",
    says: /address that it has not registered|(named|without) (no|a) return address/,
    run: authorizing({ redirect_uri: null }, { redirect_uris: ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"] }),
  },
  {
    name: "return-address-in-a-script",
    says: /addresses that the client wants to be sent back to/,
    run: registering({ redirect_uris: ["javascript:alert(1)"] }),
  },
  {
    name: "description-too-large",
    says: /client described itself|too large/,
    run: registering({ logo_uri: `https://app.example/${"a".repeat(2 << 20)}` }),
  },
  {
    name: "token-by-json",
    says: /has called a tool/, // the form of OAuth 2.1 §3.2.2 is a form, but this is what some clients send
    isNoFault: true,
    async run(client) {
      await client.discover();
      await client.register();
      const { clientId: client_id, redirectUri: redirect_uri, verifier: code_verifier } = client;
      const given = { grant_type: "authorization_code", client_id, redirect_uri, code_verifier };
      const body = JSON.stringify({ ...given, code: await client.allow() });
      const answer = await client.send("/oauth/token", { method: "POST", body, headers: json });
      client.token = (await answer.json()).access_token;
      assert.equal((await client.callTool()).status, 200);
    },
  },
  {
    name: "refresh-token-left-out",
    says: /request for a token was refused: it lacks a parameter/,
    async run(client) {
      await client.connect();
      assert.equal((await client.refresh({ refresh_token: null })).status, 400);
    },
  },
  {
    name: "grant-type-left-out",
    says: /request for a token was refused: it lacks a parameter/,
    run: redeeming({ grant_type: null }),
  },
  {
    name: "page-without-an-origin",
    says: /web page of another origin/,
    run: (client) => client.post("initialize", { origin: "null" }),
  },
  {
    name: "console-as-a-stream",
    says: wrongPath,
    run: toPath("/console", { headers: { accept: "text/event-stream" } }),
  },
  { name: "root-as-a-stream", says: wrongPath, run: toPath("/", { headers: { accept: "text/event-stream" } }) },
  {
    name: "message-of-version-one",
    says: /could not read the client's request/,
    run: posting({ body: JSON.stringify({ jsonrpc: "1.0", id: 1, method: "tools/list" }) }, 200),
  },
  {
    name: "message-with-a-header-of-stdio",
    says: /could not read the client's request/,
    run: posting({ body: `Content-Length: ${list.length}\r\n\r\n${list}` }, 400),
  },
  ...["apiKey", "bearer", "authorization", "X-Auth-Token", "client_secret"].map((parameter) => ({
    name: `address-with-${parameter.toLowerCase().replace("_", "-")}`,
    says: /a token or a key in the address/,
    run: toPath(`/mcp?${parameter}=abc`, { headers: { accept: "text/event-stream" } }),
  })),
  {
    name: "post-redirected",
    says: /POST to \/mcp arrived as a GET/,
    run: toPath("/mcp/", { headers: { accept: "application/json, text/event-stream" } }),
  },
  {
    name: "call-redirected",
    says: /POST to \/mcp arrived as a GET/,
    run: posting({ method: "GET" }, 405),
  },
  {
    name: "localhost-for-127",
    says: /then asked to be sent back to another.*`localhost` and 127\.0\.0\.1 are two/,
    run: authorizing({ redirect_uri: "http://localhost:8976/callback" }),
  },
  {
    name: "other-port-of-this-machine",
    says: /has called a tool/,
    isNoFault: true,
    async run(client) {
      await client.discover();
      await client.register();
      const redirect_uri = "http://127.0.0.1:9123/callback";
      await client.redeem(await client.allow({ redirect_uri }), { redirect_uri });
      assert.equal((await client.callTool()).status, 200);
    },
  },
  { name: "challenge-without-method", says: /PKCE with S256/, run: authorizing({ code_challenge_method: null }) },
  {
    name: "token-entered-twice",
    says: /header is malformed.*two were joined|header is malformed.*Enter a token again, whole/,
    async run(client) {
      await client.connect();
      assert.equal(
        (await client.post("tools/list", { authorization: `Bearer ${client.token}${client.token}` })).status,
        401,
      );
    },
  },
  {
    name: "token-of-a-script",
    says: /none of this server's.*placeholder/,
    run: (client) => client.post("tools/list", { authorization: "Bearer undefined" }),
  },
  {
    name: "scheme-of-another-api",
    says: /credentials that are no Bearer token/,
    run: (client) => client.post("tools/list", { authorization: "Token abc" }),
  },
  {
    name: "session-ended-by-itself",
    says: /session that has ended/,
    async run(client) {
      await client.connect();
      const session = { "mcp-session-id": (await client.post("initialize")).headers.get("mcp-session-id") ?? "" };
      const headers = { authorization: `Bearer ${client.token}`, ...session };
      await (await client.send("/mcp", { method: "DELETE", headers })).body?.cancel();
      assert.equal((await client.post("tools/list", session)).status, 404);
    },
  },
  {
    name: "page-that-registers",
    says: /web page of another origin/,
    async run(client) {
      client.headers.set("origin", "https://pages.example");
      await client.register();
      assert.equal((await client.post("initialize")).status, 403);
    },
  },
  {
    name: "tool-failed",
    says: /has called a tool/,
    isNoFault: true,
    async run(client) {
      await client.connect();
      assert.equal((await client.post("tools/list")).status, 200);
      await client.post("tools/call", {}, { name: "file_read", arguments: { filename: "not-there.txt" } });
    },
  },
];
