import assert from "node:assert/strict";
import { isClientDocumentUrl } from "../../src/lib/network.ts";
import {
  authorizePath,
  decide,
  type Harness,
  isAccepted,
  locationOf,
  obtainCode,
  openBrowser,
  reachConsent,
  redeem,
  redirectUri,
  refresh,
  startHarness,
} from "./harness.ts";
import { openTestNetwork, type TestNetwork } from "./test_network.ts";

const clientId = "https://app.example.com/client.json";
const client = { client_id: clientId };
const document = {
  client_id: clientId,
  client_name: "Example App",
  redirect_uris: [redirectUri, "http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

async function start(): Promise<{ web: TestNetwork; harness: Harness } & AsyncDisposable> {
  const web = openTestNetwork();
  const harness = await startHarness({ fetchDocument: web.fetcher() });
  web.publish("/client.json", document);
  return {
    web,
    harness,
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await web[Symbol.asyncDispose]();
    },
  };
}

Deno.test("CIMD: a client with a metadata document is approved, redeems and refreshes without registering", async () => {
  await using test = await start();
  const { harness, web } = test;
  const page = await reachConsent(openBrowser(harness), authorizePath(clientId));
  assert.match(page, /“Example App”/);
  assert.match(page, /Published by <strong>app\.example\.com<\/strong>/); // K13
  const { body } = await redeem(harness, client, await obtainCode(harness, client));
  assert.ok(await isAccepted(harness, body.access_token));
  assert.equal((await refresh(harness, client, body.refresh_token)).status, 200);
  assert.equal(web.requests.length, 1);
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.equal(metadata.client_id_metadata_document_supported, true);
});

for (
  const id of [
    "http://app.example.com/client.json",
    "https://app.example.com",
    "https://app.example.com/",
    "https://app.example.com/client.json#x",
    "https://app.example.com/client.json#",
    "https://user@app.example.com/client.json",
    "https://user:pass@app.example.com/client.json",
    "https://app.example.com/a/../client.json",
    "https://app.example.com/./client.json",
    "https://app.example.com/a/%2e%2e/client.json",
    "https://APP.example.com/client.json",
    "https://app.example.com:443/client.json",
    "https://app.example.com\\client.json",
    "https://127.0.0.1/client.json",
    "https://2130706433/client.json",
    "https://0x7f.1/client.json",
    "https://[::1]/client.json",
    "https://localhost/client.json",
    "https://localhost./client.json",
    "https://a.localhost/client.json",
    "https://printer.local/client.json",
    "https://metadata.google.internal/client.json",
    "https://intranet/client.json",
    "https://app.example.com/" + "a".repeat(1_000),
    "ftp://app.example.com/client.json",
    "HTTPS://app.example.com/client.json",
  ]
) {
  Deno.test(`${id.slice(0, 60)} is no client_id to fetch (draft §3)`, async () => {
    await using test = await start();
    assert.ok(!isClientDocumentUrl(id));
    const response = await test.harness.fetch(authorizePath(id));
    assert.equal(response.status, 400);
    assert.equal(response.headers.get("location"), null);
    await response.body?.cancel();
    assert.deepEqual(test.web.connected, []);
  });
}

const rules: readonly (readonly [name: string, document: unknown, rule: string])[] = [
  ["no redirect_uris", { ...document, redirect_uris: undefined }, "malformed_document"],
  ["empty redirect_uris", { ...document, redirect_uris: [] }, "malformed_document"],
  ["no client_name", { ...document, client_name: undefined }, "malformed_document"],
  ["no client_id", { ...document, client_id: undefined }, "malformed_document"],
  ["another client_id", { ...document, client_id: `${clientId}?` }, "client_id_mismatch"],
  [
    "a forbidden redirect",
    { ...document, redirect_uris: [redirectUri, "javascript:alert(1)"] },
    "unusable_redirect_uri",
  ],
  ["a plain http redirect", { ...document, redirect_uris: ["http://app.example.com/cb"] }, "unusable_redirect_uri"],
  ["a client secret", { ...document, client_secret: "s" }, "secret_in_document"],
  [
    "a secret's method",
    { ...document, token_endpoint_auth_method: "client_secret_post" },
    "unsupported_document_authentication",
  ],
  ["a method without keys", { ...document, token_endpoint_auth_method: "private_key_jwt" }, "unusable_keys"],
  ["no code grant", { ...document, grant_types: ["refresh_token"] }, "unsupported_document_grant"],
  ["an array", [document], "malformed_document"],
  ["a text", "hello", "malformed_document"],
];
for (const [name, wrong, rule] of rules) {
  Deno.test(`a document with ${name} is no client; the page names the rule, and the failure is not remembered`, async () => {
    await using test = await start();
    const { harness, web } = test;
    web.publish("/client.json", JSON.stringify(wrong));
    const response = await harness.fetch(authorizePath(clientId));
    assert.equal(response.status, 400);
    assert.equal(response.headers.get("location"), null);
    const page = await response.text();
    assert.match(page, /metadata cannot be used/);
    assert.ok(page.includes(`breaks a rule: ${rule}.`), page);
    web.publish("/client.json", document);
    assert.match(await (await harness.fetch(authorizePath(clientId))).text(), /Example App/);
  });
}

Deno.test("the page is the same for a private address, a name without one and a host that fails TLS: no oracle about the network", async () => {
  await using test = await start();
  const { harness, web } = test;
  const pages: string[] = [];
  const ask = async (id = clientId): Promise<void> => {
    web.time.now += 10_000; // a failure is the answer for that long
    const response = await harness.fetch(authorizePath(id));
    assert.equal(response.status, 400);
    pages.push(await response.text());
  };
  for (const addresses of [["10.0.0.1"], ["127.0.0.1"], ["169.254.169.254"], []]) {
    web.names.set("app.example.com", [addresses]);
    await ask();
  }
  web.names.delete("app.example.com");
  await ask();
  web.names.set("other.example.net", [["93.184.216.34"]]); // the certificate is for another name
  await ask("https://other.example.net/client.json");
  assert.match(pages[0] ?? "", /could not be looked up/);
  assert.equal(new Set(pages).size, 1);
  const told = harness.lines.filter(({ event }) => event === "client_document").map(({ fields }) => fields["reason"]);
  assert.deepEqual([...new Set(told)], ["forbidden_address", "unresolvable_host", "connection_failed"]); // the log knows
});

Deno.test("a redirect that is not in the document is refused on our page", async () => {
  await using test = await start();
  const response = await test.harness.fetch(authorizePath(clientId, { redirect_uri: "https://evil.test/" }));
  assert.equal(response.status, 400);
  assert.equal(response.headers.get("location"), null);
  await response.body?.cancel();
});

Deno.test("a loopback redirect shows its host and a warning, since any local program can borrow the client_id", async () => {
  await using test = await start();
  const path = authorizePath(clientId, { redirect_uri: "http://127.0.0.1:4711/callback" });
  const page = await reachConsent(openBrowser(test.harness), path);
  assert.match(page, /127\.0\.0\.1:4711/);
  assert.match(page, /any local program could ask/);
});

Deno.test("a document may leave members empty, and list addresses of which only some are allowed", async () => {
  await using test = await start();
  const { harness, web } = test;
  const cursor = "cursor://anysphere.cursor-mcp/oauth/callback";
  const empty = { scope: null, jwks: null, jwks_uri: "", response_types: [], contacts: null, client_secret: null };
  const redirect_uris = [cursor, redirectUri, "http://192.168.1.7/cb", "unknown://app/cb"];
  web.publish("/client.json", { ...document, ...empty, redirect_uris });
  for (const redirect_uri of [cursor, redirectUri]) {
    const page = await reachConsent(openBrowser(harness), authorizePath(clientId, { redirect_uri }));
    assert.match(page, /wants access/, redirect_uri);
  }
  for (const redirect_uri of redirect_uris.slice(2)) {
    assert.equal((await harness.fetch(authorizePath(clientId, { redirect_uri }))).status, 400, redirect_uri);
  }
});

Deno.test("a bad request of a client that nobody approved leads nowhere by itself: no open redirector (RFC 9700 §4.11.2)", async () => {
  await using test = await start();
  const { harness, web } = test;
  web.publish("/client.json", { ...document, client_name: "<b>App</b>" });
  const bad: Record<string, string>[] = [
    { response_type: "token" },
    { code_challenge_method: "plain" },
    { resource: "https://other.test/" },
    { prompt: "none" },
  ];
  for (const parameters of bad) {
    const response = await harness.fetch(authorizePath(clientId, parameters));
    assert.equal(response.status, 400, JSON.stringify(parameters));
    assert.equal(response.headers.get("location"), null);
    const page = await response.text();
    assert.match(page, /Go back to client\.test</);
    assert.match(page, /published by <strong>app\.example\.com/);
    assert.doesNotMatch(page, /<b>/);
    const href = new URL((/href="([^"]+)"/.exec(page)?.[1] ?? "").replaceAll("&amp;", "&"));
    assert.ok(href.href.startsWith(`${redirectUri}?`));
    assert.ok(href.searchParams.get("error"));
    assert.equal(href.searchParams.get("state"), "the state");
  }
  await redeem(harness, client, await obtainCode(harness, client));
  for (const parameters of bad) {
    const response = await harness.fetch(authorizePath(clientId, parameters));
    assert.equal(response.status, 302, JSON.stringify(parameters)); // somebody here knows it now
  }
});

Deno.test("a changed document counts from the next authorization after its lifetime; consent is asked again", async () => {
  await using test = await start();
  const { harness, web } = test;
  web.publish("/client.json", document, { "cache-control": "max-age=60" });
  const browser = openBrowser(harness);
  const answered = await decide(browser, await reachConsent(browser, authorizePath(clientId)));
  assert.ok(locationOf(answered).searchParams.has("code"));
  web.publish("/client.json", { ...document, redirect_uris: ["https://new.test/callback"] });
  assert.equal((await browser.get(authorizePath(clientId))).status, 200);
  harness.time.now += 60_000;
  assert.equal((await browser.get(authorizePath(clientId))).status, 400);
  const page = await (await browser.get(authorizePath(clientId, { redirect_uri: "https://new.test/callback" }))).text();
  assert.match(page, /This lets it/);
});

Deno.test("caching has bounds: no-store asks every time, a year is cut to an hour", async () => {
  await using test = await start();
  const { harness, web } = test;
  const ask = async () => void await (await harness.fetch(authorizePath(clientId))).body?.cancel();
  web.publish("/client.json", document, { "cache-control": "no-store" });
  await ask();
  await ask();
  assert.equal(web.requests.length, 2);
  web.publish("/client.json", document, { "cache-control": "max-age=31536000" });
  await ask();
  harness.time.now += 3_599_000;
  await ask();
  assert.equal(web.requests.length, 3);
  harness.time.now += 1_000;
  await ask();
  assert.equal(web.requests.length, 4);
});

Deno.test("an approved client keeps refreshing while its document cannot be reached, but cannot start anew", async () => {
  await using test = await start();
  const { harness, web } = test;
  const { body } = await redeem(harness, client, await obtainCode(harness, client));
  web.names.set("app.example.com", [["127.0.0.1"]]);
  harness.time.now += 86_400_000;
  assert.equal((await refresh(harness, client, body.refresh_token)).status, 200);
  const response = await harness.fetch(authorizePath(clientId));
  assert.equal(response.status, 400);
  await response.body?.cancel();
});

Deno.test("without the fetcher there are no metadata documents and none are advertised", async () => {
  await using harness = await startHarness();
  const response = await harness.fetch(authorizePath(clientId));
  assert.equal(response.status, 400);
  await response.body?.cancel();
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.equal(metadata.client_id_metadata_document_supported, undefined);
});
