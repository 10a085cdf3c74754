/** Many people at one address, as behind a proxy that is not trusted, and a stranger among them. */
import assert from "node:assert/strict";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { createRateLimiter, limitAttempts } from "../../src/http/guard.ts";
import {
  authorizePath,
  connect,
  decide,
  fetchFrom,
  type Harness,
  mount,
  obtainCode,
  openBrowser,
  postForm,
  reachConsent,
  redeem,
  refresh,
  register,
  startHarness,
} from "../authorization_server/harness.ts";

/** The endpoints behind the limit that the app puts before them; all requests come from one address. */
function limited(harness: Harness): Harness {
  const { credentialKey } = harness.server;
  const limiter = createRateLimiter({ count: 100, windowMs: 900_000, clock: harness.deps.clock });
  const endpoints = Object.fromEntries(
    Object.entries(mount(harness.server)).map(([path, endpoint]) => [
      path,
      limitAttempts(limiter, endpoint, { credentialKey, onRefused: () => {} }),
    ]),
  );
  return { ...harness, fetch: fetchFrom(endpoints, harness.deps.issuer) };
}

async function exhaust(harness: Harness): Promise<void> {
  let last = 0;
  for (let request = 0; request < 110; request++) {
    last = (await postForm(harness, "/oauth/token", { grant_type: "nonsense" })).status;
  }
  assert.equal(last, 429);
}

Deno.test("a stranger who uses up the address's allowance shuts no holder of a valid credential out", async () => {
  await using harness = await startHarness();
  const shared = limited(harness);
  const { client, tokens } = await connect(shared);
  const secretive = await register(shared, { token_endpoint_auth_method: "client_secret_basic" });
  const code = await obtainCode(shared, client);
  const machine = await createClient(harness.deps, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
  });
  assert.ok(machine.ok);
  const known = openBrowser(shared);
  await reachConsent(known, authorizePath(client.client_id));
  await exhaust(shared);

  await exhaust(shared); // however often
  const refreshed = await refresh(shared, client, tokens.refresh_token);
  assert.equal(refreshed.status, 200, "a current refresh token");
  assert.equal((await refresh(shared, client, tokens.refresh_token)).status, 200, "one within its grace");
  assert.equal((await redeem(shared, client, code)).status, 200, "a code that was not redeemed yet");
  const asMachine = { client_id: machine.value.client.id, client_secret: machine.value.secret ?? "" };
  assert.equal(
    (await postForm(shared, "/oauth/token", { grant_type: "client_credentials", ...asMachine })).status,
    200,
  );
  const token = refreshed.body.access_token;
  assert.equal((await postForm(shared, "/oauth/introspect", { token, ...asMachine })).status, 200, "a client's secret");
  const revoked = await shared.fetch("/oauth/revoke", {
    method: "POST",
    body: new URLSearchParams({ client_id: client.client_id, token }),
  });
  assert.equal(revoked.status, 200, "an access token");
  const page = await (await known.get(authorizePath(client.client_id))).text();
  assert.equal((await decide(known, page)).status, 303, "a browser in which its person signed in before");

  const wrong: Record<string, string>[] = [
    { grant_type: "refresh_token", client_id: client.client_id, refresh_token: `${tokens.refresh_token}A` },
    { grant_type: "refresh_token", client_id: client.client_id },
    { grant_type: "authorization_code", client_id: client.client_id, code: "pca_made-up" },
    { grant_type: "authorization_code", client_id: client.client_id, code }, // redeemed
    { grant_type: "refresh_token", client_id: secretive.client_id, client_secret: "wrong" },
    { token: token.replace(/[^.]+$/, "A".repeat(86)) }, // another signature, whatever the token ends with
  ];
  for (const form of wrong) assert.equal((await postForm(shared, "/oauth/token", form)).status, 429);
  assert.equal((await openBrowser(shared).get(authorizePath(client.client_id))).status, 429);
});

Deno.test("a credential has an allowance too: its holder's failures end it, and nobody else's", async () => {
  await using harness = await startHarness();
  const shared = limited(harness);
  const one = await connect(shared);
  const two = await connect(shared);
  await exhaust(shared);
  const statuses = new Set<number>();
  for (let attempt = 0; attempt < 120; attempt++) {
    statuses.add(
      (await refresh(shared, one.client, one.tokens.refresh_token, { resource: "https://other.test/" })).status,
    );
  }
  assert.deepEqual([...statuses], [400, 429]);
  assert.equal((await refresh(shared, two.client, two.tokens.refresh_token)).status, 200);
});

Deno.test("looking for a credential uses nothing up and leaves the body readable", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const request = new Request("https://mcp.test/oauth/token", {
    method: "POST",
    body: new URLSearchParams({ client_id: client.client_id, refresh_token: tokens.refresh_token }),
  });
  const before = await harness.storage.changeCount();
  assert.match(await harness.server.credentialKey(request) ?? "", /^grant [0-9a-f]{32}$/);
  assert.equal(await harness.storage.changeCount(), before);
  assert.match(await request.text(), /^client_id=/);
  for (const body of ["x".repeat(200_000), "refresh_token=", "{", "code=%00"]) {
    assert.equal(await harness.server.credentialKey(new Request(request.url, { method: "POST", body })), null);
  }
});
