/** Clients that register for access in their own name (client credentials): held until the owner names their scopes. */
import assert from "node:assert/strict";
import { approveClient, listHeldClients, removeClient } from "../../src/oauth/manage_clients.ts";
import { clients, heldClients } from "../../src/oauth/records.ts";
import { basic, type Harness, type HarnessOptions, postForm, redirectUri, startHarness } from "./harness.ts";

const token = "the-registration-token";
const holder: HarnessOptions = { registration: { mode: "token", token } };

async function post(harness: Harness, metadata: Record<string, unknown>, headers: Record<string, string> = {}) {
  const response = await harness.fetch("/oauth/register", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ client_name: "ServiceNow", ...metadata }),
  });
  return { status: response.status, body: await response.json() };
}

const machine = { grant_types: ["client_credentials"], scope: "files:read,llm:generate" };
const hold = (harness: Harness, metadata: Record<string, unknown> = {}) =>
  post(harness, { ...machine, ...metadata }, { authorization: `Bearer ${token}` });
const ask = (harness: Harness, { client_id: id, client_secret: secret }: Record<string, string>, scope?: string) =>
  postForm(
    harness,
    "/oauth/token",
    { grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) },
    basic(id ?? "", secret ?? ""),
  );

Deno.test("a holder of the registration token gets a client that is held, and no token until its scopes are named", async () => {
  await using harness = await startHarness(holder);
  for (
    const metadata of [
      {},
      { redirect_uris: [] },
      { redirect_uris: [redirectUri], response_types: ["code"] },
      { grant_types: ["client_credentials", "refresh_token"], token_endpoint_auth_method: "client_secret_post" },
      { token_endpoint_auth_method: "client_secret_basic", scope: "" },
    ]
  ) {
    const { status, body } = await hold(harness, metadata);
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual([body.grant_types, body.response_types, body.redirect_uris], [["client_credentials"], [], []]);
    assert.match(body.client_secret, /^pcs_/);
    const form = { grant_type: "client_credentials", client_id: body.client_id, client_secret: body.client_secret };
    const refused = metadata.token_endpoint_auth_method === "client_secret_post"
      ? await postForm(harness, "/oauth/token", form)
      : await ask(harness, body, "files:read");
    assert.deepEqual([refused.status, refused.body.error], [400, "unauthorized_client"]);
    assert.match(refused.body.error_description ?? "", /owner of this server has not approved the client yet/);
    assert.equal(harness.reasons().at(-1), "client_held");
  }
  assert.equal((await listHeldClients(harness.deps)).length, 5);
  assert.equal(harness.lines.filter(({ fields }) => fields["outcome"] === "held").length, 5);
});

Deno.test("the owner's scopes are the limit, whatever the client asked for", async () => {
  await using harness = await startHarness(holder);
  const { body } = await hold(harness, { scope: "files:read files:write" });
  for (const scope of ["", "files:everything"]) {
    const refused = await approveClient(harness.deps, { id: body.client_id, scope });
    assert.ok(!refused.ok && refused.error.field === "scope", scope);
  }
  const asAsserting = await approveClient(harness.deps, { id: body.client_id, scope: "files:read", assertions: true });
  assert.ok(!asAsserting.ok && asAsserting.error.field === "id", "that would approve it in its own name too");
  const approved = await approveClient(harness.deps, { id: body.client_id, scope: "files:read" });
  assert.ok(approved.ok);
  assert.deepEqual(await listHeldClients(harness.deps), []);
  const issued = await ask(harness, body);
  assert.deepEqual([issued.status, issued.body.scope, issued.body.refresh_token], [200, "files:read", undefined]);
  assert.equal((await ask(harness, body, "files:write")).body.error, "invalid_scope");
  const again = await approveClient(harness.deps, { id: body.client_id, scope: "files:write" });
  assert.ok(!again.ok && again.error.field === "id");

  harness.time.now += 400 * 86_400_000;
  assert.equal((await ask(harness, body)).status, 200, "an approved client does not age out");
  assert.ok(await removeClient(harness.deps, body.client_id));
  assert.equal((await ask(harness, body)).body.error, "invalid_client");
});

Deno.test("without the registration token, such a registration is refused and says why", async () => {
  for (const registration of [{ mode: "open" }, { mode: "open", token }] as const) {
    await using harness = await startHarness({ registration });
    for (const headers of [{}, { authorization: "Bearer another token" }] as Record<string, string>[]) {
      const { status, body } = await post(harness, machine, headers);
      assert.deepEqual([status, body.error], [400, "invalid_client_metadata"]);
      assert.match(body.error_description, /DCR_AUTH_TOKEN/);
    }
    assert.deepEqual(await listHeldClients(harness.deps), []);
  }
  await using open = await startHarness({ registration: { mode: "open", token } });
  assert.equal((await hold(open)).status, 201);
  assert.equal((await post(open, { ...machine, token_value: token })).status, 201);
  await using closed = await startHarness(holder);
  assert.equal((await post(closed, machine)).body.error, "invalid_token");
  await using off = await startHarness({ registration: { mode: "off" } });
  assert.equal((await hold(off)).body.error, "access_denied");
});

Deno.test("a client without a secret or key cannot be held; one that people sign in from is registered without the grant", async () => {
  await using harness = await startHarness(holder);
  const open = await hold(harness, { token_endpoint_auth_method: "none" });
  assert.deepEqual([open.status, open.body.error], [400, "invalid_client_metadata"]);
  const both = await hold(harness, {
    grant_types: ["authorization_code", "client_credentials"],
    redirect_uris: [redirectUri],
  });
  assert.deepEqual([both.status, both.body.grant_types], [201, ["authorization_code"]]);
  assert.equal((await ask(harness, both.body)).body.error, "unauthorized_client");
  assert.deepEqual(await listHeldClients(harness.deps), []);
});

Deno.test("held clients are few, age out, and make room only for those that come an hour later", async () => {
  await using harness = await startHarness({ ...holder, limits: { maxHeldClients: 2 } });
  const { body: first } = await hold(harness);
  harness.time.now += 1;
  assert.equal((await hold(harness)).status, 201);
  assert.equal((await hold(harness)).status, 429);
  const person = { grant_types: ["authorization_code"], redirect_uris: [redirectUri] };
  assert.equal((await hold(harness, person)).status, 201, "people's clients have a list of their own");
  harness.time.now += 3_600_000;
  assert.equal((await hold(harness)).status, 201);
  assert.equal(await clients.read(harness.storage, first.client_id), null);
  harness.time.now += 31 * 86_400_000;
  assert.deepEqual(await listHeldClients(harness.deps), []);
  assert.deepEqual(await heldClients.list(harness.storage, { limit: 10 }), []);
});
