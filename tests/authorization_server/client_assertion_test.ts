import assert from "node:assert/strict";
import { failure } from "../../src/lib/result.ts";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "@panva/jose";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createClient } from "../../src/oauth/manage_clients.ts";
import {
  authorizePath,
  fetchFrom,
  type Harness,
  issuer,
  mount,
  obtainCode,
  postForm,
  redeem,
  redirectUri,
  refresh,
  register,
  type RegisteredClient,
  startHarness,
} from "./harness.ts";
import { openTestNetwork, publicAddress, type TestNetwork } from "./test_network.ts";

const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

async function makeKey(alg: string, kid = "one") {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: "sig" } };
}

type Key = Awaited<ReturnType<typeof makeKey>>;

const es256 = await makeKey("ES256");
const ed25519 = await makeKey("EdDSA");
const ps256 = await makeKey("PS256");

async function makeClient(harness: Harness, key: Key): Promise<string> {
  const made = await createClient(harness.deps, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
    authentication: "private_key_jwt",
    jwks: JSON.stringify({ keys: [key.jwk] }),
  });
  assert.ok(made.ok, JSON.stringify(made));
  assert.equal(made.value.secret, null);
  return made.value.client.id;
}

function sign(
  harness: Harness,
  id: string,
  key: Key,
  change: JWTPayload = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const now = Math.floor(harness.time.now / 1_000);
  const claims = { iss: id, sub: id, aud: issuer, jti: crypto.randomUUID(), iat: now, exp: now + 60, ...change };
  return new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey);
}

async function ask(harness: Harness, client_assertion: string, form: Record<string, string> = {}): Promise<string> {
  const { status, body } = await postForm(harness, "/oauth/token", {
    grant_type: "client_credentials",
    client_assertion_type,
    client_assertion,
    ...form,
  });
  return status === 200 ? "issued" : `${status} ${body.error}`;
}

const failed = "401 invalid_client";

for (const key of [es256, ed25519, ps256]) {
  Deno.test(`private_key_jwt with ${key.alg} authenticates, for issuer and endpoint audiences (RFC 7523 §3)`, async () => {
    await using harness = await startHarness();
    const id = await makeClient(harness, key);
    assert.equal(await ask(harness, await sign(harness, id, key)), "issued");
    assert.equal(await ask(harness, await sign(harness, id, key, { aud: `${issuer}/oauth/token` })), "issued");
    assert.equal(await ask(harness, await sign(harness, id, key, { aud: [issuer] }), { client_id: id }), "issued");
    assert.equal(await ask(harness, await sign(harness, id, key, {}, { typ: "client-authentication+jwt" })), "issued");
  });
}

Deno.test("every broken rule of RFC 7523 §3 is invalid_client", async () => {
  await using harness = await startHarness();
  const id = await makeClient(harness, es256);
  const now = Math.floor(harness.time.now / 1_000);
  const changes: JWTPayload[] = [
    { aud: "https://other.test" },
    { aud: "https://other.test/oauth/token" },
    { aud: `${issuer}/` },
    { aud: [issuer, "https://other.test"] },
    { aud: [] },
    { iss: "https://other.test" },
    { sub: "pcc_somebody" },
    { iss: "pcc_somebody", sub: id },
    { exp: now - 60 },
    { exp: now + 86_400 },
    { nbf: now + 60 },
    { iat: now + 60 },
    { jti: "" },
  ];
  for (const change of changes) {
    assert.equal(await ask(harness, await sign(harness, id, es256, change)), failed, JSON.stringify(change));
  }
  for (const name of ["exp", "jti", "iss", "sub", "aud"]) {
    const claims: JWTPayload = { iss: id, sub: id, aud: issuer, jti: name, iat: now, exp: now + 60 };
    delete claims[name];
    const token = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(es256.privateKey);
    assert.equal(await ask(harness, token), failed, name);
  }
});

Deno.test("alg none, HS256 under the public key, another key, another type, and nonsense", async () => {
  await using harness = await startHarness();
  const id = await makeClient(harness, es256);
  const good = await sign(harness, id, es256);
  const [, payload = "", signature = ""] = good.split(".");
  const encode = (value: unknown) =>
    btoa(JSON.stringify(value)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
  const publicText = new TextEncoder().encode(JSON.stringify(es256.jwk));
  const hmac = await new SignJWT({
    iss: id,
    sub: id,
    aud: issuer,
    jti: "h",
    exp: Math.floor(harness.time.now / 1_000) + 60,
  })
    .setProtectedHeader({ alg: "HS256", kid: "one" }).sign(publicText);
  const stranger = await makeKey("ES256");
  const withJwk = await sign(harness, id, stranger, {}, { jwk: stranger.jwk });
  const bad = [
    `${encode({ alg: "none" })}.${payload}.`,
    `${encode({ alg: "None" })}.${payload}.${signature}`,
    hmac,
    await sign(harness, id, stranger),
    withJwk,
    await sign(harness, id, es256, {}, { typ: "at+jwt" }),
    await sign(harness, id, es256, {}, { kid: "unknown" }),
    `${good.slice(0, -4)}AAAA`,
    "nonsense",
    "a.b.c",
    "x".repeat(9_000),
  ];
  for (const assertion of bad) assert.equal(await ask(harness, assertion), failed, assertion.slice(0, 60));
  assert.equal(
    await ask(harness, good, { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer" }),
    failed,
  );
  assert.equal(await ask(harness, good), "issued");
});

Deno.test("an assertion works once, also when it comes 16 times at once", async () => {
  await using harness = await startHarness();
  const id = await makeClient(harness, es256);
  const assertion = await sign(harness, id, es256);
  const answers = await Promise.all(Array.from({ length: 16 }, () => ask(harness, assertion)));
  assert.equal(answers.filter((answer) => answer === "issued").length, 1);
  assert.ok(harness.reasons().includes("replayed_client_assertion"));
  harness.time.now += 65_000;
  assert.equal(await ask(harness, assertion), failed);
});

Deno.test("no second method beside an assertion, no other client_id, no other method for the client", async () => {
  await using harness = await startHarness();
  const id = await makeClient(harness, es256);
  const fresh = () => sign(harness, id, es256);
  assert.equal(await ask(harness, await fresh(), { client_secret: "x" }), "400 invalid_request");
  assert.equal(await ask(harness, await fresh(), { client_id: "pcc_other" }), "400 invalid_request");
  const { status } = await postForm(harness, "/oauth/token", {
    grant_type: "client_credentials",
    client_id: id,
    client_secret: "x",
  });
  assert.equal(status, 401);
  const open = await register(harness);
  assert.equal(await ask(harness, await sign(harness, open.client_id, es256)), failed);
});

Deno.test("a client registers its keys and goes through the whole flow with assertions (RFC 7591 §2)", async () => {
  await using harness = await startHarness();
  const client = await register(harness, {
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [es256.jwk] },
  });
  assert.equal(client.client_secret, undefined);
  const code = await obtainCode(harness, client);
  const open: RegisteredClient = { client_id: client.client_id };
  assert.equal((await redeem(harness, open, code)).body.error, "invalid_client");
  const assertion = await sign(harness, client.client_id, es256);
  const answer = await redeem(harness, open, code, { client_assertion_type, client_assertion: assertion });
  assert.equal(answer.status, 200);
});

Deno.test("registration with private_key_jwt needs public keys, in one place", async () => {
  await using harness = await startHarness();
  const { d: _, ...publicJwk } = { d: "x", ...es256.jwk };
  for (
    const change of [
      {},
      { jwks: { keys: [] } },
      { jwks: { keys: [{ ...publicJwk, d: "x" }] } },
      { jwks: { keys: [{ kty: "oct", k: "AAAA" }] } },
      { jwks: { keys: [publicJwk] }, jwks_uri: "https://app.example.com/jwks.json" },
      { jwks_uri: "https://app.example.com/jwks.json" }, // nothing can be fetched here
    ]
  ) {
    const response = await harness.fetch("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "private_key_jwt", ...change }),
    });
    assert.equal(response.status, 400);
    assert.equal((await response.json()).error, "invalid_client_metadata");
  }
});

Deno.test("keys at a jwks_uri are fetched from public addresses only, kept, and fetched again when they rotate", async () => {
  await using web = openTestNetwork();
  await using harness = await startHarness({ fetchDocument: web.fetcher() });
  const clientId = "https://app.example.com/client.json";
  web.publish("/client.json", {
    client_id: clientId,
    client_name: "Example App",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: "https://app.example.com/jwks.json",
  });
  web.publish("/jwks.json", { keys: [es256.jwk] });
  const client: RegisteredClient = { client_id: clientId };
  const attempt = async (key: Key) => {
    const code = await obtainCode(harness, client);
    const assertion = await sign(harness, clientId, key);
    return (await redeem(harness, client, code, { client_assertion_type, client_assertion: assertion })).status;
  };
  assert.equal(await attempt(es256), 200);
  assert.equal(await attempt(es256), 200);
  const fetches = () => web.requests.filter((line) => line.includes("/jwks.json")).length;
  assert.equal(fetches(), 1);
  const next = await makeKey("ES256", "two");
  web.publish("/jwks.json", { keys: [next.jwk] });
  assert.equal(await attempt(next), 401); // asked again at most once a minute
  harness.time.now += 60_000;
  assert.equal(await attempt(next), 200);
  assert.equal(fetches(), 2);
  web.names.set("app.example.com", [["127.0.0.1"]]);
  const connections = web.connected.length;
  harness.time.now += 600_000;
  const code = await obtainCode(harness, client).catch(() => null);
  assert.equal(code, null);
  assert.equal(web.connected.length, connections);
});

const documentId = "https://app.example.com/client.json";
const documentClient: RegisteredClient = { client_id: documentId };

/** A client that keeps its keys in its metadata document, approved and with a refresh token. */
async function approve(web: TestNetwork, harness: Harness, keys: readonly Key[]) {
  const publish = (published: readonly Key[], headers: Record<string, string> = {}) =>
    web.publish("/client.json", {
      client_id: documentId,
      client_name: "Example App",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: published.map(({ jwk }) => jwk) },
    }, headers);
  publish(keys);
  const proof = async (key: Key) => ({ client_assertion_type, client_assertion: await sign(harness, documentId, key) });
  const [key] = keys;
  assert.ok(key);
  const code = await obtainCode(harness, documentClient);
  const redeemed = await redeem(harness, documentClient, code, await proof(key));
  assert.equal(redeemed.status, 200);
  let token = redeemed.body.refresh_token;
  const refreshWith = async (by: Key): Promise<number> => {
    const { status, body } = await refresh(harness, documentClient, token, await proof(by));
    if (status === 200) token = body.refresh_token;
    return status;
  };
  /** Until what was last read is not fresh any more, and no failure is remembered. */
  const wait = (seconds: number): void => {
    harness.time.now += seconds * 1_000;
    web.time.now += seconds * 1_000;
  };
  return { publish, refreshWith, wait };
}

/** At a further server on the same storage, which remembers nothing by itself. */
async function authenticatesAfterRestart(harness: Harness, web: TestNetwork, key: Key): Promise<boolean> {
  const server = createAuthorizationServer({ ...harness.deps, fetchDocument: web.fetcher() });
  const client_assertion = await sign(harness, documentId, key);
  const body = { grant_type: "refresh_token", refresh_token: "unknown", client_assertion_type, client_assertion };
  const answer = await fetchFrom(mount(server), issuer)("/oauth/token", {
    method: "POST",
    body: new URLSearchParams(body),
  });
  const { error } = await answer.json();
  return error === "invalid_grant";
}

Deno.test("a key that its publisher withdrew from the document stops as soon as the document is read again", async () => {
  await using web = openTestNetwork();
  await using harness = await startHarness({ fetchDocument: web.fetcher() });
  const next = await makeKey("ES256", "two");
  const { publish, refreshWith, wait } = await approve(web, harness, [es256]);
  publish([next]);
  wait(300);
  assert.equal(await refreshWith(es256), 401);
  assert.equal(await refreshWith(next), 200);
  // A document that is withdrawn, or of another kind, is no outage.
  for (const status of ["404 Not Found", "301 Moved", "200 OK"]) {
    web.answers.set("/client.json", (write) => write(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`));
    wait(300);
    assert.equal(await refreshWith(next), 401, status);
  }
});

Deno.test("while the document cannot be reached the last keys count, for a day, and never a key that was seen withdrawn", async () => {
  await using web = openTestNetwork();
  await using harness = await startHarness({ fetchDocument: web.fetcher() });
  const next = await makeKey("ES256", "two");
  const { publish, refreshWith, wait } = await approve(web, harness, [es256]);
  wait(2 * 86_400);
  publish([next]);
  assert.equal(await refreshWith(next), 200);
  const outages = [
    () => void web.dead.add(publicAddress),
    () => {
      web.dead.clear();
      web.names.set("app.example.com", [[]]);
    },
    () => {
      web.names.set("app.example.com", [[publicAddress]]);
      web.answers.set("/client.json", (write) => write("HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n"));
    },
  ];
  for (const begin of outages) {
    begin();
    wait(3_600);
    for (const key of [next, es256]) assert.equal(await authenticatesAfterRestart(harness, web, key), false);
    assert.equal(await refreshWith(next), 200);
    assert.equal(await refreshWith(es256), 401);
  }
  wait(86_400);
  assert.equal(await refreshWith(next), 401);
  publish([next]);
  wait(10);
  assert.equal(await refreshWith(next), 200);
});

Deno.test("our own limit of fetches, which anyone can reach, lets a withdrawn key live for a quarter of an hour at most", async () => {
  await using web = openTestNetwork();
  const fetcher = web.fetcher();
  let isBusy = false;
  const fetchDocument = async (url: string, asker: string) =>
    isBusy ? failure("too_many_fetches" as const) : await fetcher(url, asker);
  await using harness = await startHarness({ fetchDocument });
  const next = await makeKey("ES256", "two");
  const { publish, refreshWith, wait } = await approve(web, harness, [es256]);
  publish([next]);
  isBusy = true;
  wait(600);
  assert.equal(await refreshWith(es256), 200, "a client is not shut out by it at once");
  wait(301);
  assert.equal(await refreshWith(es256), 401);
  isBusy = false;
  assert.equal(await refreshWith(es256), 401);
  assert.equal(await refreshWith(next), 200);
});

Deno.test("keys at a jwks_uri that cannot be read any more count for a day after they were last read", async () => {
  await using web = openTestNetwork();
  await using harness = await startHarness({ fetchDocument: web.fetcher() });
  web.publish("/jwks.json", { keys: [es256.jwk] });
  const client = await register(harness, {
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: "https://app.example.com/jwks.json",
  });
  const attempt = async (): Promise<number> => {
    const code = await obtainCode(harness, client);
    const client_assertion = await sign(harness, client.client_id, es256);
    return (await redeem(harness, client, code, { client_assertion_type, client_assertion })).status;
  };
  assert.equal(await attempt(), 200);
  web.dead.add(publicAddress);
  harness.time.now += 80_000_000;
  assert.equal(await attempt(), 200);
  harness.time.now += 7_000_000;
  assert.equal(await attempt(), 401);
});

Deno.test("keys withdrawn from a jwks_uri end with the answer that withdraws them, and soon by our own limit of fetches", async () => {
  const limits: [problem: "too_many_fetches" | "connection_failed" | "timed_out", goodSeconds: number][] = [
    ["too_many_fetches", 900],
    ["connection_failed", 86_400],
    ["timed_out", 86_400],
  ];
  const withdrawals: [name: string, withdraw: (web: TestNetwork) => void][] = [
    [
      "404",
      (web) => web.answers.set("/jwks.json", (write) => write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")),
    ],
    ["no keys", (web) => web.publish("/jwks.json", { keys: [] })],
    ["no JSON of keys", (web) => web.publish("/jwks.json", { moved: true })],
  ];
  const start = async (web: TestNetwork) => {
    const fetcher = web.fetcher();
    let fault: typeof limits[number][0] | null = null;
    const fetchDocument = async (url: string, asker: string) =>
      fault === null ? await fetcher(url, asker) : failure(fault);
    const harness = await startHarness({ fetchDocument });
    web.publish("/jwks.json", { keys: [es256.jwk] });
    const jwks_uri = "https://app.example.com/jwks.json";
    const client = await register(harness, { token_endpoint_auth_method: "private_key_jwt", jwks_uri });
    const attempt = async (): Promise<number> => {
      const code = await obtainCode(harness, client);
      const client_assertion = await sign(harness, client.client_id, es256);
      return (await redeem(harness, client, code, { client_assertion_type, client_assertion })).status;
    };
    const wait = (seconds: number): void => {
      harness.time.now += seconds * 1_000;
      web.time.now += seconds * 1_000;
    };
    assert.equal(await attempt(), 200);
    return { harness, attempt, wait, play: (next: typeof fault) => fault = next };
  };
  for (const [problem, goodSeconds] of limits) {
    await using web = openTestNetwork();
    const { harness, attempt, wait, play } = await start(web);
    await using _ = harness;
    play(problem);
    wait(goodSeconds - 100);
    assert.equal(await attempt(), 200, problem);
    wait(701);
    assert.equal(await attempt(), 401, problem);
  }
  for (const [name, withdraw] of withdrawals) {
    await using web = openTestNetwork();
    const { harness, attempt, wait, play } = await start(web);
    await using _ = harness;
    withdraw(web);
    wait(601);
    assert.equal(await attempt(), 401, name);
    play("connection_failed");
    wait(601);
    assert.equal(await attempt(), 401, `${name}, and then an outage`);
  }
});

for (
  const [name, key] of [
    ["a private key", { ...es256.jwk, d: "AAAA" }],
    ["a symmetric key", { kty: "oct", k: "AAAA" }],
    ["a symmetric key without its value", { kty: "oct" }],
    ["a secret member in a key of an unknown type", { kty: "AKP", priv: "AAAA" }],
  ] as const
) {
  Deno.test(`${name} beside public ones is refused wherever a jwks appears, used or not`, async () => {
    await using web = openTestNetwork();
    await using harness = await startHarness({ fetchDocument: web.fetcher() });
    const keys = [es256.jwk, key];
    for (const token_endpoint_auth_method of ["none", "client_secret_basic", "private_key_jwt", undefined]) {
      for (const jwks of [{ keys }, JSON.stringify({ keys })]) {
        const response = await harness.fetch("/oauth/register", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method, jwks }),
        });
        assert.equal(response.status, 400, String(token_endpoint_auth_method));
        assert.equal((await response.json()).error, "invalid_client_metadata");
      }
    }
    for (const token_endpoint_auth_method of ["none", "private_key_jwt", undefined]) {
      web.publish("/client.json", {
        client_id: documentId,
        client_name: "Example App",
        redirect_uris: [redirectUri],
        token_endpoint_auth_method,
        jwks: { keys },
      });
      const response = await harness.fetch(authorizePath(documentId));
      assert.equal(response.status, 400);
      assert.match(await response.text(), /public keys|unusable_keys/);
    }
  });
}
