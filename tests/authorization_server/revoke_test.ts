import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "@panva/jose";
import {
  connect,
  isAccepted,
  issuer,
  obtainCode,
  postForm,
  redeem,
  refresh,
  register,
  resource,
  startHarness,
} from "./harness.ts";

Deno.test("unknown, malformed and expired tokens answer 200 (RFC 7009 §2.2)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  harness.time.now += 3_601_000;
  for (const token of ["garbage", "pcr_x", "pct_x", "a.b.c", tokens.access_token]) {
    const { status, body } = await postForm(harness, "/oauth/revoke", { token, client_id: client.client_id });
    assert.equal(status, 200, token);
    assert.deepEqual(body, {}); // empty
  }
});

Deno.test("a revoked access token is dead at once, its siblings live (RFC 7009 §2.1)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const renewed = await refresh(harness, client, tokens.refresh_token);
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token, client_id: client.client_id });
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.ok(await isAccepted(harness, renewed.body.access_token));
});

Deno.test("revoking a refresh token ends the whole grant, with a wrong hint too (RFC 7009 §2.1)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const { status } = await postForm(harness, "/oauth/revoke", {
    token: tokens.refresh_token,
    token_type_hint: "access_token",
    client_id: client.client_id,
  });
  assert.equal(status, 200);
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.equal((await refresh(harness, client, tokens.refresh_token)).body.error, "invalid_grant");
});

Deno.test("a forged JWT that carries a victim's jti revokes nothing", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const claims = JSON.parse(atob((tokens.access_token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
  const { privateKey, publicKey } = await generateKeyPair("EdDSA");
  const forged = await new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: "x" }).sign(
    privateKey,
  );
  const withJwk = await new SignJWT(claims)
    .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", jwk: await exportJWK(publicKey) }).sign(privateKey);
  const [header, payload] = tokens.access_token.split(".");
  for (const token of [forged, withJwk, `${header}.${payload}.`, `${header}.${payload}.${"A".repeat(86)}`]) {
    await postForm(harness, "/oauth/revoke", { token, client_id: client.client_id });
  }
  assert.ok(await isAccepted(harness, tokens.access_token));
  assert.equal(claims.iss, issuer);
  assert.equal(claims.aud, resource);
});

Deno.test("another client's token is refused and stays alive (RFC 7009 §2.1)", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const stranger = await register(harness);
  for (const token of [tokens.access_token, tokens.refresh_token]) {
    const { status } = await postForm(harness, "/oauth/revoke", { token, client_id: stranger.client_id });
    assert.equal(status, 400);
  }
  assert.ok(await isAccepted(harness, tokens.access_token));
});

Deno.test("revocation needs the client's authentication, a token and POST", async () => {
  await using harness = await startHarness();
  const client = await register(harness, { token_endpoint_auth_method: "client_secret_post" });
  const { body: tokens } = await redeem(harness, client, await obtainCode(harness, client));
  const { client_id, client_secret = "" } = client;
  for (const form of [{ token: tokens.access_token }, { token: tokens.access_token, client_id }]) {
    assert.equal((await postForm(harness, "/oauth/revoke", form)).status, 401);
  }
  assert.ok(await isAccepted(harness, tokens.access_token));
  assert.equal((await postForm(harness, "/oauth/revoke", { client_id, client_secret })).status, 400);
  const response = await harness.fetch("/oauth/revoke", { method: "GET" });
  assert.equal(response.status, 405);
  await response.body?.cancel();
});
