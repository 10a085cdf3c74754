import assert from "node:assert/strict";
import {
  connect,
  type Harness,
  isAccepted,
  obtainCode,
  redeem,
  redirectUri,
  refresh,
  register,
  type RegisteredClient,
  startHarness,
  verifier,
} from "./harness.ts";
import { spawnServer } from "./spawn_server.ts";

/** Sends a request to a process that dies at its first commit; gives what came back, which is nothing. */
async function killDuring(
  harness: Harness,
  when: "before" | "after",
  path: string,
  form: Record<string, string>,
): Promise<void> {
  await using server = await spawnServer(harness, { commit: 1, when });
  await assert.rejects(server.post(path, form));
  await server.ended;
}

const exchange = (client: RegisteredClient, code: string) => ({
  grant_type: "authorization_code",
  client_id: client.client_id,
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier,
});

Deno.test("kill -9 right before the exchange is stored: the code is still good, once", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const code = await obtainCode(harness, client);
  await harness.fetch("/.well-known/jwks.json"); // makes the signing key, so that the exchange is the first commit
  await killDuring(harness, "before", "/oauth/token", exchange(client, code));
  assert.equal((await redeem(harness, client, code)).status, 200);
  assert.equal((await redeem(harness, client, code)).body.error, "invalid_grant");
});

Deno.test("kill -9 right after the exchange is stored: the code is used up, and no token of it is alive after a replay", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const code = await obtainCode(harness, client);
  await harness.fetch("/.well-known/jwks.json"); // makes the signing key, so that the exchange is the first commit
  await killDuring(harness, "after", "/oauth/token", exchange(client, code));
  assert.equal((await harness.storage.list(["grant"], { limit: 10 })).length, 1);
  assert.equal((await redeem(harness, client, code)).body.error, "invalid_grant");
  assert.deepEqual(await harness.storage.list(["grant"], { limit: 10 }), []);
  assert.deepEqual(await harness.storage.list(["subject_grant"], { limit: 10 }), []);
});

for (const when of ["before", "after"] as const) {
  Deno.test(`kill -9 right ${when} a rotation is stored: the client's retry gets the successor, no grant is lost`, async () => {
    await using harness = await startHarness();
    const { client, tokens } = await connect(harness);
    const form = { grant_type: "refresh_token", client_id: client.client_id, refresh_token: tokens.refresh_token };
    await killDuring(harness, when, "/oauth/token", form);
    const retried = await refresh(harness, client, tokens.refresh_token);
    assert.equal(retried.status, 200);
    assert.match(retried.body.refresh_token, /^pcr_[0-9a-f]{32}_2_/);
    assert.ok(await isAccepted(harness, tokens.access_token));
  });

  Deno.test(`kill -9 right ${when} a revocation is stored: the grant is whole or gone`, async () => {
    await using harness = await startHarness();
    const { client, tokens } = await connect(harness);
    await killDuring(harness, when, "/oauth/revoke", { token: tokens.refresh_token, client_id: client.client_id });
    const isAlive = when === "before";
    assert.equal(await isAccepted(harness, tokens.access_token), isAlive);
    assert.equal((await refresh(harness, client, tokens.refresh_token)).status === 200, isAlive);
    assert.equal((await harness.storage.list(["subject_grant", "owner"], { limit: 10 })).length, isAlive ? 1 : 0);
  });
}
