/** A client on its way to a connection, step by step as real ones go, so that a test can let any step fail. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { answerConsent, openSignedIn } from "../fixtures/owner.ts";
import { createPerson, type Page, type Person } from "../fixtures/person.ts";

export type Changes = Readonly<Record<string, string | null>>;

export interface ConnectingClient {
  readonly name: string;
  readonly agent: string;
  readonly headers: Headers;
  browser: Person;
  /** Where the client sends its own requests: the server, or a proxy in front of it. */
  origin: string;
  clientId: string;
  redirectUri: string;
  verifier: string;
  token: string;
  refreshToken: string;
  send(path: string, init?: RequestInit): Promise<Response>;
  /** POST to /mcp, with the token where there is one. */
  post(method?: string, headers?: Readonly<Record<string, string>>, params?: unknown): Promise<Response>;
  discover(): Promise<void>;
  register(changes?: Readonly<Record<string, unknown>>): Promise<Response>;
  authorizationUrl(changes?: Changes): URL;
  /** Opens the page in the person's browser. */
  open(changes?: Changes): Promise<Page>;
  signIn(changes?: Changes): Promise<Page>;
  /** Signs in and allows; gives the code. */
  allow(changes?: Changes): Promise<string>;
  redeem(code: string, changes?: Changes): Promise<Response>;
  refresh(changes?: Changes): Promise<Response>;
  /** Everything, up to the token. */
  connect(): Promise<void>;
  callTool(): Promise<Response>;
}

/**
 * `address` and `browserAddress` are what a trusted proxy says of the connection. With `local` there is no proxy: the
 * connections come from these addresses of this machine.
 */
export function createConnectingClient(
  origin: string,
  { name, agent = `${name}/1.0`, address, browserAddress = address, local }: {
    readonly name: string;
    readonly agent?: string;
    readonly address: string;
    readonly browserAddress?: string;
    readonly local?: Deno.HttpClient;
  },
): ConnectingClient {
  const through = local === undefined ? {} : { client: local };
  const forwarded = (from: string): Record<string, string> => local === undefined ? { "x-forwarded-for": from } : {};
  const headers = new Headers({ "user-agent": agent, ...forwarded(address) });
  const browserHeaders: Record<string, string> = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
    ...forwarded(browserAddress),
  };
  const browser = createPerson(origin, (url, init) => {
    const all = new Headers(init.headers);
    for (const [key, value] of Object.entries(browserHeaders)) all.set(key, value);
    return fetch(url, { ...init, ...through, headers: all });
  });
  const form = (values: Changes): RequestInit => ({
    method: "POST",
    body: new URLSearchParams(Object.entries(values).flatMap(([key, value]) => value === null ? [] : [[key, value]])),
  });
  const keepTokens = async (response: Response): Promise<Response> => {
    const copy = await response.clone().json();
    client.token = copy.access_token ?? client.token;
    client.refreshToken = copy.refresh_token ?? client.refreshToken;
    return response;
  };
  const client: ConnectingClient = {
    name,
    agent,
    headers,
    browser,
    origin,
    clientId: "",
    redirectUri: "http://127.0.0.1:8976/callback",
    verifier: randomBytes(32).toString("base64url"),
    token: "",
    refreshToken: "",
    async send(path, init = {}) {
      const all = new Headers(headers);
      for (const [key, value] of new Headers(init.headers)) all.set(key, value);
      return await fetch(new URL(path, client.origin), { redirect: "manual", ...through, ...init, headers: all });
    },
    async post(method = "initialize", more = {}, given = undefined) {
      const params = given !== undefined
        ? given
        : method === "initialize"
        ? { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } }
        : method === "tools/call"
        ? { name: "file_list", arguments: {} }
        : {};
      const response = await client.send("/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(client.token === "" ? {} : { authorization: `Bearer ${client.token}` }),
          ...more,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      await response.clone().text();
      return response;
    },
    async discover() {
      assert.equal((await client.post("tools/list")).status, 401);
      for (const path of ["oauth-protected-resource/mcp", "oauth-authorization-server"]) {
        const response = await client.send(`/.well-known/${path}`);
        assert.equal(response.status, 200);
        await response.body?.cancel();
      }
    },
    async register(changes = {}) {
      const response = await client.send("/oauth/register", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          client_name: name,
          redirect_uris: [client.redirectUri],
          token_endpoint_auth_method: "none",
          ...changes,
        }),
      });
      client.clientId = (await response.clone().json()).client_id ?? "";
      return response;
    },
    authorizationUrl(changes = {}) {
      const url = new URL("/oauth/authorize", origin);
      const values: Changes = {
        response_type: "code",
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        code_challenge: createHash("sha256").update(client.verifier).digest("base64url"),
        code_challenge_method: "S256",
        resource: `${origin}/mcp`,
        state: "s",
        ...changes,
      };
      for (const [key, value] of Object.entries(values)) if (value !== null) url.searchParams.set(key, value);
      return url;
    },
    open: (changes) => client.browser.open(client.authorizationUrl(changes)),
    signIn: (changes) => openSignedIn(client.browser, client.authorizationUrl(changes)),
    async allow(changes) {
      const back = await answerConsent(client.browser, await client.signIn(changes));
      return back.searchParams.get("code") ?? "";
    },
    async redeem(code, changes = {}) {
      return await keepTokens(
        await client.send(
          "/oauth/token",
          form({
            grant_type: "authorization_code",
            code,
            client_id: client.clientId,
            redirect_uri: client.redirectUri,
            code_verifier: client.verifier,
            ...changes,
          }),
        ),
      );
    },
    async refresh(changes = {}) {
      return await keepTokens(
        await client.send(
          "/oauth/token",
          form({
            grant_type: "refresh_token",
            refresh_token: client.refreshToken,
            client_id: client.clientId,
            ...changes,
          }),
        ),
      );
    },
    async connect() {
      await client.discover();
      assert.equal((await client.register()).status, 201);
      assert.equal((await client.redeem(await client.allow())).status, 200);
    },
    async callTool() {
      assert.equal((await client.post("initialize")).status, 200);
      assert.equal((await client.post("tools/list")).status, 200);
      return await client.post("tools/call");
    },
  };
  return client;
}
