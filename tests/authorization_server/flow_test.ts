import assert from "node:assert/strict";
import { connect, isAccepted, issuer, refresh, resource, startHarness } from "./harness.ts";

Deno.test("a client registers, is approved, redeems its code and refreshes (RFC 6749 §4.1, §6)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  assert.equal(tokens.token_type, "Bearer");
  assert.equal(tokens.expires_in, 3600);
  assert.equal(tokens.scope, "files:read files:write llm:generate");
  const verified = await harness.server.verifier.verify(tokens.access_token);
  assert.ok(verified.ok);
  assert.equal(verified.value.subject, "owner");
  assert.equal(verified.value.clientId, client.client_id);
  const renewed = await refresh(harness, client, tokens.refresh_token);
  assert.equal(renewed.status, 200);
  assert.notEqual(renewed.body.refresh_token, tokens.refresh_token);
  assert.ok(await isAccepted(harness, renewed.body.access_token));
});

Deno.test("access tokens have the header and claims of RFC 9068 §2", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const [header, claims] = tokens.access_token.split(".").slice(0, 2)
    .map((part) => JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" }))));
  assert.equal(header.typ, "at+jwt");
  assert.equal(header.alg, "EdDSA");
  assert.match(header.kid, /^[0-9a-f]{32}$/);
  assert.equal(claims.iss, issuer);
  assert.equal(claims.aud, resource);
  assert.equal(claims.sub, "owner");
  assert.equal(claims.client_id, client.client_id);
  assert.equal(claims.exp - claims.iat, 3600);
  assert.match(claims.jti, /^[0-9a-f]{32}$/);
});
