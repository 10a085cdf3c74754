import assert from "node:assert/strict";
import { type ClientRequest, createClient, listClients, removeClient } from "../../src/oauth/manage_clients.ts";
import {
  basic,
  connect,
  type Harness,
  isAccepted,
  issuer,
  obtainCode,
  postForm,
  redirectUri,
  refresh,
  resource,
  startHarness,
  verifier,
} from "./harness.ts";

const machine: ClientRequest = {
  name: "Nightly job",
  grantTypes: ["client_credentials"],
  scope: "files:write,llm:generate",
};

async function make(harness: Harness, change: Partial<ClientRequest> = {}) {
  const made = await createClient(harness.deps, { ...machine, ...change });
  assert.ok(made.ok, JSON.stringify(made));
  return { id: made.value.client.id, secret: made.value.secret ?? "" };
}

const ask = (harness: Harness, { id, secret }: { id: string; secret: string }, form: Record<string, string> = {}) =>
  postForm(harness, "/oauth/token", { grant_type: "client_credentials", ...form }, basic(id, secret));

Deno.test("an operator-made client gets a token for itself, without a refresh token (RFC 6749 §4.4)", async () => {
  await using harness = await startHarness();
  const client = await make(harness);
  const { status, body } = await ask(harness, client, { resource });
  assert.equal(status, 200);
  assert.equal(body.refresh_token, undefined);
  assert.equal(body.scope, "files:write llm:generate");
  const verified = await harness.server.verifier.verify(body.access_token);
  assert.ok(verified.ok);
  assert.equal(verified.value.subject, client.id);
  assert.equal(verified.value.clientId, client.id);
  harness.time.now += 3_600_000;
  assert.ok(!await isAccepted(harness, body.access_token));
});

Deno.test("its scopes are the limit: narrower and implied ones are fine, wider and unknown ones invalid_scope", async () => {
  await using harness = await startHarness();
  const client = await make(harness, { scope: "files:write" });
  assert.equal((await ask(harness, client, { scope: "files:read" })).body.scope, "files:read");
  for (const scope of ["llm:generate", "files:write llm:generate", "admin", "files:write admin"]) {
    assert.equal((await ask(harness, client, { scope })).body.error, "invalid_scope", scope);
  }
  assert.equal((await ask(harness, client, { resource: `${issuer}/other` })).body.error, "invalid_target");
});

Deno.test("an operator-made client signs people in with any application's own scheme (RFC 8252 §7.1)", async () => {
  await using harness = await startHarness();
  const callback = "com.example.app:/callback";
  const made = await make(harness, {
    grantTypes: ["authorization_code"],
    redirectUris: [callback],
    authentication: "none",
  });
  const code = await obtainCode(harness, { client_id: made.id }, { redirect_uri: callback });
  const form = { grant_type: "authorization_code", code, redirect_uri: callback, code_verifier: verifier };
  const { body } = await postForm(harness, "/oauth/token", { ...form, client_id: made.id });
  assert.ok(await isAccepted(harness, body.access_token));
});

Deno.test("registered clients and those made for people may not use client credentials", async () => {
  await using harness = await startHarness();
  const { client } = await connect(harness);
  const form = { grant_type: "client_credentials", client_id: client.client_id };
  assert.equal((await postForm(harness, "/oauth/token", form)).body.error, "unauthorized_client");
  const person = await make(harness, { grantTypes: ["authorization_code"], redirectUris: [redirectUri] });
  assert.equal((await ask(harness, person)).body.error, "unauthorized_client");
  assert.equal((await ask(harness, { id: person.id, secret: "pcs_x" })).body.error, "invalid_client");
});

Deno.test("an operator-made client for people goes through sign-in and consent, shown as the operator's", async () => {
  await using harness = await startHarness();
  const client = await make(harness, {
    name: "ServiceNow",
    grantTypes: ["authorization_code"],
    redirectUris: [redirectUri],
  });
  const registered = { client_id: client.id };
  const code = await obtainCode(harness, registered);
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  const { body } = await postForm(harness, "/oauth/token", form, basic(client.id, client.secret));
  assert.ok(await isAccepted(harness, body.access_token));
  const again = await postForm(harness, "/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: body.refresh_token,
  }, basic(client.id, client.secret));
  assert.equal(again.status, 200);
});

Deno.test("an expired secret is invalid_client (RFC 7591 §3.2.1)", async () => {
  await using harness = await startHarness();
  const client = await make(harness, { secretLifetimeSeconds: 60 });
  assert.equal((await ask(harness, client)).status, 200);
  harness.time.now += 60_000;
  const { status, body } = await ask(harness, client);
  assert.equal(`${status} ${body.error}`, "401 invalid_client");
});

Deno.test("removing a client ends everything that it was granted, by itself and by people", async () => {
  await using harness = await startHarness();
  const client = await make(harness);
  const { body } = await ask(harness, client);
  const { client: registered, tokens } = await connect(harness);
  assert.deepEqual(
    (await listClients(harness.deps)).map(({ id }) => id).sort(),
    [client.id, registered.client_id].sort(),
  );
  assert.ok(!JSON.stringify(await listClients(harness.deps)).includes("secretHash"));
  assert.ok(await removeClient(harness.deps, client.id));
  assert.ok(!await isAccepted(harness, body.access_token));
  assert.equal((await ask(harness, client)).body.error, "invalid_client");
  assert.ok(await isAccepted(harness, tokens.access_token));
  assert.ok(await removeClient(harness.deps, registered.client_id));
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.equal((await refresh(harness, registered, tokens.refresh_token)).body.error, "invalid_client");
  assert.ok(!await removeClient(harness.deps, client.id));
  assert.ok(!await removeClient(harness.deps, ""));
});

const problems: [Partial<ClientRequest>, string][] = [
  [{ name: " " }, "name"],
  [{ grantTypes: [] }, "grant"],
  [{ scope: "" }, "scope"],
  [{ scope: "admin" }, "scope"],
  [{ grantTypes: ["authorization_code"] }, "redirect-uri"],
  [{ grantTypes: ["authorization_code"], redirectUris: ["http://evil.test/"] }, "redirect-uri"],
  [{ grantTypes: ["authorization_code"], redirectUris: ["javascript:x"] }, "redirect-uri"],
  [{ grantTypes: ["authorization_code"], redirectUris: ["com.a.b:/cb", "file:///x"] }, "redirect-uri"],
  [{ redirectUris: [redirectUri] }, "redirect-uri"],
  [{ authentication: "none" }, "auth-method"],
  [{ authentication: "private_key_jwt" }, "jwks"],
  [{ jwks: '{"keys":[]}' }, "jwks"],
  [{ authentication: "private_key_jwt", jwks: "{" }, "jwks"],
  [{ authentication: "private_key_jwt", jwks: '{"keys":[{"kty":"oct","k":"AAAA"}]}' }, "jwks"],
  [{ authentication: "private_key_jwt", jwks: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}]}' }, "jwks"],
  [{ secretLifetimeSeconds: 0 }, "secret-ttl"],
];
for (const [change, field] of problems) {
  Deno.test(`clients create refuses ${JSON.stringify(change).slice(0, 70)} and names the field`, async () => {
    await using harness = await startHarness();
    const made = await createClient(harness.deps, { ...machine, ...change });
    assert.equal(made.ok ? "accepted" : made.error.field, field);
    assert.deepEqual(await listClients(harness.deps), []);
  });
}
