import assert from "node:assert/strict";
import {
  basic,
  connect,
  isAccepted,
  obtainCode,
  postForm,
  redeem,
  redirectUri,
  refresh,
  register,
  resource,
  startHarness,
  verifier,
} from "./harness.ts";

Deno.test("redeeming a code twice revokes everything it gave (RFC 6749 §4.1.2)", async () => {
  await using harness = await startHarness();
  const { client, code, tokens } = await connect(harness);
  const renewed = await refresh(harness, client, tokens.refresh_token);
  const replay = await redeem(harness, client, code);
  assert.equal(replay.status, 400);
  assert.equal(replay.body.error, "invalid_grant");
  for (const token of [tokens.access_token, renewed.body.access_token]) assert.ok(!await isAccepted(harness, token));
  for (const token of [tokens.refresh_token, renewed.body.refresh_token]) {
    assert.equal((await refresh(harness, client, token)).body.error, "invalid_grant");
  }
  assert.ok(
    harness.lines.some(({ event, fields }) => event === "grant_revoked" && fields["reason"] === "replayed_code"),
  );
});

Deno.test("a replay is noticed after days too", async () => {
  await using harness = await startHarness();
  const { client, code, tokens } = await connect(harness);
  harness.time.now += 3 * 86_400_000;
  const renewed = await refresh(harness, client, tokens.refresh_token);
  assert.equal(renewed.status, 200);
  assert.equal((await redeem(harness, client, code)).body.error, "invalid_grant");
  assert.ok(!await isAccepted(harness, renewed.body.access_token));
});

Deno.test("a stranger, a wrong redirect and a wrong verifier get nothing and do not use the code up", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const stranger = await register(harness, { token_endpoint_auth_method: "client_secret_post" });
  const code = await obtainCode(harness, client);
  const before = await harness.storage.changeCount();
  const attempts = [
    await redeem(harness, stranger, code),
    await redeem(harness, client, code, { redirect_uri: "https://other.test/" }),
    await redeem(harness, client, code, { redirect_uri: `${redirectUri}/` }),
    await redeem(harness, client, code, { code_verifier: `${verifier}x` }),
    await redeem(harness, client, code, { code_verifier: "short" }),
    await redeem(harness, client, `${code}x`),
    await redeem(harness, client, code, { resource: "https://other.test/" }),
  ];
  const errors = attempts.map(({ body }) => body.error);
  assert.deepEqual(errors, [...Array.from({ length: 6 }, () => "invalid_grant"), "invalid_target"]);
  assert.match(`${attempts.at(-1)?.body["error_description"]}`, new RegExp(`; it must be ${resource}$`));
  assert.equal(await harness.storage.changeCount(), before);
  assert.equal((await redeem(harness, client, code)).status, 200);
});

Deno.test("a stranger's attempt on a code that was redeemed does not end the grant", async () => {
  await using harness = await startHarness();
  const { code, tokens } = await connect(harness);
  const stranger = await register(harness);
  assert.equal((await redeem(harness, stranger, code)).body.error, "invalid_grant");
  assert.ok(await isAccepted(harness, tokens.access_token));
});

Deno.test("a code ends with its lifetime (RFC 6749 §4.1.2)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const inTime = await obtainCode(harness, client);
  harness.time.now += 299_000;
  assert.equal((await redeem(harness, client, inTime)).status, 200);
  const late = await obtainCode(harness, client);
  harness.time.now += 301_000;
  assert.equal((await redeem(harness, client, late)).body.error, "invalid_grant");
});

Deno.test("the token endpoint takes POST only (RFC 6749 §3.2)", async () => {
  await using harness = await startHarness();
  for (const method of ["GET", "PUT", "DELETE"]) {
    const response = await harness.fetch("/oauth/token?code=x", { method });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
    await response.body?.cancel();
  }
});

Deno.test("no code_verifier, no token (RFC 7636 §4.6)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const code = await obtainCode(harness, client);
  for (const code_verifier of ["", "   "]) {
    const { status, body } = await redeem(harness, client, code, { code_verifier });
    assert.equal(status, 400);
    assert.match(body.error ?? "", /^invalid_(grant|request)$/);
  }
});

Deno.test("redirect_uri may be left out at the token endpoint, since PKCE binds the code (OAuth 2.1 §10.2)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  assert.equal((await redeem(harness, client, await obtainCode(harness, client), { redirect_uri: "" })).status, 200);
});

Deno.test("the token endpoint takes the JSON bodies that the ServiceNow guide's clients send", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const code = await obtainCode(harness, client);
  const response = await harness.fetch("/oauth/token", {
    method: "POST",
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({
      grant_type: "authorization_code",
      client_id: client.client_id,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).token_type, "Bearer");
});

Deno.test("unsupported grants and malformed requests get their error, uncached (RFC 6749 §5.2)", async () => {
  await using harness = await startHarness();
  const { client_id } = await register(harness);
  for (
    const grant_type of [
      "password",
      "implicit",
      "client_credentials",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
      "constructor",
    ]
  ) {
    const { status, body, headers } = await postForm(harness, "/oauth/token", { grant_type, client_id });
    assert.equal(status, 400);
    assert.match(body.error ?? "", /^(unsupported_grant_type|unauthorized_client)$/);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("pragma"), "no-cache");
    assert.match(headers.get("content-type") ?? "", /^application\/json/);
  }
  assert.equal((await postForm(harness, "/oauth/token", { client_id })).body.error, "invalid_request");
  const twice = await postForm(harness, "/oauth/token", [["grant_type", "refresh_token"], ["grant_type", "password"]]);
  assert.equal(twice.body.error, "invalid_request");
  const bodies: [string, string, number][] = [
    ["text/plain", "grant_type=password", 415],
    ["application/json", "[1]", 400],
    ["application/json", '{"grant_type":["password"]}', 400],
    ["application/json", "{", 400],
    ["application/x-www-form-urlencoded", "a=" + "x".repeat(100_001), 413],
    ["application/json", JSON.stringify({ a: "x".repeat(1_000_001) }), 413],
  ];
  for (const [type, body, status] of bodies) {
    const response = await harness.fetch("/oauth/token", { method: "POST", headers: { "content-type": type }, body });
    assert.equal(response.status, status);
    assert.equal((await response.json()).error, "invalid_request");
  }
});

Deno.test("a body without Content-Length is cut off at the limit", async () => {
  await using harness = await startHarness();
  const chunk = new TextEncoder().encode("a".repeat(10_000));
  let sent = 0;
  const body = new ReadableStream({ pull: (controller) => (sent++, controller.enqueue(chunk)) });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await harness.fetch("/oauth/token", { method: "POST", headers, body });
  assert.equal(response.status, 413);
  assert.ok(sent < 20);
  await response.body?.cancel();
});

Deno.test("a client without the refresh grant gets no refresh token and may not refresh (RFC 7591 §2)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness, { grant_types: ["authorization_code"] });
  assert.equal(tokens.refresh_token, undefined);
  assert.equal((await refresh(harness, client, "pcr_x")).body.error, "unauthorized_client");
});

Deno.test("client authentication (RFC 6749 §2.3, §5.2)", async () => {
  await using harness = await startHarness();
  const open = await register(harness);
  const any = await register(harness, { token_endpoint_auth_method: undefined });
  const viaBasic = await register(harness, { token_endpoint_auth_method: "client_secret_basic" });
  const viaPost = await register(harness, { token_endpoint_auth_method: "client_secret_post" });
  const ask = async (form: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await postForm(harness, "/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: "pcr_x",
      ...form,
    }, headers);
    if (answer.status === 401) assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic realm=/);
    return `${answer.status} ${answer.body.error}`;
  };
  const secretOf = ({ client_id, client_secret = "" }: typeof any) => ({ client_id, client_secret });
  const authenticated = "400 invalid_grant"; // the refresh token is nonsense, but the client was known
  const failed = "401 invalid_client";
  // Registered without a method: either works, as ServiceNow needs.
  assert.equal(await ask({}, basic(any.client_id, any.client_secret ?? "")), authenticated);
  assert.equal(await ask(secretOf(any)), authenticated);
  assert.equal(await ask({}, basic(viaBasic.client_id, viaBasic.client_secret ?? "")), authenticated);
  assert.equal(await ask(secretOf(viaPost)), authenticated);
  assert.equal(await ask({ client_id: open.client_id }), authenticated);
  // D5: the registered method binds.
  assert.equal(await ask(secretOf(viaBasic)), failed);
  assert.equal(await ask({}, basic(viaPost.client_id, viaPost.client_secret ?? "")), failed);
  assert.equal(await ask({ client_id: open.client_id, client_secret: "x" }), failed);
  // D1
  assert.equal(await ask({}, basic(any.client_id, "wrong")), failed);
  assert.equal(await ask({ client_id: any.client_id, client_secret: viaPost.client_secret ?? "" }), failed);
  assert.equal(await ask({ client_id: any.client_id }), failed);
  assert.equal(await ask({}, { authorization: "Basic !!" }), failed);
  assert.equal(await ask({}, { authorization: `Basic ${btoa("no colon")}` }), failed);
  assert.equal(await ask({}, { authorization: "Bearer x" }), failed);
  assert.equal(await ask({ client_id: "nobody" }), failed);
  assert.equal(await ask({}), failed);
  // D3, D9
  assert.equal(await ask(secretOf(any), basic(any.client_id, any.client_secret ?? "")), "400 invalid_request");
  assert.equal(
    await ask({ client_id: open.client_id }, basic(any.client_id, any.client_secret ?? "")),
    "400 invalid_request",
  );
});

Deno.test("refreshing, revoking and introspecting take flat JSON too, by the rules of forms", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness, { token_endpoint_auth_method: "client_secret_post" });
  const credentials = { client_id: client.client_id, client_secret: client.client_secret };
  const post = async (path: string, body: Record<string, unknown>) => {
    const response = await harness.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  };
  const refreshing = { grant_type: "refresh_token", refresh_token: tokens.refresh_token, ...credentials };
  const refreshed = await post("/oauth/token", refreshing);
  assert.equal(refreshed.status, 200);
  const token = refreshed.body.access_token;
  assert.equal((await post("/oauth/introspect", { token, ...credentials })).body.active, true);
  assert.equal((await post("/oauth/revoke", { token, ...credentials })).status, 200);
  assert.ok(!await isAccepted(harness, token));
  assert.equal((await post("/oauth/token", { ...refreshing, client_secret: "wrong" })).status, 401);
  for (const wrong of [{ client_id: 1 }, { refresh_token: ["x"] }, { scope: { a: 1 } }]) {
    assert.equal((await post("/oauth/token", { ...refreshing, ...wrong })).status, 400);
  }
});
