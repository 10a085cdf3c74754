/** Enterprise-managed authorization: a client brings an identity assertion (ID-JAG) of the company's provider. */
import assert from "node:assert/strict";
import type { JWTPayload } from "@panva/jose";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { disableUser } from "../../src/oauth/manage_users.ts";
import { basic, issuer, postForm, register, resource } from "../authorization_server/harness.ts";
import { startCompanyProvider } from "../fixtures/company_provider/provider.ts";
import { addAsserting, bring, claimsFor, connect, hour, type Place, scopesNow, startPlace } from "./place.ts";

async function subjectsOf({ harness }: Place): Promise<(string | undefined)[]> {
  const users = await (await harness.server.forConsole()).administration.users();
  return users.map(({ displayName }) => displayName);
}

Deno.test("a named client gets a token for an assertion of the company's provider, and no refresh token", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { name: "Ada Lovelace", groups: ["mcp-users", "unrelated"] });
  const client = await addAsserting(place);
  const { status, body } = await bring(place, client, await provider.assertion(claimsFor(client)));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.token_type, body.scope, body.refresh_token], ["Bearer", "files:read files:write", undefined]);
  const verified = await harness.server.verifier.verify(body.access_token);
  assert.ok(verified.ok);
  assert.equal(verified.value.clientId, client.id);
  assert.deepEqual(await subjectsOf(place), ["Ada Lovelace"]);
  const { access } = (await harness.server.forConsole()).administration;
  assert.deepEqual((await access(null)).grants.map(({ clientName }) => clientName), ["Claude"]);
  assert.deepEqual((await access(verified.value.subject)).grants.length, 1);
});

Deno.test("the metadata announces assertions where they are on, and the grant type is refused where they are off", async () => {
  await using place = await startPlace();
  const announced = await (await place.harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.ok(announced.grant_types_supported.includes("urn:ietf:params:oauth:grant-type:jwt-bearer"));
  assert.deepEqual(announced.authorization_grant_profiles_supported, ["urn:ietf:params:oauth:grant-profile:id-jag"]);
  await using off = await startPlace({ assertions: false });
  const silent = await (await off.harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.ok(!silent.grant_types_supported.includes("urn:ietf:params:oauth:grant-type:jwt-bearer"));
  assert.equal(silent.authorization_grant_profiles_supported, undefined);
  const client = await addAsserting(off);
  off.provider.employ("ada", { groups: ["mcp-users"] });
  const { status, body } = await bring(off, client, await off.provider.assertion(claimsFor(client)));
  assert.deepEqual([status, body.error], [400, "unsupported_grant_type"]);
});

Deno.test("scopes are what the assertion, the request, the client and the person's groups all allow", async () => {
  const both = "files:read files:write";
  const cases = [
    { assertion: undefined, request: undefined, client: both, group: "mcp-users", scope: both },
    { assertion: "files:read", request: undefined, client: both, group: "mcp-users", scope: "files:read" },
    { assertion: both, request: "files:read", client: both, group: "mcp-users", scope: "files:read" },
    { assertion: both, request: both, client: "files:read", group: "mcp-users", scope: "files:read" },
    { assertion: both, request: both, client: both, group: "mcp-readers", scope: "files:read" },
    { assertion: "files:read", request: both, client: both, group: "mcp-users", scope: "files:read" },
    {
      assertion: "files:read unknown:scope",
      request: undefined,
      client: both,
      group: "mcp-users",
      scope: "files:read",
    },
    { assertion: "llm:generate", request: undefined, client: both, group: "mcp-users", scope: null },
    { assertion: "", request: undefined, client: both, group: "mcp-users", scope: null },
    { assertion: both, request: "llm:generate", client: both, group: "mcp-users", scope: null },
    { assertion: both, request: both, client: both, group: "mcp-admins", scope: null },
  ];
  for (const { assertion, request, client: limit, group, scope } of cases) {
    await using place = await startPlace();
    place.provider.employ("ada", { groups: [group] });
    const client = await addAsserting(place, limit);
    const claims = { ...claimsFor(client), ...(assertion === undefined ? {} : { scope: assertion }) };
    const more: Record<string, string> = request === undefined ? {} : { scope: request };
    const { status, body } = await bring(place, client, await place.provider.assertion(claims), more);
    const name = JSON.stringify({ assertion, request, limit, group });
    if (scope === null) assert.deepEqual([status, body.error], [400, "invalid_scope"], name);
    else assert.deepEqual([status, body.scope], [200, scope], name);
  }
});

interface Attack {
  readonly name: string;
  readonly claims?: JWTPayload;
  readonly header?: Record<string, unknown>;
  readonly isForeign?: true;
  readonly reason?: string;
  readonly error?: string;
}

const attacks: Attack[] = [
  { name: "another server's audience", claims: { aud: "https://other.test" } },
  { name: "our audience beside another one", claims: { aud: [issuer, "https://other.test"] } },
  { name: "the token endpoint as the audience", claims: { aud: `${issuer}/oauth/token` } },
  { name: "our audience with a slash", claims: { aud: `${issuer}/` } },
  { name: "no audience", claims: { aud: undefined } as never },
  { name: "another client", claims: { client_id: "pcc_someone-else" } },
  { name: "no client", claims: { client_id: undefined } },
  { name: "another resource", claims: { resource: "https://other.test/mcp" } },
  { name: "no resource", claims: { resource: undefined } },
  { name: "no jti", claims: { jti: undefined } as never },
  { name: "an empty jti", claims: { jti: "" } },
  { name: "a jti that is no text", claims: { jti: 7 } as never },
  { name: "a jti of a megabyte's kind", claims: { jti: "j".repeat(5_000) } },
  { name: "no subject", claims: { sub: undefined } as never },
  { name: "no expiry", claims: { exp: undefined } as never },
  { name: "no time of issue", claims: { iat: undefined } as never },
  { name: "expired", claims: { iat: 1_799_999_000, exp: 1_799_999_600 } },
  { name: "issued in the future", claims: { iat: 1_800_000_600, exp: 1_800_000_900 } },
  { name: "good for a day", claims: { exp: 1_800_086_400 } },
  { name: "not yet good", claims: { nbf: 1_800_000_600 } },
  { name: "another issuer by its words", claims: { iss: "https://other.test" } },
  { name: "bound to a key", claims: { cnf: { jkt: "x" } } },
  { name: "limited by authorization details", claims: { authorization_details: [{ type: "files" }] } },
  { name: "scopes that are no text", claims: { scope: ["files:read"] } },
  { name: "unsigned", header: { alg: "none" } },
  { name: "signed with our own secret", header: { alg: "HS256" } },
  { name: "signed by a key of another issuer under a known kid", isForeign: true },
  { name: "an ID token", header: { typ: "JWT" } },
  { name: "an access token", header: { typ: "at+jwt" } },
  { name: "no type", header: { typ: undefined } },
];

Deno.test("an assertion that breaks a rule is refused alike, and the log has the reason", async (t) => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  for (const { name, claims, header, isForeign = false } of attacks) {
    await t.step(name, async () => {
      provider.faults.header = header === undefined ? null : (usual) => ({ ...usual, ...header });
      const assertion = await provider.assertion({ ...claimsFor(client), ...claims }, { isForeign });
      provider.faults.header = null;
      const before = harness.reasons().length;
      const { status, body } = await bring(place, client, assertion);
      assert.deepEqual([status, body.error], [400, "invalid_grant"]);
      assert.deepEqual(harness.reasons().slice(before), ["invalid_identity_assertion"]);
      assert.ok(!JSON.stringify(harness.lines).includes(assertion.slice(-40)), "the log has no part of it");
    });
  }
  assert.deepEqual(await subjectsOf(place), []);
  for (const assertion of ["", "x", "a.b.c", "e30.e30.", `${"x".repeat(600_000)}`]) {
    const { status, body } = await bring(place, client, assertion).catch(() => ({ status: 413, body: { error: "" } }));
    assert.ok(status === 400 || status === 413, `${status} ${body.error}`);
  }
  const { body } = await bring(place, client, await provider.assertion(claimsFor(client)));
  assert.equal(body.scope, "files:read files:write");
});

Deno.test("an assertion is good once, in parallel requests too", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  const assertion = await place.provider.assertion(claimsFor(client));
  const answers = await Promise.all([1, 2, 3, 4].map(() => bring(place, client, assertion)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
  assert.equal((await bring(place, client, assertion)).body.error, "invalid_grant");
  assert.equal(place.harness.reasons().at(-1), "replayed_identity_assertion");
});

Deno.test("only a client that an administrator named may bring one", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  const other = await createClient(harness.deps, {
    name: "A machine",
    scope: "files:read",
    grantTypes: ["client_credentials"],
  });
  assert.ok(other.ok && other.value.secret !== null);
  const named = { id: other.value.client.id, secret: other.value.secret };
  const refused = await bring(place, named, await provider.assertion(claimsFor(named)));
  assert.deepEqual([refused.status, refused.body.error], [400, "unauthorized_client"]);
  const registered = await register(harness, {
    grant_types: [
      "authorization_code",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ],
  });
  const publicClient = await postForm(harness, "/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    client_id: registered.client_id,
    assertion: await provider.assertion(claimsFor({ id: registered.client_id })),
  });
  assert.deepEqual([publicClient.status, publicClient.body.error], [400, "unauthorized_client"]);
  const client = await addAsserting(place);
  const stolen = await provider.assertion(claimsFor(client));
  assert.equal(
    (await postForm(harness, "/oauth/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: stolen,
    }, basic(client.id, "a wrong secret"))).status,
    401,
  );
  const publicOne = await createClient(harness.deps, {
    name: "Public",
    scope: "files:read",
    grantTypes: [],
    assertions: true,
    authentication: "none",
  });
  assert.ok(!publicOne.ok && publicOne.error.field === "auth-method");
});

Deno.test("a person whom the rules do not admit, who is disabled, or who lost the groups gets nothing", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["unrelated"] });
  const client = await addAsserting(place);
  const assert400 = async () => {
    const { status, body } = await bring(place, client, await provider.assertion(claimsFor(client)));
    assert.deepEqual([status, body.error], [400, "invalid_grant"]);
  };
  await assert400();
  provider.employ("ada", { groups: ["mcp-users"] });
  const given = await bring(place, client, await provider.assertion(claimsFor(client)));
  const verified = await harness.server.verifier.verify(given.body.access_token);
  assert.ok(verified.ok);
  provider.employ("ada", { groups: [] });
  await assert400();
  assert.equal((await harness.server.verifier.verify(given.body.access_token)).ok, false, "what it had is over too");
  provider.employ("ada", { groups: ["mcp-users"] });
  harness.time.now += 1_000;
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  await disableUser(harness.deps, verified.value.subject);
  await assert400();
});

Deno.test("without an address in an assertion, where the rules go by it, the last check counts", async () => {
  await using place = await startPlace({ allow: "@example.com" });
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  provider.signIn("ada");
  const page = await connect(place);
  const before = await scopesNow(place, page);
  const client = await addAsserting(place);
  harness.time.now += 2_000;
  provider.faults.claims = ({ email: _, email_verified: __, ...claims }) => claims;
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  assert.equal(await scopesNow(place, page), before);
  harness.time.now += 12 * hour + 1;
  const late = await bring(place, client, await provider.assertion(claimsFor(client)));
  assert.equal(late.body.error, "invalid_grant");
});

Deno.test("a client that the provider may vouch for people of gets no more in its own name", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  const made = await createClient(harness.deps, {
    ...{ name: "Robot", scope: "files:read", grantTypes: ["client_credentials"] },
  });
  assert.ok(made.ok && made.value.secret !== null);
  const { client: { id }, secret } = made.value;
  const own = async () =>
    (await postForm(harness, "/oauth/token", { grant_type: "client_credentials" }, basic(id, secret))).body.scope;
  assert.equal(await own(), "files:read");
  const { administration } = await harness.server.forConsole();
  const named = await administration.addAssertingClient?.(id, {
    ...{ userId: "owner", isAdministrator: true, address: "192.0.2.1" },
  } as never);
  assert.ok(named?.ok);
  assert.equal(await own(), "files:read");
  const brought = await bring(place, { id, secret }, await provider.assertion(claimsFor({ id })));
  assert.deepEqual([brought.status, brought.body.scope], [200, "files:read"]);
});

Deno.test("without groups in an assertion, the last check counts until OIDC_RECHECK", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-readers"] });
  const client = await addAsserting(place);
  const withoutGroups = async () => {
    provider.faults.claims = ({ groups: _, ...claims }) => claims;
    const assertion = await provider.assertion(claimsFor(client));
    provider.faults.claims = null;
    return await bring(place, client, assertion);
  };
  assert.equal((await withoutGroups()).body.error, "invalid_grant", "nothing is known of her");
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  assert.deepEqual((await withoutGroups()).body.scope, "files:read");
  harness.time.now += 12 * hour + 1;
  assert.equal((await withoutGroups()).body.error, "invalid_grant");
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  assert.equal((await withoutGroups()).status, 200);
});

Deno.test("the provider's habits: groups where they stand there, and none of Entra's overage", async () => {
  for (const habits of ["entra", "okta", "keycloak"] as const) {
    await using place = await startPlace({ habits });
    place.provider.employ("ada", { groups: ["mcp-readers"] });
    const client = await addAsserting(place);
    const { status, body } = await bring(place, client, await place.provider.assertion(claimsFor(client)));
    assert.deepEqual([status, body.scope], [200, "files:read"], habits);
  }
  await using place = await startPlace({ habits: "entra" });
  const groups = Array.from({ length: 2_000 }, (_, index) => `group-${index}`);
  place.provider.employ("ada", { groups: ["mcp-users", ...groups] });
  const client = await addAsserting(place);
  const { status, body } = await bring(place, client, await place.provider.assertion(claimsFor(client)));
  assert.deepEqual([status, body.error], [400, "invalid_grant"]);
});

Deno.test("while the provider is down its last keys count, and without any the answer is to try again", async () => {
  await using place = await startPlace();
  const { provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  provider.faults.answer = () => new Response("down", { status: 503 });
  const first = await bring(place, client, await provider.assertion(claimsFor(client)));
  assert.deepEqual([first.status, first.body.error], [503, "temporarily_unavailable"]);
  provider.faults.answer = null;
  place.harness.time.now += 20_000;
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  provider.faults.answer = () => new Response("down", { status: 503 });
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
});

Deno.test("keys that the provider changed are fetched anew", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  assert.equal((await bring(place, client, await place.provider.assertion(claimsFor(client)))).status, 200);
  await place.provider.rotateKeys();
  place.harness.time.now += 60_000;
  assert.equal((await bring(place, client, await place.provider.assertion(claimsFor(client)))).status, 200);
});

Deno.test("two providers that know the same subject know two people", async () => {
  await using place = await startPlace();
  await using other = await startCompanyProvider({ clock: () => place.harness.time.now });
  for (const provider of [place.provider, other]) provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  const foreign = await bring(place, client, await other.assertion(claimsFor(client)));
  assert.deepEqual([foreign.status, foreign.body.error], [400, "invalid_grant"]);
  assert.equal(resource.startsWith(issuer), true);
});

Deno.test("whom the rules no longer admit does not come back by an assertion that leaves out the groups", async () => {
  await using place = await startPlace({ allow: "group:mcp-users", groups: null });
  const { harness, provider } = place;
  provider.employ("ada", { name: "Ada", groups: ["mcp-users"] });
  const client = await addAsserting(place);
  const withoutGroups = async (): Promise<number> => {
    harness.time.now += 1_000;
    provider.faults.claims = ({ groups: _, name: _name, ...claims }) => claims;
    const { status } = await bring(place, client, await provider.assertion(claimsFor(client)));
    provider.faults.claims = null;
    return status;
  };
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  assert.equal(await withoutGroups(), 200);
  provider.employ("ada", { groups: [] });
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 400);
  assert.equal(await withoutGroups(), 400);
  provider.employ("ada", { groups: ["mcp-users"] });
  harness.time.now += 1_000;
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).status, 200);
  assert.equal(await withoutGroups(), 200);
  assert.deepEqual(await subjectsOf(place), ["Ada"]);
});

Deno.test("an assertion from before the last check does not bring back what the check took", async () => {
  await using place = await startPlace({ recheckMs: 120_000 });
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  const stale = await provider.assertion(claimsFor(client));
  provider.employ("ada", { groups: ["mcp-readers"] });
  harness.time.now += 30_000;
  assert.equal((await bring(place, client, await provider.assertion(claimsFor(client)))).body.scope, "files:read");
  assert.equal((await bring(place, client, stale)).body.scope, "files:read");
});
