import assert from "node:assert/strict";
import { clients } from "../../src/oauth/records.ts";
import {
  authorizePath,
  connect,
  decide,
  type Harness,
  obtainCode,
  openBrowser,
  reachConsent,
  redeem,
  redirectUri,
  refresh,
  register,
  startHarness,
} from "./harness.ts";

function post(harness: Harness, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return harness.fetch("/oauth/register", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const valid = { client_name: "App", redirect_uris: [redirectUri] };

async function assertRefused(response: Response, status: number, error: string): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal((await response.json()).error, error);
}

Deno.test("registration answers 201 with everything that was registered (RFC 7591 §3.2.1)", async () => {
  await using harness = await startHarness();
  const response = await post(harness, { ...valid, scope: "files:read,unknown", software_id: "x" });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("cache-control"), "no-store"); // L9
  assert.equal(response.headers.get("pragma"), "no-cache");
  const body = await response.json();
  assert.match(body.client_id, /^pcc_/);
  assert.match(body.client_secret, /^pcs_/);
  assert.equal(body.client_secret_expires_at, 0);
  assert.equal(body.client_id_issued_at, Math.floor(harness.time.now / 1_000));
  assert.deepEqual(body.redirect_uris, [redirectUri]);
  assert.deepEqual(body.grant_types, ["authorization_code", "refresh_token"]);
  assert.deepEqual(body.response_types, ["code"]);
  assert.equal(body.token_endpoint_auth_method, "client_secret_basic");
  assert.equal(body.scope, "files:read");
  assert.equal(body.registration_client_uri, undefined); // I11: RFC 7592 is not there, so not advertised
});

Deno.test("public clients get no secret", async () => {
  await using harness = await startHarness();
  const client = await register(harness, { token_endpoint_auth_method: "none" });
  assert.equal(client.client_secret, undefined);
  assert.equal(client["client_secret_expires_at"], undefined);
});

for (
  const uris of [
    ["javascript:alert(1)"],
    ["data:text/html,x"],
    ["file:///etc/passwd"],
    ["http://evil.com/cb"],
    ["https://x/#f"],
    ["https://u:p@x/"],
    ["*"],
    ["https://*.x/"],
    [],
    undefined,
    Array.from({ length: 1_000 }, (_, index) => `https://x/${index}`),
    Array.from({ length: 1_000 }, () => redirectUri),
    [redirectUri, "javascript:alert(1)"],
    ["unknown://only/private"],
    ["http://192.168.1.7/cb", "unknown://x/y"],
  ]
) {
  Deno.test(`redirect_uris ${JSON.stringify(uris)?.slice(0, 60)} are invalid_redirect_uri (RFC 7591 §3.2.2)`, async () => {
    await using harness = await startHarness();
    const before = await harness.storage.changeCount();
    await assertRefused(await post(harness, { ...valid, redirect_uris: uris }), 400, "invalid_redirect_uri");
    assert.equal(await harness.storage.changeCount(), before);
  });
}

const cursor = "cursor://anysphere.cursor-mcp/oauth/callback";

Deno.test("Cursor's three addresses register and are sent to, its own scheme included (RFC 8252 §7.1)", async () => {
  await using harness = await startHarness();
  const uris = [cursor, "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"];
  for (const redirect_uris of [uris, [cursor]]) {
    const client = await register(harness, { client_name: "Cursor", redirect_uris });
    assert.deepEqual(client["redirect_uris"], redirect_uris);
    assert.equal(client["dropped_redirect_uris"], undefined);
    const browser = openBrowser(harness);
    const page = await reachConsent(browser, authorizePath(client.client_id, { redirect_uri: cursor }));
    const location = (await decide(browser, page)).headers.get("location") ?? "";
    assert.ok(location.startsWith(`${cursor}?code=pca_`), location);
    const code = new URL(location).searchParams.get("code") ?? "";
    assert.equal((await redeem(harness, client, code, { redirect_uri: cursor })).status, 200);
  }
});

Deno.test("of several redirect URIs the allowed are kept, and the reply names the dropped (RFC 7591 §3.2.1)", async () => {
  await using harness = await startHarness();
  const dropped = ["unknown://app/cb", "http://192.168.1.7:8123/cb"];
  const client = await register(harness, { redirect_uris: [redirectUri, ...dropped] });
  assert.deepEqual(client["redirect_uris"], [redirectUri]);
  assert.deepEqual(client["dropped_redirect_uris"], dropped);
  assert.deepEqual((await clients.read(harness.storage, client.client_id))?.value.redirectUris, [redirectUri]);
  const refused = await harness.fetch(authorizePath(client.client_id, { redirect_uri: dropped[0] ?? "" }));
  assert.equal(refused.status, 400);
  assert.equal(refused.headers.get("location"), null);
  assert.match(await refused.text(), /not registered for it/);
});

Deno.test("VS Code's addresses work with and without the slash, on any port", async () => {
  await using harness = await startHarness();
  const client = await register(harness, {
    redirect_uris: ["https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"],
  });
  for (const redirect_uri of ["http://127.0.0.1:33418", "http://127.0.0.1:33418/", "http://127.0.0.1:50123"]) {
    const code = await obtainCode(harness, client, { redirect_uri });
    const normalised = new URL(redirect_uri).href; // what a client that keeps its address as a URL sends
    assert.equal((await redeem(harness, client, code, { redirect_uri: normalised })).status, 200);
  }
});

const optionalMembers = [
  "client_name",
  "grant_types",
  "response_types",
  "token_endpoint_auth_method",
  "scope",
  "contacts",
  "client_uri",
  "logo_uri",
  "tos_uri",
  "policy_uri",
  "jwks_uri",
  "jwks",
  "software_id",
  "software_version",
  "software_statement",
  "application_type",
  "sector_identifier_uri",
  "subject_type",
  "default_max_age",
  "require_auth_time",
  "initiate_login_uri",
  "request_uris",
  "token_value",
];

Deno.test("null, an empty text and an empty list are members left out (RFC 7591 §2)", async () => {
  await using harness = await startHarness();
  const plain = await (await post(harness, valid)).json();
  for (const name of optionalMembers) {
    for (const empty of [null, "", []]) {
      const response = await post(harness, { ...valid, [name]: empty });
      const body = await response.json();
      assert.equal(response.status, 201, `${name} ${JSON.stringify(empty)}: ${JSON.stringify(body)}`);
      assert.deepEqual(body.grant_types, plain.grant_types);
      assert.equal(body.token_endpoint_auth_method, plain.token_endpoint_auth_method);
      assert.ok(!JSON.stringify(body).includes("null"));
    }
  }
  const everything = Object.fromEntries(optionalMembers.map((name) => [name, null]));
  assert.equal((await post(harness, { ...valid, ...everything })).status, 201);
});

Deno.test("the address of a page about the client may be anything: it is neither kept nor fetched nor shown", async () => {
  await using harness = await startHarness();
  for (const name of ["client_uri", "logo_uri", "tos_uri", "policy_uri", "initiate_login_uri"]) {
    for (const uri of ["http://localhost:5173", "http://[::1]:80/logo.png", "http://192.168.1.7/", "not an address"]) {
      const client = await register(harness, { [name]: uri });
      assert.equal(client[name], undefined);
      const stored = await clients.read(harness.storage, client.client_id);
      assert.ok(!JSON.stringify(stored?.value).includes(uri));
    }
  }
});

Deno.test("unused clients make room, used ones stay, and a flood is 429 with Retry-After", async () => {
  await using harness = await startHarness({ limits: { maxUnusedClients: 3 } });
  const { client: used, tokens } = await connect(harness);
  const unused = [];
  for (let count = 0; count < 3; count++) {
    unused.push(await register(harness));
    harness.time.now += 1_000;
  }
  const refused = await post(harness, valid);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  await assertRefused(refused, 429, "temporarily_unavailable");
  harness.time.now += 3_600_000;
  const newest = await register(harness);
  const exists = async (id: string) => await clients.read(harness.storage, id) !== null;
  assert.equal(await exists(unused[0]?.client_id ?? ""), false);
  assert.ok(await exists(unused[1]?.client_id ?? ""));
  assert.ok(await exists(newest.client_id));
  assert.ok(await exists(used.client_id));
  assert.equal((await refresh(harness, used, tokens.refresh_token)).status, 200);
});

Deno.test("clients that register at once are counted one by one, and each makes room once", async () => {
  await using harness = await startHarness({ limits: { maxUnusedClients: 60 } });
  const registerAtOnce = async (count: number) => {
    const answers = await Promise.all(Array.from({ length: count }, () => post(harness, valid)));
    await Promise.all(answers.map((answer) => answer.body?.cancel()));
    return answers.filter(({ status }) => status === 201).length;
  };
  const kept = async () => (await clients.list(harness.storage, { limit: 1_000 })).length;
  assert.deepEqual([await registerAtOnce(70), await kept()], [60, 60]);
  harness.time.now += 3_600_000;
  assert.deepEqual([await registerAtOnce(60), await kept()], [60, 60]);
});

Deno.test("unused clients expire; one that a person approved stays", async () => {
  await using harness = await startHarness();
  const unused = await register(harness);
  const { client: used } = await connect(harness);
  harness.time.now += 400 * 86_400_000;
  assert.equal(await clients.read(harness.storage, unused.client_id), null);
  assert.notEqual(await clients.read(harness.storage, used.client_id), null);
});

Deno.test("in token mode the token goes into the header or token_value and is never kept or shown", async () => {
  const token = "registration-token-of-the-operator";
  await using harness = await startHarness({ registration: { mode: "token", token } });
  const header = await post(harness, valid, { authorization: `Bearer ${token}` });
  const member = await post(harness, { ...valid, token_value: token });
  for (const response of [header, member]) {
    assert.equal(response.status, 201);
    assert.ok(!(await response.text()).includes(token));
  }
  for (
    const [body, headers] of [
      [valid, {}],
      [{ ...valid, token_value: "wrong" }, {}],
      [{ ...valid, token_value: "" }, {}],
      [valid, { authorization: "Bearer wrong" }],
      [valid, { authorization: `Basic ${token}` }],
      [{ ...valid, token_value: token }, { authorization: "Bearer wrong" }],
      [{ redirect_uris: "not even a list" }, {}],
    ] as const
  ) {
    const response = await post(harness, body, headers);
    assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer /);
    await assertRefused(response, 401, "invalid_token");
  }
  const stored = new TextDecoder("latin1").decode(await Deno.readFile(harness.databasePath + "-wal"));
  assert.ok(!stored.includes(token));
  assert.ok(!JSON.stringify(harness.lines).includes(token));
});

Deno.test("registration can be off, and is then not advertised", async () => {
  await using harness = await startHarness({ registration: { mode: "off" } });
  await assertRefused(await post(harness, valid), 403, "access_denied");
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.equal(metadata.registration_endpoint, undefined);
});

Deno.test("in token mode registration is advertised to ServiceNow, not to MCP libraries that hold no token", async () => {
  await using harness = await startHarness({ registration: { mode: "token", token: "t".repeat(32) } });
  const read = async (headers: Record<string, string>) => {
    const response = await harness.fetch("/.well-known/oauth-authorization-server", { headers });
    assert.equal(response.headers.get("vary"), "mcp-protocol-version");
    return (await response.json()).registration_endpoint;
  };
  assert.equal(await read({}), "https://mcp.test/oauth/register");
  assert.equal(await read({ "mcp-protocol-version": "2025-11-25" }), undefined);
});

for (const name of ["jwks_uri", "sector_identifier_uri", "request_uris"]) {
  Deno.test(`${name} that is not https is refused, and nothing is fetched`, async () => {
    await using harness = await startHarness({ fetchDocument: () => assert.fail("nothing is fetched") });
    for (const uri of ["http://169.254.169.254/", "http://localhost:6379", "file:///etc/passwd", 7]) {
      const value = name === "request_uris" ? ["https://app.example.com/", uri] : uri;
      await assertRefused(await post(harness, { ...valid, [name]: value }), 400, "invalid_client_metadata");
    }
    const value = name === "request_uris" ? ["https://app.example.com/"] : "https://app.example.com/";
    assert.equal((await post(harness, { ...valid, [name]: value })).status, 201);
  });
}

Deno.test("a client's name is stripped to one clean line and shown escaped, as not verified", async () => {
  await using harness = await startHarness();
  const names: [string, string][] = [
    ["<script>alert(1)</script>", "“&lt;script&gt;alert(1)&lt;/script&gt;”"],
    ["Cla\u202eude\u200b\u0000\u2066", "“Claude”"],
    ["one\ntwo\r\nthree\u2028four", "“one two three four”"],
    ["\u200b\u3164", "“A client without a name”"],
    ["x".repeat(500), `“${"x".repeat(60)}”`],
  ];
  for (const [name, expected] of names) {
    const client = await register(harness, { client_name: name });
    const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id));
    assert.ok(page.includes(expected), page);
    assert.match(page, /Name not verified/);
    assert.ok(page.includes(`<h1>${expected.slice(1, -1)} wants access</h1>`), page);
  }
});

Deno.test("client metadata that cannot be honoured is refused, unknown members are ignored (RFC 7591 §2)", async () => {
  await using harness = await startHarness();
  for (
    const change of [
      { token_endpoint_auth_method: "tls_client_auth" },
      { token_endpoint_auth_method: "client_secret_any" },
      { grant_types: ["implicit"] },
      { grant_types: ["client_credentials"] },
      { response_types: ["token"] },
      { client_name: 7 },
      { redirect_uris: redirectUri },
    ]
  ) {
    const response = await post(harness, { ...valid, ...change });
    assert.equal(response.status, 400);
    assert.equal((await response.json()).error, "invalid_client_metadata");
  }
  const lenient = await register(harness, { grant_types: ["authorization_code", "implicit"], made_up: { a: 1 } });
  assert.deepEqual(lenient["grant_types"], ["authorization_code"]);
});

Deno.test("bodies: not JSON, not an object, wrong type, too large", async () => {
  await using harness = await startHarness();
  await assertRefused(await post(harness, "{"), 400, "invalid_request");
  await assertRefused(await post(harness, "[]"), 400, "invalid_client_metadata");
  await assertRefused(await post(harness, "a=b", { "content-type": "text/plain" }), 415, "invalid_request");
  await assertRefused(await post(harness, { ...valid, x: "y".repeat(1_000_001) }), 413, "invalid_request");
});

Deno.test("other verbs are 405", async () => {
  await using harness = await startHarness();
  for (const method of ["GET", "PUT", "DELETE"]) {
    const response = await harness.fetch("/oauth/register", { method });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
    await response.body?.cancel();
  }
});

Deno.test("claude.ai registers twice for each connection: both clients work", async () => {
  await using harness = await startHarness();
  const [one, two] = await Promise.all([register(harness), register(harness)]);
  assert.notEqual(one.client_id, two.client_id);
  assert.ok(await obtainCode(harness, one));
  assert.ok(await obtainCode(harness, two));
});
