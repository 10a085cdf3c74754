import assert from "node:assert/strict";
import { addUser } from "../../src/oauth/manage_users.ts";
import { scopeCatalogue } from "../../src/lib/principal.ts";
import {
  authorizePath,
  decide,
  type Harness,
  hiddenField,
  isAccepted,
  locationOf,
  obtainCode,
  openBrowser,
  passphrase,
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

Deno.test("consent without a handle, with a made-up one or with another browser's is 403 and gives no code", async () => {
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

for (const decision of ["allow", "deny"] as const) {
  for (const issuer of ["https://mcp.test", "http://127.0.0.1:3000"]) {
    Deno.test(`the same ${decision} of the same browser gives the same redirect for 30 seconds (${issuer})`, async () => {
      await using harness = await startHarness({ issuer });
      const { browser, page } = await openConsent(harness);
      const location = (await decide(browser, page, { decision })).headers.get("location");
      assert.ok(location !== null);
      const auditLines = harness.lines.length;
      const again = await Promise.all(Array.from({ length: 16 }, () => decide(browser, page, { decision })));
      for (const response of again) {
        assert.equal(response.status, 303);
        assert.equal(response.headers.get("location"), location);
      }
      assert.equal(harness.lines.length, auditLines, "one decision, one audit line");
      harness.time.now += 29_000;
      assert.equal((await decide(browser, page, { decision })).headers.get("location"), location);
      harness.time.now += 2_000;
      await assertNoCode(await decide(browser, page, { decision }));
      await assertNoCode(await browser.get(`/oauth/consent?request=${hiddenField(page, "request")}`));
    });
  }
}

Deno.test("an answered page gives nothing to another decision, browser or person, nor without its proof", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  assert.equal((await decide(browser, page, { scopes: ["files:read"] })).status, 303);
  await assertNoCode(await decide(browser, page));
  await assertNoCode(await decide(browser, page, { decision: "deny", scopes: ["files:read"] }));
  await assertNoCode(await decide(openBrowser(harness), page, { scopes: ["files:read"] }));
  await assertNoCode(await decide((await openConsent(harness)).browser, page, { scopes: ["files:read"] }));
  const form = { request: hiddenField(page, "request"), decision: "allow", scope: "files:read" };
  for (const [account, proof] of [["owner", ""], ["other", hiddenField(page, "proof")]] as const) {
    await assertNoCode(await browser.post("/oauth/consent", { ...form, account, proof }));
  }
});

Deno.test("16 parallel answers of one page give one code, which is redeemed once", async () => {
  await using harness = await startHarness();
  const { client, browser, page } = await openConsent(harness);
  const answers = await Promise.all(Array.from({ length: 16 }, () => decide(browser, page)));
  const locations = new Set(answers.map((response) => response.headers.get("location")));
  assert.equal(locations.size, 1);
  const code = locationOf(answers[0] ?? Response.error()).searchParams.get("code") ?? "";
  assert.equal((await redeem(harness, client, code)).status, 200);
  assert.equal((await redeem(harness, client, code)).body.error, "invalid_grant");
});

Deno.test("a form that another site posts is refused by Sec-Fetch-Site", async () => {
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

Deno.test("pages cannot be framed, cached or scripted", async () => {
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
  const consent = await browser.get(authorizePath(client.client_id));
  for (const response of [...responses, consent]) {
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; /);
    if (response !== consent) assert.match(policy, /; form-action 'self'; /);
    assert.match(policy, /; img-src data:; frame-ancestors 'none'; base-uri 'none'$/);
    assert.equal(response.headers.get("cross-origin-opener-policy"), "unsafe-none");
    assert.equal(response.headers.get("x-frame-options"), "DENY");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.ok(!/<script|javascript:|\son\w+=/i.test(await response.text()));
  }
});

Deno.test("the consent page lets its answer redirect on to anywhere, and keeps its opener", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const again = await browser.get(`/oauth/consent?request=${hiddenField(page, "request")}`);
  assert.doesNotMatch(again.headers.get("content-security-policy") ?? "", /form-action/);
  assert.equal(again.headers.get("cross-origin-opener-policy"), "unsafe-none");
});

Deno.test("client, redirect and scope in the form are ignored: the request is kept on the server", async () => {
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

Deno.test("the page shows client, redirect host, resource, scopes in plain words and that the name is not verified", async () => {
  await using harness = await startHarness();
  const { page } = await openConsent(harness);
  for (
    const text of [
      "“Test client”",
      "Name not verified",
      "client.test",
      "https://mcp.test/mcp",
      "Read your files",
      "Read, create, change and delete your files",
      "Not you?",
      "Up to 30 days, or 14 days without use",
      "Use your local model",
      'lang="en"',
      "<title>",
    ]
  ) assert.ok(page.includes(text), text);
});

Deno.test("who vouches for the client's name is shown before the decision, wherever it is redirected to", async () => {
  await using harness = await startHarness();
  for (const redirect_uri of ["http://127.0.0.1:4711/callback", "https://client.test/callback"]) {
    const { client_id } = await register(harness, { redirect_uris: [redirect_uri] });
    const page = await reachConsent(openBrowser(harness), authorizePath(client_id, { redirect_uri }));
    const before = page.slice(0, page.indexOf('value="allow"'));
    assert.match(before, /Name not verified/, redirect_uri);
  }
});

Deno.test("the person can untick scopes; with none ticked the page asks again", async () => {
  await using harness = await startHarness();
  const { client, browser, page } = await openConsent(harness);
  const none = await decide(browser, page, { scopes: [] });
  assert.equal(none.status, 200);
  const again = await none.text();
  assert.match(again, /Tick at least one/);
  assert.doesNotMatch(again, / checked>/, "what was not ticked does not come back ticked");
  const response = await decide(browser, again, { scopes: ["files:read"] });
  const { body } = await redeem(harness, client, locationOf(response).searchParams.get("code") ?? "");
  assert.equal(body.scope, "files:read");
});

Deno.test("what a person unticked stays so when the page comes back for another reason", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const response = await browser.post("/oauth/consent", {
    request: hiddenField(page, "request"),
    account: "somebody-else",
    decision: "allow",
    scope: "llm:generate",
  });
  assert.equal(response.status, 200);
  const again = await response.text();
  assert.match(again, /signed-in account changed/);
  assert.deepEqual([...again.matchAll(/value="([^"]+)" checked/g)].map(([, name]) => name), ["llm:generate"]);
});

Deno.test("what a scope includes is in its words, also where the client asks for that scope alone", async () => {
  await using harness = await startHarness();
  const { page } = await openConsent(harness, { scope: "files:write" });
  assert.match(page, /<span>Read, create, change and delete your files<\/span>/);
  const verb = (name: string): string => scopeCatalogue.find((scope) => scope.name === name)?.words.split(" ")[0] ?? "";
  for (const { words, implies } of scopeCatalogue) {
    for (const name of implies) assert.ok(words.startsWith(`${verb(name)},`), words);
  }
});

Deno.test("the yellow warning is shown for an unverified web application, and on no other", async () => {
  await using harness = await startHarness();
  const warned = async (uri: string) => {
    const client = await register(harness, { redirect_uris: [uri] });
    const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id, { redirect_uri: uri }));
    return { isWarned: page.includes('class="note warn"'), page };
  };
  const web = await warned(redirectUri);
  assert.ok(web.isWarned);
  assert.match(web.page, /started this: <strong>client\.test<\/strong> gets this access/s);
  for (
    const uri of ["http://127.0.0.1:4000/cb", "http://localhost/cb", "cursor://anysphere.cursor-mcp/oauth/callback"]
  ) {
    const local = await warned(uri);
    assert.ok(!local.isWarned, uri);
    assert.match(local.page, /any local program could ask/);
  }
  assert.match((await warned("cursor://anysphere.cursor-mcp/oauth/callback")).page, /Cursor on this device/);
});

Deno.test("a client that cannot renew its access is shown with the life of one token", async () => {
  await using harness = await startHarness();
  const client = await register(harness, { grant_types: ["authorization_code"] });
  const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id));
  assert.match(page, /<dd>Up to 1 hour<\/dd>/);
});

Deno.test("another account can be used: its sign-in asks for the name and leads back to the same request", async () => {
  await using harness = await startHarness();
  const { storage } = harness;
  await addUser({ storage, clock: () => harness.time.now }, { name: "ada", passphrase: "a passphrase of ada" });
  const { client, browser, page } = await openConsent(harness);
  assert.match(page, /Account<\/dt>\s*<dd>owner/);
  const path = (/href="([^"]+)">Not you\?/.exec(page)?.[1] ?? "").replaceAll("&amp;", "&");
  const form = await (await browser.get(path)).text();
  assert.match(form, /name="username" value=""/);
  const credentials = { request: hiddenField(form, "request"), username: "ada", passphrase: "a passphrase of ada" };
  const signedIn = await browser.post("/oauth/sign-in", credentials);
  const again = await (await browser.get(signedIn.headers.get("location") ?? "")).text();
  assert.match(again, /Account<\/dt>\s*<dd>ada/);
  const code = locationOf(await decide(browser, again)).searchParams.get("code") ?? "";
  const { body } = await redeem(harness, client, code);
  const verified = await harness.server.verifier.verify(body.access_token);
  assert.equal(verified.ok && verified.value.subject, "ada");
});

Deno.test("saying no sends access_denied back and uses the request up (RFC 6749 §4.1.2.1)", async () => {
  await using harness = await startHarness();
  const { browser, page } = await openConsent(harness);
  const response = await decide(browser, page, { decision: "deny" });
  assert.equal(response.status, 303);
  assert.equal(locationOf(response).searchParams.get("error"), "access_denied");
  await assertNoCode(await decide(browser, page));
});

Deno.test("two tabs that a new browser opens at once both finish", async () => {
  await using harness = await startHarness();
  const clients = [await register(harness), await register(harness)];
  const browser = openBrowser(harness);
  const paths = clients.map((client, index) => authorizePath(client.client_id, { state: String(index) }));
  // Neither request has a cookie; the browser keeps what both answers set.
  const tabs = await Promise.all(paths.map((path) => harness.fetch(path)));
  for (const tab of tabs) {
    for (const line of tab.headers.getSetCookie()) {
      const [pair = ""] = line.split("; ");
      browser.cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
  }
  for (const [index, tab] of tabs.entries()) {
    const form = { request: hiddenField(await tab.text(), "request"), passphrase };
    const signedIn = await browser.post("/oauth/sign-in", form);
    assert.equal(signedIn.status, 303);
    const page = await (await browser.get(signedIn.headers.get("location") ?? "")).text();
    assert.equal(locationOf(await decide(browser, page)).searchParams.get("state"), String(index));
  }
});

Deno.test("a browser gets cookies for its tabs only while it has none, and no more than eight count", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  assert.deepEqual((await browser.get(authorizePath(client.client_id))).headers.getSetCookie(), []);
  const page = await reachConsent(browser, authorizePath(client.client_id));
  const own = browser.cookies.get("__Host-portcullis-browser") ?? "";
  browser.cookies.clear();
  for (let count = 0; count < 8; count++) {
    browser.cookies.set(`__Host-portcullis-browser-${count}`, "x".repeat(42) + count);
  }
  browser.cookies.set("__Host-portcullis-browser-8", own);
  await assertNoCode(await decide(browser, page));
});

Deno.test("a browser that keeps no cookie is told so at every form, not sent round in a circle", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const withoutCookies = async (path: string, form: Record<string, string>) => {
    const response = await harness.fetch(path, { method: "POST", body: new URLSearchParams(form) });
    assert.equal(response.status, 403);
    assert.match(await response.text(), /needs a cookie.*Allow cookies/s);
  };
  const request = hiddenField(await (await harness.fetch(authorizePath(client.client_id))).text(), "request");
  const csrf = hiddenField(await (await harness.fetch("/oauth/grants")).text(), "csrf");
  await withoutCookies("/oauth/sign-in", { request, passphrase });
  await withoutCookies("/oauth/sign-in?next=grants", { csrf, passphrase });
  await withoutCookies("/oauth/consent", { request, decision: "allow" });
  await withoutCookies("/oauth/grants", { csrf, grant: "x" });
  await withoutCookies("/oauth/sign-out", { csrf });
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
