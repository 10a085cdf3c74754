/** What goes wrong between a client and the server: each fault as its client does it, and the cause that has to be named. */
import assert from "node:assert/strict";
import type { ConnectingClient } from "./connecting_client.ts";

export interface Fault {
  readonly name: string;
  /** The id of the cause. */
  readonly cause: string;
  readonly isNoFault?: true;
  /** The same, where no proxy is in front of the server. */
  readonly direct?: { readonly cause: string; readonly isNoFault?: true };
  /** It is a proxy's, by its headers. */
  readonly isOfProxy?: true;
  /** What its steps say. */
  readonly step?: RegExp;
  readonly agent?: string;
  /** The person's browser is elsewhere than the client, as with clients in the cloud. */
  readonly isInCloud?: true;
  run(client: ConnectingClient): Promise<unknown>;
}

const refused = async (response: Promise<Response>, status: number): Promise<void> => {
  const answer = await response;
  assert.equal(answer.status, status, await answer.text());
};

export const arrivalFaults: readonly Fault[] = [
  { name: "path-root", cause: "wrong_path", run: (client) => client.send("/", { method: "POST", body: "{}" }) },
  {
    name: "path-sse",
    cause: "wrong_path",
    run: (client) => client.send("/sse", { headers: { accept: "text/event-stream" } }),
  },
  {
    name: "path-doubled",
    cause: "wrong_path",
    run: (client) => client.send("/mcp/mcp", { method: "POST", body: "{}" }),
  },
  {
    name: "foreign-page",
    cause: "unknown_origin",
    run: (client) => client.post("initialize", { origin: "https://pages.example" }),
  },
  {
    name: "path-rule-only-mcp",
    cause: "documents_not_reached",
    run: (client) => client.post("tools/list"),
  },
  {
    name: "prefix-stripped",
    cause: "path_rule",
    async run(client) {
      await client.post("tools/list");
      await client.send("/.well-known/oauth-protected-resource/proxy/mcp");
    },
  },
  {
    name: "issuer-guessed",
    cause: "path_rule",
    async run(client) {
      await client.post("tools/list");
      await client.send("/.well-known/openid-configuration/mcp");
    },
  },
  {
    name: "other-name",
    cause: "other_address",
    async run(client) {
      client.headers.set("x-forwarded-host", "mcp.example.com");
      await client.post("tools/list");
      await client.send("/.well-known/oauth-protected-resource/mcp");
    },
  },
  {
    name: "other-scheme",
    cause: "other_scheme",
    isOfProxy: true,
    async run(client) {
      client.headers.set("x-forwarded-proto", "https");
      await client.post("tools/list");
      await client.send("/.well-known/oauth-protected-resource/mcp");
    },
  },
  {
    name: "issuer-out-of-reach",
    cause: "server_document_not_reached",
    async run(client) {
      await client.post("tools/list");
      await client.send("/.well-known/oauth-protected-resource/mcp");
    },
  },
  {
    name: "oauth-path-blocked",
    cause: "oauth_path_blocked",
    direct: { cause: "waits_for_person", isNoFault: true },
    run: (client) => client.discover(),
  },
  {
    name: "basic-credentials",
    cause: "other_credentials",
    run: (client) => client.post("tools/list", { authorization: "Basic dXNlcjpwYXNz" }),
  },
];

/** Ways of other servers, and steps that lose a part of themselves on their way. */
export const strayedFaults: readonly Fault[] = [
  {
    name: "token-in-address",
    cause: "token_in_url",
    run: (client) => client.send("/mcp?access_token=of-another-server", { method: "POST", body: "{}" }),
  },
  {
    name: "key-of-an-api",
    cause: "other_credentials",
    run: (client) => client.post("tools/list", { "x-api-key": "of-another-server" }),
  },
  {
    name: "placeholder-token",
    cause: "header_mangled",
    run: (client) => client.post("tools/list", { authorization: "Bearer ${input:token}" }),
  },
  {
    name: "preflight-of-a-page",
    cause: "unknown_origin",
    run: (client) => {
      const headers = { origin: "https://pages.example", "access-control-request-method": "POST" };
      return client.send("/mcp", { method: "OPTIONS", headers });
    },
  },
  {
    name: "page-may-read-documents-alone",
    cause: "unknown_origin",
    async run(client) {
      client.headers.set("origin", "https://pages.example");
      await client.post("tools/list");
      await client.send("/.well-known/oauth-protected-resource/mcp");
      await client.send("/.well-known/oauth-authorization-server");
    },
  },
  {
    name: "address-without-query",
    cause: "query_missing",
    async run(client) {
      await client.discover();
      await client.register();
      await client.browser.open(new URL("/oauth/authorize", client.origin));
    },
  },
  {
    name: "form-in-the-address",
    cause: "request_changed",
    async run(client) {
      await client.discover();
      await client.register();
      await refused(client.send(`/oauth/token?code=x&client_id=${client.clientId}`, { method: "POST" }), 415);
    },
  },
  {
    name: "password-of-a-proxy",
    cause: "credentials_added",
    async run(client) {
      client.headers.set("authorization", "Basic dXNlcjpwYXNz");
      await client.post("tools/list");
      await client.discover();
      await client.register();
      await refused(client.redeem(await client.allow()), 400);
    },
  },
  {
    name: "version-of-another-age",
    cause: "body_refused",
    async run(client) {
      await client.connect();
      await refused(client.post("tools/list", { "mcp-protocol-version": "1999-01-01" }), 400);
    },
  },
  {
    name: "old-transport",
    cause: "wrong_path",
    async run(client) {
      await client.connect();
      await refused(client.send("/sse", { headers: { authorization: `Bearer ${client.token}` } }), 404);
    },
  },
  {
    name: "revoked-by-itself",
    cause: "token_revoked",
    async run(client) {
      await client.connect();
      const body = new URLSearchParams({ token: client.refreshToken, client_id: client.clientId });
      await refused(client.send("/oauth/revoke", { method: "POST", body }), 200);
      await refused(client.post("tools/list"), 401);
    },
  },
];

export const registrationFaults: readonly Fault[] = [
  {
    name: "redirect-forbidden",
    cause: "redirect_forbidden",
    async run(client) {
      await client.discover();
      await refused(client.register({ redirect_uris: ["http://192.0.2.7/callback"] }), 400);
    },
  },
  {
    name: "redirects-missing",
    cause: "redirect_forbidden",
    async run(client) {
      await client.discover();
      await refused(client.register({ redirect_uris: [] }), 400);
    },
  },
  {
    name: "metadata-broken",
    cause: "metadata_refused",
    async run(client) {
      await client.discover();
      await refused(client.register({ redirect_uris: "none" }), 400);
    },
  },
  {
    name: "pop-up-blocked",
    cause: "pop_up_blocked",
    async run(client) {
      await client.discover();
      await refused(client.register(), 201);
    },
  },
];

export const browserFaults: readonly Fault[] = [
  {
    name: "stale-client-id",
    cause: "unknown_client",
    async run(client) {
      await client.discover();
      client.clientId = "pcc_gone";
      await client.open();
    },
  },
  {
    name: "wrong-redirect",
    cause: "redirect_of_its_own",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ redirect_uri: "https://elsewhere.example/callback" });
    },
  },
  {
    name: "pkce-missing",
    cause: "pkce_missing",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ code_challenge: null, code_challenge_method: null });
    },
  },
  {
    name: "pkce-plain",
    cause: "pkce_missing",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ code_challenge_method: "plain" });
    },
  },
  {
    name: "wrong-resource",
    cause: "wrong_resource",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ resource: "https://elsewhere.example/mcp" });
    },
  },
  {
    name: "response-type-token",
    cause: "authorization_refused",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ response_type: "token" });
    },
  },
  {
    name: "without-pages",
    cause: "prompt_none",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ prompt: "none" });
    },
  },
  {
    name: "person-slow",
    cause: "person_slow",
    isNoFault: true,
    isInCloud: true,
    async run(client) {
      await client.discover();
      await client.register();
      assert.equal((await client.open()).status, 200);
    },
  },
  {
    name: "person-undecided",
    cause: "decision_open",
    isNoFault: true,
    async run(client) {
      await client.discover();
      await client.register();
      assert.equal((await client.signIn()).status, 200);
    },
  },
  {
    name: "person-said-no",
    cause: "person_denied",
    isNoFault: true,
    isInCloud: true,
    async run(client) {
      await client.discover();
      await client.register();
      await client.browser.submit(await client.signIn(), { decision: "deny" }, "decision");
    },
  },
  {
    name: "wrong-passphrase",
    cause: "wrong_passphrase",
    async run(client) {
      await client.discover();
      await client.register();
      await client.browser.submit(await client.open(), { passphrase: "not the passphrase" });
    },
  },
  {
    name: "cookies-blocked",
    cause: "cookies_blocked",
    async run(client) {
      await client.discover();
      await client.register();
      const page = await client.open();
      const request = /name="request" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
      await client.send("/oauth/sign-in", {
        method: "POST",
        headers: { "user-agent": "Mozilla/5.0 (X11) Gecko/20100101 Firefox/140.0" },
        body: new URLSearchParams({ request, passphrase: "x" }),
      });
    },
  },
  {
    name: "decided-twice-too-late",
    cause: "page_outdated",
    async run(client) {
      await client.discover();
      await client.register();
      const page = await client.signIn();
      const html = page.html.replaceAll(/name="request" value="[^"]+"/g, 'name="request" value="of-another-day"');
      await client.browser.submit({ ...page, html }, { decision: "allow" }, "decision");
    },
  },
  {
    name: "origin-rewritten",
    cause: "foreign_form",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open();
      await client.send("/oauth/sign-in", {
        method: "POST",
        headers: { origin: "http://internal.example:8080" },
        body: new URLSearchParams({ request: "x" }),
      });
    },
  },
  {
    name: "ssh-without-browser",
    cause: "loopback_not_reached",
    async run(client) {
      await client.discover();
      await client.register();
      await client.allow();
    },
  },
  {
    name: "callback-broken",
    cause: "callback_failed",
    isInCloud: true,
    async run(client) {
      client.redirectUri = "https://app.example/callback";
      await client.discover();
      await client.register();
      await client.allow();
    },
  },
];

const withCode =
  (changes: Readonly<Record<string, string | null>>, status = 400) => async (client: ConnectingClient) => {
    await client.discover();
    await client.register();
    await refused(client.redeem(await client.allow(), changes), status);
  };

export const tokenFaults: readonly Fault[] = [
  { name: "verifier-wrong", cause: "pkce_wrong", run: withCode({ code_verifier: "w".repeat(43) }) },
  { name: "verifier-missing", cause: "pkce_wrong", run: withCode({ code_verifier: null }) },
  { name: "code-unknown", cause: "code_unknown", run: withCode({ code: "no-such-code" }) },
  { name: "redirect-changed", cause: "redirect_changed", run: withCode({ redirect_uri: "http://127.0.0.1:1/other" }) },
  { name: "token-resource", cause: "wrong_resource", run: withCode({ resource: "https://elsewhere.example/mcp" }) },
  { name: "grant-type-odd", cause: "token_refused", run: withCode({ grant_type: "password" }) },
  { name: "token-of-stale-client", cause: "unknown_client", run: withCode({ client_id: "pcc_gone" }, 401) },
  {
    name: "code-twice",
    cause: "code_replayed",
    async run(client) {
      await client.discover();
      await client.register();
      const code = await client.allow();
      await refused(client.redeem(code), 200);
      await refused(client.redeem(code), 400);
      await refused(client.post("tools/list"), 401);
    },
  },
  {
    name: "secret-wrong",
    cause: "client_secret",
    async run(client) {
      await client.discover();
      await client.register({ token_endpoint_auth_method: "client_secret_post" });
      await refused(client.redeem(await client.allow(), { client_secret: "wrong" }), 401);
    },
  },
  {
    name: "refresh-unknown",
    cause: "refresh_expired",
    async run(client) {
      await client.connect();
      await refused(client.refresh({ refresh_token: "pcr_unknown" }), 400);
    },
  },
  {
    name: "scope-too-much",
    cause: "unknown_scope",
    async run(client) {
      await client.discover();
      await client.register();
      await client.redeem(await client.allow({ scope: "files:read" }));
      await refused(client.refresh({ scope: "files:write" }), 400);
    },
  },
  {
    name: "refresh-replayed",
    cause: "refresh_replayed",
    async run(client) {
      await client.connect();
      const old = client.refreshToken;
      await refused(client.refresh(), 200);
      await refused(client.refresh(), 200);
      await refused(client.refresh({ refresh_token: old }), 400);
    },
  },
  { name: "token-then-silence", cause: "path_not_passed", run: (client) => client.connect() },
  {
    name: "edge-blocks-cloud",
    cause: "path_not_passed",
    agent: "python-httpx/0.28",
    isInCloud: true,
    run: (client) => client.connect(),
  },
];

export const callFaults: readonly Fault[] = [
  {
    name: "header-eaten",
    cause: "header_removed",
    async run(client) {
      await client.connect();
      client.token = "";
      await refused(client.post("tools/list"), 401);
    },
  },
  {
    name: "token-cut",
    cause: "header_mangled",
    async run(client) {
      await client.connect();
      client.token = client.token.slice(0, 40);
      await refused(client.post("tools/list"), 401);
    },
  },
  {
    name: "header-twice",
    cause: "header_mangled",
    async run(client) {
      await client.connect();
      await refused(client.post("tools/list", { authorization: `Bearer ${client.token}, Bearer other` }), 400);
    },
  },
  {
    name: "refresh-as-access",
    cause: "refresh_token_sent",
    async run(client) {
      await client.connect();
      client.token = client.refreshToken;
      await refused(client.post("tools/list"), 401);
    },
  },
  {
    name: "signature-foreign",
    cause: "key_unknown",
    async run(client) {
      await client.connect();
      const [head = "", body = ""] = client.token.split(".");
      client.token = `${head}.${body}.${"A".repeat(86)}`;
      await refused(client.post("tools/list"), 401);
    },
  },
  {
    name: "session-dead",
    cause: "session_dead",
    async run(client) {
      await client.connect();
      await refused(client.callTool(), 200);
      await refused(client.post("tools/list", { "mcp-session-id": "a-session-that-is-gone" }), 404);
    },
  },
  {
    name: "content-type-changed",
    cause: "wrong_content_type",
    async run(client) {
      await client.connect();
      await refused(client.post("initialize", { "content-type": "text/plain" }), 415);
    },
  },
  {
    name: "no-tool-called",
    cause: "no_call_yet",
    isNoFault: true,
    async run(client) {
      await client.connect();
      await client.post("initialize");
      await client.post("tools/list");
    },
  },
  {
    name: "went-well",
    cause: "went_well",
    isNoFault: true,
    isInCloud: true,
    async run(client) {
      await client.connect();
      await refused(client.callTool(), 200);
    },
  },
];

const bearer = (token: string) => async (client: ConnectingClient): Promise<void> => {
  client.token = token;
  await refused(client.post("tools/list"), 401);
};
const encoded = (value: unknown): string => btoa(JSON.stringify(value)).replaceAll("=", "");
const foreignJwt = (claims: unknown, header: unknown = { alg: "RS256", typ: "JWT", kid: "a" }): string =>
  `${encoded(header)}.${encoded(claims)}.${"A".repeat(86)}`;

/** Tokens that are not this server's, or not as a client sends them. */
export const foreignTokenFaults: readonly Fault[] = [
  {
    name: "token-of-entra",
    cause: "token_of_other_server",
    step: /came with a token of login\.microsoftonline\.com: another server issued it/,
    run: bearer(foreignJwt({ iss: "https://login.microsoftonline.com/t/v2.0", aud: "api://x", exp: 1 })),
  },
  {
    name: "token-of-another-portcullis",
    cause: "key_unknown",
    step: /of mcp\.elsewhere\.example/,
    run: bearer(
      foreignJwt({ iss: "https://mcp.elsewhere.example", aud: "https://mcp.elsewhere.example/mcp" }, {
        alg: "EdDSA",
        typ: "at+jwt",
        kid: "b",
      }),
    ),
  },
  {
    name: "token-for-another-resource",
    cause: "wrong_audience",
    run: (client) => bearer(foreignJwt({ iss: client.origin, aud: "https://elsewhere.example/mcp" }))(client),
  },
  {
    name: "token-of-github",
    cause: "token_of_other_server",
    step: /it is no token of this server/,
    run: bearer("ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
  },
  { name: "key-of-openai", cause: "token_of_other_server", run: bearer("sk-proj-0123456789") },
  { name: "token-encrypted", cause: "token_of_other_server", run: bearer("eyJhbGciOiJkaXIifQ..a.b.c") },
  { name: "operator-token-gone", cause: "token_revoked", run: bearer(`pct_${"a".repeat(43)}`) },
  { name: "token-quoted", cause: "header_mangled", run: bearer('"eyJhbGciOiJFZERTQSJ9.e30.AA"') },
  { name: "token-with-two-schemes", cause: "header_mangled", run: bearer("Bearer abc") },
  {
    name: "token-without-scheme",
    cause: "other_credentials",
    run: (client) => client.post("tools/list", { authorization: "abcdefgh" }),
  },
];

/** What real clients do besides. */
export const clientFaults: readonly Fault[] = [
  {
    name: "claude-mcp-list",
    agent: "claude-code/2.1.7",
    cause: "waits_for_person",
    direct: { cause: "waits_for_person", isNoFault: true },
    run: (client) => client.discover(),
  },
  {
    name: "sse-signed-out",
    cause: "old_transport",
    run: (client) => refused(client.send("/mcp", { headers: { accept: "text/event-stream" } }), 401),
  },
  {
    name: "sse-signed-in",
    cause: "old_transport",
    async run(client) {
      await client.connect();
      for (let times = 0; times < 5; times += 1) await refused(client.send("/mcp", eventStream(client)), 405);
    },
  },
  {
    name: "sse-messages",
    cause: "wrong_path",
    step: /not found \(HTTP 404\)/,
    run: (client) => client.send("/messages?sessionId=1", { method: "POST", body: "{}" }),
  },
  {
    name: "streams-left",
    cause: "streams_given_up",
    async run(client) {
      await client.connect();
      // two sessions: where the server has not noticed yet that the client left, a second stream would replace the first
      const begun = [await client.post("initialize"), await client.post("initialize")];
      for (const { headers } of begun) {
        const session = headers.get("mcp-session-id") ?? "";
        const stream = await client.send("/mcp", eventStream(client, { "mcp-session-id": session }));
        assert.equal(stream.status, 200);
        await stream.body?.cancel();
      }
    },
  },
  {
    name: "stream-refused-and-well",
    cause: "went_well",
    isNoFault: true,
    async run(client) {
      await client.connect();
      await refused(client.callTool(), 200);
      await refused(client.send("/mcp", eventStream(client)), 405);
    },
  },
  {
    name: "document-at-a-private-address",
    cause: "client_document_private",
    step: /forbidden url/,
    async run(client) {
      await client.discover();
      client.clientId = "https://localhost/client.json";
      await client.open();
    },
  },
  {
    name: "document-without-a-host",
    cause: "client_document_unreachable",
    step: /unresolvable host|timed out/, // by how the machine's resolver takes it
    async run(client) {
      await client.discover();
      client.clientId = "https://mcp.invalid/client.json";
      await client.open();
    },
  },
  {
    name: "scope-not-ticked",
    cause: "scope_missing",
    async run(client) {
      await client.discover();
      await client.register();
      await client.redeem(await client.allow({ scope: "files:read" }));
      await refused(client.post("tools/list"), 200);
      await refused(
        client.post("tools/call", {}, { name: "file_write", arguments: { filename: "a", content: "b" } }),
        403,
      );
    },
  },
  {
    name: "tool-that-is-not-there",
    cause: "call_refused",
    step: /called tools\/call: protocol error/,
    async run(client) {
      await client.connect();
      await refused(client.post("tools/list"), 200);
      await client.post("tools/call", {}, { name: "no_such_tool", arguments: {} });
    },
  },
  {
    name: "stream-wanted-as-a-call-and-well",
    agent: "wants-both",
    cause: "no_call_yet",
    isNoFault: true,
    async run(client) {
      await client.connect();
      await client.post("tools/list");
      const headers = { accept: "application/json, text/event-stream", authorization: `Bearer ${client.token}` };
      await refused(client.send("/mcp", { headers }), 405);
    },
  },
  {
    name: "no-json",
    cause: "body_refused",
    async run(client) {
      await client.connect();
      const headers = { authorization: `Bearer ${client.token}`, "content-type": "application/json" };
      await refused(client.send("/mcp", { method: "POST", headers, body: "{" }), 400);
    },
  },
  {
    name: "stale-client-at-the-alias",
    cause: "unknown_client",
    async run(client) {
      await client.discover();
      client.clientId = "pcc_of_another_day";
      const url = client.authorizationUrl();
      url.pathname = "/authorize";
      await client.browser.open(url);
    },
  },
  {
    name: "secret-of-a-public-client",
    cause: "client_secret",
    run: withCode({ client_secret: "needless" }, 401),
  },
  {
    name: "copilot-client-credentials",
    cause: "token_refused",
    async run(client) {
      await client.discover();
      await client.register({ token_endpoint_auth_method: "client_secret_post" });
      await client.redeem("", { grant_type: "client_credentials", client_secret: "wrong" });
      await client.redeem("", { grant_type: "urn:ietf:params:oauth:grant-type:device_code" });
    },
  },
  {
    name: "refresh-for-another-resource",
    cause: "wrong_resource",
    async run(client) {
      await client.connect();
      await refused(client.refresh({ resource: "https://elsewhere.example/mcp" }), 400);
    },
  },
  {
    name: "registers-unknown-method",
    cause: "metadata_refused",
    step: /unsupported authentication method/,
    async run(client) {
      await client.discover();
      await refused(client.register({ token_endpoint_auth_method: "tls_client_auth" }), 400);
    },
  },
  {
    name: "registers-without-codes",
    cause: "metadata_refused",
    async run(client) {
      await client.discover();
      await refused(client.register({ grant_types: ["client_credentials"] }), 400);
    },
  },
  {
    name: "registers-by-form",
    cause: "request_changed",
    async run(client) {
      await client.discover();
      await refused(client.send("/oauth/register", { method: "POST", body: new URLSearchParams({ a: "b" }) }), 415);
    },
  },
  {
    name: "token-by-get",
    cause: "request_changed",
    async run(client) {
      await client.discover();
      await client.register();
      await refused(client.send("/oauth/token?code=x"), 405);
    },
  },
  {
    name: "form-post",
    cause: "authorization_refused",
    step: /response mode not query/,
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ response_mode: "form_post" });
    },
  },
  {
    name: "request-object",
    cause: "authorization_refused",
    async run(client) {
      await client.discover();
      await client.register();
      await client.open({ request: "eyJhbGciOiJub25lIn0.e30." });
    },
  },
  {
    name: "unknown-scopes-alone",
    cause: "went_well",
    isNoFault: true,
    async run(client) {
      await client.discover();
      await client.register();
      await client.redeem(await client.allow({ scope: "openid profile offline_access" }));
      await refused(client.callTool(), 200);
    },
  },
];

function eventStream({ token }: ConnectingClient, more: Readonly<Record<string, string>> = {}): RequestInit {
  return { headers: { authorization: `Bearer ${token}`, accept: "text/event-stream", ...more } };
}
