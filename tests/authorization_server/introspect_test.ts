import assert from "node:assert/strict";
import {
  basic,
  connect,
  type Harness,
  issuer,
  obtainCode,
  postForm,
  redirectUri,
  refresh,
  register,
  type RegisteredClient,
  resource,
  startHarness,
  verifier,
} from "./harness.ts";

const credentials = ({ client_id, client_secret = "" }: RegisteredClient) => basic(client_id, client_secret);

async function introspect(harness: Harness, token: string, client: RegisteredClient) {
  const { status, body, headers } = await postForm(harness, "/oauth/introspect", { token }, credentials(client));
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  return body as unknown as Record<string, unknown>;
}

async function connectConfidential(harness: Harness) {
  const client = await register(harness, { token_endpoint_auth_method: "client_secret_basic" });
  const code = await obtainCode(harness, client);
  const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri };
  const { body } = await postForm(harness, "/oauth/token", form, credentials(client));
  return { client, tokens: body };
}

Deno.test("an active access token is described (RFC 7662 §2.2)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connectConfidential(harness);
  const { jti, iat, exp, ...rest } = await introspect(harness, tokens.access_token, client);
  assert.deepEqual(rest, {
    active: true,
    token_type: "Bearer",
    scope: "files:read files:write llm:generate",
    client_id: client.client_id,
    sub: "owner",
    aud: resource,
    iss: issuer,
  });
  assert.match(String(jti), /^[0-9a-f]{32}$/);
  assert.equal(Number(exp) - Number(iat), 3_600);
});

Deno.test("a refresh token is active until it is replaced for good, and asking does not use it up", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connectConfidential(harness);
  const old = await introspect(harness, tokens.refresh_token, client);
  assert.equal(old["active"], true);
  assert.equal(old["exp"], harness.time.now / 1_000 + 14 * 86_400);
  const form = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
  const renewed = await postForm(harness, "/oauth/token", form, credentials(client));
  harness.time.now += 121_000;
  assert.deepEqual(await introspect(harness, tokens.refresh_token, client), { active: false });
  assert.equal((await introspect(harness, renewed.body.refresh_token, client))["active"], true);
});

Deno.test("without authentication and as a public client 401; another client's token is not active", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connectConfidential(harness);
  const { client: open, tokens: openTokens } = await connect(harness);
  assert.equal((await postForm(harness, "/oauth/introspect", { token: tokens.access_token })).status, 401);
  const asPublic = await postForm(harness, "/oauth/introspect", {
    token: openTokens.access_token,
    client_id: open.client_id,
  });
  assert.equal(asPublic.status, 401);
  assert.equal(asPublic.body.error, "invalid_client");
  for (const token of [openTokens.access_token, openTokens.refresh_token, "garbage", "pcr_x", "pct_x"]) {
    assert.deepEqual(await introspect(harness, token, client), { active: false });
  }
});

Deno.test("revoked and expired tokens are not active", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connectConfidential(harness);
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token }, credentials(client));
  assert.deepEqual(await introspect(harness, tokens.access_token, client), { active: false });
  const other = await connectConfidential(harness);
  harness.time.now += 3_600_000;
  assert.deepEqual(await introspect(harness, other.tokens.access_token, other.client), { active: false });
  await postForm(harness, "/oauth/revoke", { token: other.tokens.refresh_token }, credentials(other.client));
  assert.deepEqual(await introspect(harness, other.tokens.refresh_token, other.client), { active: false });
});

Deno.test("a missing token is invalid_request, another verb 405", async () => {
  await using harness = await startHarness();
  const { client } = await connectConfidential(harness);
  const { status, body } = await postForm(harness, "/oauth/introspect", {}, credentials(client));
  assert.equal(`${status} ${body.error}`, "400 invalid_request");
  const response = await harness.fetch("/oauth/introspect", { method: "GET" });
  assert.equal(response.status, 405);
  await response.body?.cancel();
  assert.equal((await refresh(harness, client, "pcr_x", { client_secret: client.client_secret ?? "" })).status, 401);
});
