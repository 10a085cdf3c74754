import assert from "node:assert/strict";
import {
  authorizePath,
  connect,
  decide,
  type Harness,
  isAccepted,
  issuer,
  locationOf,
  obtainCode,
  openBrowser,
  reachConsent,
  redeem,
  redirectUri,
  refresh,
  register,
  registerApproved,
  resource,
  startHarness,
} from "./harness.ts";

async function assertLocal(response: Response, status: number): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("location"), null);
  assert.equal(response.headers.get("x-frame-options"), "DENY");
  assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
  assert.deepEqual(response.headers.getSetCookie(), []);
  await response.body?.cancel();
}

async function assertRedirect(response: Response, error: string): Promise<URLSearchParams> {
  assert.equal(response.status, 302, await response.text());
  const location = locationOf(response);
  assert.equal(location.origin + location.pathname, redirectUri);
  assert.equal(location.searchParams.get("error"), error);
  assert.equal(location.searchParams.get("iss"), issuer);
  assert.equal(location.searchParams.get("code"), null);
  return location.searchParams;
}

const changes = async (harness: Harness) => await harness.storage.changeCount();

Deno.test("an unknown client is told so on our page, never redirected (OAuth 2.1 §4.1.2.1)", async () => {
  await using harness = await startHarness();
  const before = await changes(harness);
  for (const id of ["nobody", "", "https://evil.test/client.json", "pcc_" + "0".repeat(32)]) {
    await assertLocal(await harness.fetch(authorizePath(id, { redirect_uri: "https://evil.test/" })), 400);
  }
  assert.equal(await changes(harness), before);
});

Deno.test("a redirect URI that is not the client's own is never redirected to", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  await register(harness, { redirect_uris: ["https://other.test/callback"] });
  for (
    const uri of [
      `${redirectUri}/more`,
      `${redirectUri}/`,
      "https://client.test/Callback",
      "https://client.test:8443/callback",
      "https://other.test/callback",
      "javascript:alert(1)",
      "http://127.0.0.1/callback",
      "",
    ]
  ) {
    const path = uri === ""
      ? authorizePath(client.client_id).replace(/redirect_uri=[^&]*/, "redirect_uri=x")
      : authorizePath(client.client_id, { redirect_uri: uri });
    await assertLocal(await harness.fetch(path), 400);
  }
  assert.ok(harness.reasons().every((reason) => reason === "redirect_uri_not_registered"));
});

Deno.test("a loopback client may come back on any port (RFC 8252 §7.3)", async () => {
  await using harness = await startHarness();
  const client = await register(harness, { redirect_uris: ["http://127.0.0.1:3000/cb"] });
  const browser = openBrowser(harness);
  const page = await reachConsent(
    browser,
    authorizePath(client.client_id, { redirect_uri: "http://127.0.0.1:51999/cb" }),
  );
  assert.match(page, /127\.0\.0\.1:51999/);
  assert.match(page, /any local program could ask/);
  assert.equal(locationOf(await decide(browser, page)).port, "51999");
});

Deno.test("without redirect_uri the only registered one is used, with two nobody is redirected", async () => {
  await using harness = await startHarness();
  const one = await registerApproved(harness);
  await assertRedirect(
    await harness.fetch(authorizePath(one.client_id, { redirect_uri: null, code_challenge: null })),
    "invalid_request",
  );
  const two = await register(harness, { redirect_uris: [redirectUri, "https://client.test/second"] });
  await assertLocal(await harness.fetch(authorizePath(two.client_id, { redirect_uri: null })), 400);
});

Deno.test("an address without a request says what it is, and what to do", async () => {
  await using harness = await startHarness();
  for (const query of ["", "?"]) {
    const response = await harness.fetch(`/oauth/authorize${query}`);
    assert.equal(response.status, 400);
    const page = await response.text();
    assert.match(page, /<h1[^>]*>Your client opens this page<\/h1>/);
    assert.match(page, /To connect one, enter the address of this server in it\./);
    assert.doesNotMatch(page, /not registered|malformed/);
  }
  const logged = harness.lines.filter(({ event }) => event === "authorization");
  assert.deepEqual(logged.map(({ fields }) => fields["client"]), [undefined, undefined], "no client is named");
});

Deno.test("long queries, control characters and repeated parameters are refused on our page", async () => {
  await using harness = await startHarness();
  const { client_id } = await register(harness);
  await assertLocal(await harness.fetch(authorizePath(client_id, { state: "x".repeat(9_000) })), 414);
  await assertLocal(await harness.fetch(authorizePath(client_id, { state: "a\r\nSet-Cookie: b=c" })), 400);
  await assertLocal(await harness.fetch(authorizePath(client_id, { state: "a\0b" })), 400);
  await assertLocal(await harness.fetch(`${authorizePath(client_id)}&client_id=${client_id}`), 400);
  await assertLocal(await harness.fetch(`${authorizePath(client_id)}&redirect_uri=https://evil.test/`), 400);
});

Deno.test("state comes back as it was, percent-encoded", async () => {
  await using harness = await startHarness();
  const { client_id } = await registerApproved(harness);
  const state = `<"&'>=?#% ü`;
  const parameters = await assertRedirect(
    await harness.fetch(authorizePath(client_id, { state, response_type: "token" })),
    "unsupported_response_type",
  );
  assert.equal(parameters.get("state"), state);
});

Deno.test("prompt=none never gives a code (OpenID Connect Core §3.1.2.6)", async () => {
  await using harness = await startHarness();
  const client = await registerApproved(harness);
  const browser = openBrowser(harness);
  const path = authorizePath(client.client_id, { prompt: "none" });
  await assertRedirect(await browser.get(path), "login_required");
  await reachConsent(browser, authorizePath(client.client_id));
  await assertRedirect(await browser.get(path), "consent_required");
});

Deno.test("prompt=login asks for the passphrase although a session exists", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  harness.time.now += 1_000;
  assert.match(await (await browser.get(authorizePath(client.client_id))).text(), /This lets it/);
  const page = await (await browser.get(authorizePath(client.client_id, { prompt: "login" }))).text();
  assert.match(page, /name="passphrase"/);
  const handle = /name="request" value="([^"]*)"/.exec(page)?.[1] ?? "";
  assert.match(await (await browser.get(`/oauth/consent?request=${handle}`)).text(), /name="passphrase"/);
});

Deno.test("a foreign, relative or fragmented resource is invalid_target (RFC 8707 §2)", async () => {
  await using harness = await startHarness();
  const { client_id } = await registerApproved(harness);
  const stranger = await register(harness);
  for (const value of ["https://other.test/mcp", `${resource}#x`, "/mcp", `${resource}?x=1`]) {
    const sent = await harness.fetch(authorizePath(client_id, { resource: value }));
    const told = (await assertRedirect(sent, "invalid_target")).get("error_description");
    assert.ok(told?.endsWith(`; it must be ${resource}`), `${told}`);
    const page = await harness.fetch(authorizePath(stranger.client_id, { resource: value }));
    assert.equal(page.status, 400);
    assert.ok((await page.text()).includes(`it must be ${resource}.`));
  }
  const two = `${authorizePath(client_id)}&resource=${resource}&resource=https://other.test/`;
  await assertRedirect(await harness.fetch(two), "invalid_target");
});

Deno.test("another spelling of the resource is accepted and the audience is the configured one", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const spelled = "https://MCP.test/mcp/";
  const code = await obtainCode(harness, client, { resource: spelled });
  const { body } = await redeem(harness, client, code, { resource: spelled });
  const claims = JSON.parse(atob((body.access_token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
  assert.equal(claims.aud, resource);
});

const pkceFailures: Record<string, Record<string, string | null>> = {
  "no code_challenge": { code_challenge: null, code_challenge_method: null },
  "method plain": { code_challenge_method: "plain" },
  "no method, which means plain": { code_challenge_method: null },
  "method s256": { code_challenge_method: "s256" },
  "method S512": { code_challenge_method: "S512" },
  "empty method": { code_challenge_method: "" },
  "a challenge that is no SHA-256 hash": { code_challenge: "short" },
};
for (const [name, parameters] of Object.entries(pkceFailures)) {
  Deno.test(`${name} is invalid_request (OAuth 2.1 §4.1.1)`, async () => {
    await using harness = await startHarness();
    const { client_id } = await registerApproved(harness);
    const query = await assertRedirect(await harness.fetch(authorizePath(client_id, parameters)), "invalid_request");
    assert.equal(query.get("state"), "the state");
  });
}

Deno.test("without a challenge there is no code, so no verifier can be added later (RFC 9700 §4.8.2)", async () => {
  await using harness = await startHarness();
  const client = await registerApproved(harness);
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  const before = await changes(harness);
  await assertRedirect(await browser.get(authorizePath(client.client_id, { code_challenge: null })), "invalid_request");
  assert.equal(await changes(harness), before);
  assert.equal((await redeem(harness, client, "pca_made-up")).body.error, "invalid_grant");
});

Deno.test("code_challenge_method sent twice is refused, not guessed about", async () => {
  await using harness = await startHarness();
  const { client_id } = await register(harness);
  await assertLocal(await harness.fetch(`${authorizePath(client_id)}&code_challenge_method=plain`), 400);
});

Deno.test("response types and modes that do not exist, and request objects are refused by redirect", async () => {
  await using harness = await startHarness();
  const { client_id } = await registerApproved(harness);
  const refused: [Record<string, string | null>, string][] = [
    [{ response_type: null }, "invalid_request"],
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: "code id_token" }, "unsupported_response_type"],
    [{ response_mode: "fragment" }, "invalid_request"],
    [{ request: "e30." }, "request_not_supported"],
    [{ request_uri: "http://169.254.169.254/" }, "request_uri_not_supported"],
  ];
  for (const [parameters, error] of refused) {
    await assertRedirect(await harness.fetch(authorizePath(client_id, parameters)), error);
  }
});

Deno.test("scopes: commas are understood, unknown names dropped, none means those registered or all", async () => {
  await using harness = await startHarness();
  const scopesOf = async (parameters: Record<string, string | null>, metadata = {}) => {
    const client = await register(harness, metadata);
    const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id, parameters));
    return [...page.matchAll(/name="scope" value="([^"]*)"/g)].map(([, name]) => name);
  };
  assert.deepEqual(await scopesOf({ scope: "llm:generate,files:read,offline_access" }), ["files:read", "llm:generate"]);
  assert.deepEqual(await scopesOf({ scope: null }), ["files:read", "files:write", "llm:generate"]);
  assert.deepEqual(await scopesOf({ scope: null }, { scope: "files:read" }), ["files:read"]);
});

Deno.test("a request for unknown scopes alone gets the defaults, through to a refresh that repeats it", async () => {
  await using harness = await startHarness();
  for (const scope of ["openid offline_access", "claudeai", " offline_access", "", "profile,email", "admin root"]) {
    for (
      const [registered, expected] of [[undefined, "files:read files:write llm:generate"], ["files:read", "files:read"]]
    ) {
      const client = await register(harness, { scope: registered });
      const { body } = await redeem(harness, client, await obtainCode(harness, client, { scope }));
      assert.equal(body.scope, expected);
      const refreshed = await refresh(harness, client, body.refresh_token, { scope });
      assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
      assert.equal(refreshed.body.scope, expected);
    }
  }
});

Deno.test("the origin, with or without a slash, is the resource, in every request that names one", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  for (const named of [issuer, `${issuer}/`, resource, `${resource}/`]) {
    const code = await obtainCode(harness, client, { resource: named });
    const { status, body } = await redeem(harness, client, code, { resource: named });
    assert.equal(status, 200, named);
    assert.equal((await refresh(harness, client, body.refresh_token, { resource: named })).status, 200, named);
    assert.ok(await isAccepted(harness, body.access_token));
  }
});

Deno.test("other verbs than GET are 405 with Allow", async () => {
  await using harness = await startHarness();
  const response = await harness.fetch("/oauth/authorize", { method: "POST" });
  assert.equal(response.headers.get("allow"), "GET");
  await assertLocal(response, 405);
});

Deno.test("before set-up authorize says to open the set-up link", async () => {
  await using harness = await startHarness({ setUp: false });
  const { client_id } = await register(harness);
  const response = await harness.fetch(authorizePath(client_id));
  assert.match(await response.clone().text(), /set-up link/);
  await assertLocal(response, 503);
});

Deno.test("every authorization response carries iss, success and denial too (RFC 9207 §2)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  for (const [decision, parameter] of [["deny", "error"], ["allow", "code"]] as const) {
    const answered = await decide(browser, await reachConsent(browser, authorizePath(client.client_id)), { decision });
    assert.equal(answered.status, 303);
    const { searchParams } = locationOf(answered);
    assert.equal(searchParams.get("iss"), issuer);
    assert.equal(searchParams.get("state"), "the state");
    assert.ok(searchParams.has(parameter));
  }
});

Deno.test("the endpoints in the metadata are plain URLs below the issuer", async () => {
  await using harness = await startHarness();
  await connect(harness);
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  for (const [name, value] of Object.entries(metadata)) {
    if (!/_endpoint$|_uri$/.test(name)) continue;
    assert.match(String(value), /^https:\/\/mcp\.test\/[a-z./-]+$/);
  }
});

const badRequests: Record<string, string | null>[] = [
  { response_type: "token" },
  { response_type: null },
  { response_mode: "fragment" },
  { code_challenge: null },
  { code_challenge_method: "plain" },
  { resource: "https://other.test/" },
  { request: "e30." },
  { request_uri: "https://other.test/" },
  { prompt: "none" },
];

Deno.test("a bad request of a client that registered itself redirects to no site before a person approved it", async () => {
  await using harness = await startHarness();
  const signedIn = openBrowser(harness);
  const other = await register(harness);
  await reachConsent(signedIn, authorizePath(other.client_id));
  const client = await register(harness, { client_name: "<b>Prize</b>" });
  for (const browser of [openBrowser(harness), signedIn]) {
    for (const parameters of badRequests) {
      const response = await browser.get(authorizePath(client.client_id, parameters));
      assert.equal(response.status, 400, JSON.stringify(parameters));
      assert.equal(response.headers.get("location"), null);
      const page = await response.text();
      assert.match(page, /registered itself under that name/);
      assert.match(page, /Go back to client\.test</);
      assert.doesNotMatch(page, /<b>/);
    }
  }
  await obtainCode(harness, client);
  for (const parameters of badRequests) {
    const response = await harness.fetch(authorizePath(client.client_id, parameters));
    assert.equal(response.status, 302, JSON.stringify(parameters));
    assert.ok(response.headers.get("location")?.startsWith(`${redirectUri}?error=`));
  }
});

Deno.test("a site that spells https in capital letters is a site: it hears of no bad request before an approval", async () => {
  await using harness = await startHarness();
  const target = "HTTPS://client.test/callback";
  const client = await register(harness, { redirect_uris: [target] });
  for (const parameters of badRequests) {
    const response = await harness.fetch(authorizePath(client.client_id, { redirect_uri: target, ...parameters }));
    assert.equal(response.status, 400, JSON.stringify(parameters));
    assert.equal(response.headers.get("location"), null);
  }
});

Deno.test("a program on this machine, and a client registered with the token, hear of their bad requests at once", async () => {
  await using harness = await startHarness();
  const local = await register(harness, { redirect_uris: ["http://127.0.0.1:3000/cb"] });
  await using guarded = await startHarness({ registration: { mode: "token", token: "t".repeat(32) } });
  const vouched = await register(guarded, { token_value: "t".repeat(32) });
  for (const parameters of badRequests) {
    const path = authorizePath(local.client_id, { redirect_uri: "http://127.0.0.1:4711/cb", ...parameters });
    assert.equal((await harness.fetch(path)).status, 302, JSON.stringify(parameters));
    assert.equal((await guarded.fetch(authorizePath(vouched.client_id, parameters))).status, 302);
  }
});

Deno.test("what a client registered stands in no header of the pages about it", async () => {
  await using harness = await startHarness();
  const policies = new Set<string | null>();
  for (const host of ["client.test", "xn--caf-dma.example:8443", "sandbox.example"]) {
    const uri = `https://${host}/callback`;
    const client = await register(harness, { redirect_uris: [uri] });
    const response = await openBrowser(harness).get(authorizePath(client.client_id, { redirect_uri: uri }));
    assert.doesNotMatch(JSON.stringify([...response.headers]), new RegExp(host));
    policies.add(response.headers.get("content-security-policy"));
    await response.body?.cancel();
  }
  assert.equal(policies.size, 1);
});
