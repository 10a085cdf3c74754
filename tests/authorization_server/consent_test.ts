import assert from "node:assert/strict";
import {
  authorizePath,
  decide,
  type Harness,
  hiddenField,
  isAccepted,
  locationOf,
  obtainCode,
  openBrowser,
  reachConsent,
  redeem,
  redirectUri,
  register,
  startHarness,
} from "./harness.ts";

async function openConsent(harness: Harness, parameters: Record<string, string> = {}) {
  const client = await register(harness);
  const browser = openBrowser(harness);
  const page = await reachConsent(browser, authorizePath(client.client_id, parameters));
  return { client, browser, page };
}

async function assertNoCode(response: Response, status = 403): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("location"), null);
  await response.body?.cancel();
}

Deno.test("K1: consent without a handle, with a made-up one or with another browser's is 403 and gives no code", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const other = await openConsent(harness);
  const form = { account: "owner", decision: "allow", scope: "files:read" };
  await assertNoCode(await browser.post("/oauth/consent", form));
  await assertNoCode(await browser.post("/oauth/consent", { ...form, request: "x".repeat(43) }));
  await assertNoCode(await other.browser.post("/oauth/consent", { ...form, request: hiddenField(page, "request") }));
  await assertNoCode(
    await openBrowser(harness).post("/oauth/consent", { ...form, request: hiddenField(page, "request") }),
  );
  assert.equal((await decide(browser, page)).status, 303);
});

Deno.test("K1: a page can be answered once", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  assert.equal((await decide(browser, page)).status, 303);
  await assertNoCode(await decide(browser, page));
  await assertNoCode(await browser.get(`/oauth/consent?request=${hiddenField(page, "request")}`));
});

Deno.test("K1: 16 parallel answers of one page give one code", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const answers = await Promise.all(Array.from({ length: 16 }, () => decide(browser, page)));
  assert.equal(answers.filter(({ status }) => status === 303).length, 1);
  await Promise.all(answers.map((response) => response.body?.cancel()));
});

Deno.test("K1: a form that another site posts is refused by Sec-Fetch-Site", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  for (const site of ["cross-site", "same-site"]) {
    const body = new URLSearchParams({
      request: hiddenField(page, "request"),
      account: "owner",
      decision: "allow",
      scope: "files:read",
    });
    await assertNoCode(
      await harness.fetch("/oauth/consent", { method: "POST", body, headers: { cookie, "sec-fetch-site": site } }),
    );
  }
});

Deno.test("K3: pages cannot be framed, cached or scripted", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  const responses = [
    await browser.get(authorizePath(client.client_id)),
    await browser.get(authorizePath("unknown")),
    await browser.get("/setup?code=x"),
    await browser.get("/oauth/consent?request=x"),
  ];
  await reachConsent(browser, authorizePath(client.client_id));
  responses.push(await browser.get(authorizePath(client.client_id)));
  for (const response of responses) {
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/);
    assert.match(policy, /; frame-ancestors 'none'; base-uri 'none'$/);
    assert.equal(response.headers.get("x-frame-options"), "DENY");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.ok(!/<script|javascript:|\son\w+=/i.test(await response.text()));
  }
});

Deno.test("K5: form-action lists the origin that the answer redirects to, and no other", async () => {
  await using harness = await startHarness();
  const client = await register(harness, {
    redirect_uris: [redirectUri, "http://127.0.0.1/cb", "http://localhost/cb", "http://[::1]/cb"],
  });
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  const expected = {
    [redirectUri]: "https://client.test",
    "http://127.0.0.1:4000/cb": "http://127.0.0.1:4000",
    "http://localhost:4000/cb": "http://localhost:4000",
    "http://[::1]:4000/cb": "http://*:4000",
  };
  for (const [uri, source] of Object.entries(expected)) {
    const response = await browser.get(authorizePath(client.client_id, { redirect_uri: uri }));
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.ok(policy.includes(`form-action 'self' ${source};`), policy);
    await response.body?.cancel();
  }
});

Deno.test("K9: client, redirect and scope in the form are ignored: the request is kept on the server", async () => {
  await using harness = await startHarness();
  const { client, browser, page } = await openConsent(harness, { scope: "files:read" });
  const response = await browser.post("/oauth/consent", [
    ["request", hiddenField(page, "request")],
    ["account", "owner"],
    ["decision", "allow"],
    ["scope", "files:read"],
    ["scope", "files:write"],
    ["scope", "llm:generate"],
    ["client_id", "somebody"],
    ["redirect_uri", "https://evil.test/"],
    ["state", "evil"],
    ["resource", "https://evil.test/"],
  ]);
  const location = locationOf(response);
  assert.equal(location.origin + location.pathname, redirectUri);
  assert.equal(location.searchParams.get("state"), "the state");
  const { body } = await redeem(harness, client, location.searchParams.get("code") ?? "");
  assert.equal(body.scope, "files:read");
});

Deno.test("K13: the page shows client, redirect host, resource, scopes in plain words and that the name is not verified", async () => {
  await using harness = await startHarness();
  const { page } = await openConsent(harness);
  for (
    const text of [
      "Test client asks for access",
      "Name not verified",
      "client.test",
      "https://mcp.test/mcp",
      "Read and list the files in your workspace",
      "Create and change files in your workspace",
      "Send prompts to your local language model",
      'lang="en"',
      "<title>",
    ]
  ) assert.ok(page.includes(text), text);
});

Deno.test("the person can untick scopes; with none ticked the page asks again", async () => {
  await using harness = await startHarness();
  const { client, browser, page } = await openConsent(harness);
  const none = await decide(browser, page, { scopes: [] });
  assert.equal(none.status, 200);
  const again = await none.text();
  assert.match(again, /Tick at least one/);
  const response = await decide(browser, again, { scopes: ["files:read"] });
  const { body } = await redeem(harness, client, locationOf(response).searchParams.get("code") ?? "");
  assert.equal(body.scope, "files:read");
});

Deno.test("saying no sends access_denied back and uses the request up (RFC 6749 §4.1.2.1)", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const response = await decide(browser, page, { decision: "deny" });
  assert.equal(response.status, 303);
  assert.equal(locationOf(response).searchParams.get("error"), "access_denied");
  await assertNoCode(await decide(browser, page));
});

Deno.test("two tabs of one browser each finish their own request", async () => {
  await using harness = await startHarness();
  const browser = openBrowser(harness);
  const [one, two] = [await register(harness), await register(harness)];
  const firstPage = await reachConsent(browser, authorizePath(one.client_id, { state: "1" }));
  const secondPage = await reachConsent(browser, authorizePath(two.client_id, { state: "2" }));
  const second = locationOf(await decide(browser, secondPage));
  const first = locationOf(await decide(browser, firstPage));
  assert.deepEqual([first.searchParams.get("state"), second.searchParams.get("state")], ["1", "2"]);
  assert.equal((await redeem(harness, one, first.searchParams.get("code") ?? "")).status, 200);
  assert.equal((await redeem(harness, two, second.searchParams.get("code") ?? "")).status, 200);
});

Deno.test("consent without a session leads to sign-in, not to a code", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  browser.cookies.delete("__Host-portcullis-session");
  const response = await decide(browser, page);
  assert.equal(response.status, 200);
  assert.match(await response.text(), /name="passphrase"/);
});

Deno.test("a request that waited too long is gone", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  harness.time.now += 600_000;
  await assertNoCode(await decide(browser, page));
});

Deno.test("every grant, refusal, registration and sign-in leaves an audit line", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const { body } = await redeem(harness, client, await obtainCode(harness, client));
  assert.ok(await isAccepted(harness, body.access_token));
  const audited = harness.lines.filter(({ level }) => level === "audit").map(({ event, fields }) =>
    `${event} ${fields["outcome"]}`
  );
  assert.deepEqual(audited, ["client_registration registered", "sign_in signed_in", "consent allowed", "token issued"]);
});

// Cookies know no ports: a native client's callback on http://127.0.0.1 receives those of a server on http://127.0.0.1.
const loopback = "http://127.0.0.1:3000";

Deno.test("on plain http the session ends with the decision, before the browser is sent to another port", async () => {
  await using harness = await startHarness({ issuer: loopback });
  const client = await register(harness);
  for (const decision of ["allow", "deny"] as const) {
    const browser = openBrowser(harness);
    const page = await reachConsent(browser, authorizePath(client.client_id));
    const session = browser.cookies.get("portcullis-session") ?? "";
    assert.ok(session);
    assert.equal((await decide(browser, page, { decision })).status, 303);
    assert.equal(browser.cookies.get("portcullis-session"), undefined);
    browser.cookies.set("portcullis-session", session); // somebody kept it
    assert.match(await (await browser.get(authorizePath(client.client_id))).text(), /name="passphrase"/);
  }
});

Deno.test("on plain http two tabs still finish, each by the page that it was shown", async () => {
  await using harness = await startHarness({ issuer: loopback });
  const client = await register(harness);
  const browser = openBrowser(harness);
  const first = await reachConsent(browser, authorizePath(client.client_id, { state: "1" }));
  const second = await reachConsent(browser, authorizePath(client.client_id, { state: "2" }));
  assert.equal(locationOf(await decide(browser, second)).searchParams.get("state"), "2");
  assert.equal(locationOf(await decide(browser, first)).searchParams.get("state"), "1");
});

Deno.test("on plain http no cookie can consent by itself: not without the page's proof, nor with another page's", async () => {
  await using harness = await startHarness({ issuer: loopback });
  const client = await register(harness);
  const browser = openBrowser(harness);
  const first = await reachConsent(browser, authorizePath(client.client_id));
  const second = await reachConsent(browser, authorizePath(client.client_id));
  assert.equal((await decide(browser, second)).status, 303);
  const form = { request: hiddenField(first, "request"), account: "owner", decision: "allow", scope: "files:read" };
  for (const proof of ["", "x", hiddenField(second, "proof")]) {
    const response = await browser.post("/oauth/consent", { ...form, proof });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /name="passphrase"/);
  }
  const signIn = await (await browser.get(authorizePath(client.client_id))).text();
  const handle = hiddenField(signIn, "request");
  const skipped = await browser.post("/oauth/consent", {
    ...form,
    request: handle,
    proof: hiddenField(first, "proof"),
  });
  assert.match(await skipped.text(), /name="passphrase"/);
});
