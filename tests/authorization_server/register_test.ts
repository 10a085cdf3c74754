import assert from "node:assert/strict";
import { defaultLimits } from "../../src/authorization_server/context.ts";
import { clients } from "../../src/authorization_server/records/client.ts";
import {
  authorizePath,
  connect,
  type Harness,
  obtainCode,
  openBrowser,
  reachConsent,
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
    ["cursor://only/private"],
  ]
) {
  Deno.test(`I1: redirect_uris ${JSON.stringify(uris)?.slice(0, 60)} are invalid_redirect_uri (RFC 7591 §3.2.2)`, async () => {
    await using harness = await startHarness();
    const before = await harness.storage.changeCount();
    await assertRefused(await post(harness, { ...valid, redirect_uris: uris }), 400, "invalid_redirect_uri");
    assert.equal(await harness.storage.changeCount(), before);
  });
}

Deno.test("a private-use redirect beside an https one is stored, and refused when it is used", async () => {
  await using harness = await startHarness();
  const cursor = "cursor://anysphere.cursor-mcp/oauth/callback";
  const client = await register(harness, { redirect_uris: [redirectUri, cursor] });
  assert.deepEqual(client["redirect_uris"], [redirectUri, cursor]);
  const refused = await harness.fetch(authorizePath(client.client_id, { redirect_uri: cursor }));
  assert.equal(refused.status, 400);
  assert.equal(refused.headers.get("location"), null);
});

Deno.test("I3: unused clients make room, used ones stay, and a flood is 429 with Retry-After", async () => {
  const limits = { ...defaultLimits, maxUnusedClients: 3, unusedClientGraceSeconds: 60 };
  await using harness = await startHarness({ limits });
  const { client: used, tokens } = await connect(harness);
  const unused = [];
  for (let count = 0; count < 3; count++) {
    unused.push(await register(harness));
    harness.time.now += 1_000;
  }
  const refused = await post(harness, valid);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  await assertRefused(refused, 429, "temporarily_unavailable");
  harness.time.now += 60_000;
  const newest = await register(harness);
  const exists = async (id: string) => await clients.read(harness.storage, id) !== null;
  assert.equal(await exists(unused[0]?.client_id ?? ""), false);
  assert.ok(await exists(unused[1]?.client_id ?? ""));
  assert.ok(await exists(newest.client_id));
  assert.ok(await exists(used.client_id));
  assert.equal((await refresh(harness, used, tokens.refresh_token)).status, 200);
});

Deno.test("unused clients expire; one that a person approved stays", async () => {
  await using harness = await startHarness();
  const unused = await register(harness);
  const { client: used } = await connect(harness);
  harness.time.now += 400 * 86_400_000;
  assert.equal(await clients.read(harness.storage, unused.client_id), null);
  assert.notEqual(await clients.read(harness.storage, used.client_id), null);
});

Deno.test("I5: in token mode the token goes into the header or token_value and is never kept or shown", async () => {
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

Deno.test("registration can be off, and is then not advertised (H3)", async () => {
  await using harness = await startHarness({ registration: { mode: "off" } });
  await assertRefused(await post(harness, valid), 403, "access_denied");
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.equal(metadata.registration_endpoint, undefined);
});

for (const name of ["jwks_uri", "logo_uri", "client_uri", "sector_identifier_uri", "request_uris"]) {
  Deno.test(`I7: ${name} that is not https is refused, and nothing is fetched`, async () => {
    await using harness = await startHarness();
    for (const uri of ["http://169.254.169.254/", "http://localhost:6379", "file:///etc/passwd", 7]) {
      const value = name === "request_uris" ? [uri] : uri;
      await assertRefused(await post(harness, { ...valid, [name]: value }), 400, "invalid_client_metadata");
    }
  });
}

Deno.test("I9: a client's name is stripped to one clean line and shown escaped, as not verified", async () => {
  await using harness = await startHarness();
  const names: [string, string][] = [
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt; asks for access"],
    ["Cla\u202eude\u200b\u0000\u2066", "Claude asks for access"],
    ["one\ntwo\r\nthree\u2028four", "one two three four asks for access"],
    ["\u200b\u3164", "An application without a name asks for access"],
    ["x".repeat(500), `${"x".repeat(60)} asks for access`],
  ];
  for (const [name, expected] of names) {
    const client = await register(harness, { client_name: name });
    const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id));
    assert.ok(page.includes(expected), page);
    assert.match(page, /Name not verified/);
  }
});

Deno.test("client metadata that cannot be honoured is refused, unknown members are ignored (RFC 7591 §2)", async () => {
  await using harness = await startHarness();
  for (
    const change of [
      { token_endpoint_auth_method: "tls_client_auth" },
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

Deno.test("I11: other verbs are 405", async () => {
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
