/** What a mark forbids stays forbidden by a wall clock that jumps, between two steps of a request, past its expiry. */
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "@panva/jose";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createClient } from "../../src/oauth/manage_clients.ts";
import type { StorageKey } from "../../src/storage/port.ts";
import { connect, fetchFrom, type Harness, issuer, mount, postForm, startHarness } from "./harness.ts";

const hourMs = 3_600_000;

/** The same installation, whose clock jumps by an hour right before an entry of the family is read or written. */
function jumpingBefore(harness: Harness, family: string): Harness["deps"] {
  const { storage, time } = harness;
  const jump = (key: StorageKey): void => void (key[0] === family && (time.now += hourMs));
  return {
    ...harness.deps,
    storage: {
      ...storage,
      get(key) {
        jump(key);
        return storage.get(key);
      },
      commit(batch) {
        for (const { key } of batch.puts ?? []) jump(key);
        return storage.commit(batch);
      },
    },
  };
}

Deno.test("a revoked token is refused though its mark expires while it is verified", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token, client_id: client.client_id });
  const { verifier } = createAuthorizationServer(jumpingBefore(harness, "revoked_token"));
  assert.ok(!(await verifier.verify(tokens.access_token)).ok);
});

Deno.test("a client assertion that was used is refused though its mark expires while it is looked up", async () => {
  await using harness = await startHarness();
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const made = await createClient(harness.deps, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
    authentication: "private_key_jwt",
    jwks: JSON.stringify({ keys: [{ ...await exportJWK(publicKey), kid: "one", alg: "ES256", use: "sig" }] }),
  });
  assert.ok(made.ok);
  const { id } = made.value.client;
  const now = Math.floor(harness.time.now / 1_000);
  const assertion = await new SignJWT({ iss: id, sub: id, aud: issuer, jti: "once", iat: now, exp: now + 60 })
    .setProtectedHeader({ alg: "ES256", kid: "one" }).sign(privateKey);
  const form = {
    grant_type: "client_credentials",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion,
  };
  assert.equal((await postForm(harness, "/oauth/token", form)).status, 200);
  const jumping = fetchFrom(mount(createAuthorizationServer(jumpingBefore(harness, "used_assertion"))), issuer);
  assert.equal((await postForm({ fetch: jumping }, "/oauth/token", form)).status, 401);
});
