/** The rules of ID tokens, and which claims of which provider count. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createProvider, type Provider, readPerson, verifyIdToken } from "../../src/oauth/company_provider.ts";
import { type CompanySettings, parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

function companyOf(issuer: string, { allow = "group:a; @example.com", claim = "groups" } = {}): CompanySettings {
  const [rules, groups] = [parseAllow(allow), parseGroups("a=files:read")];
  assert.ok(rules.ok && groups.ok);
  return {
    ...{ issuer, clientId: providerClient.id, clientSecret: providerClient.secret, assertions: false },
    ...{ allow: rules.value, groups: groups.value, groupsClaim: claim, recheckMs: 43_200_000 },
  };
}

Deno.test("ID tokens are for this client, about someone, and belong to their access token (§3.1.3.7)", async () => {
  await using there = await startCompanyProvider();
  const company = companyOf(there.issuer);
  const provider = createProvider({ company, fetch, clock: Date.now, timers: systemTimers });
  const half = createHash("sha256").update("the token").digest().subarray(0, 16).toString("base64url");
  const judge = async (claims: Record<string, unknown>): Promise<unknown> => {
    there.faults.header = (header) => ({ ...header, typ: "JWT" });
    const token = await there.logoutToken({ sub: "ada", ...claims });
    const verified = await verifyIdToken({ provider, company }, token, { accessToken: "the token" });
    return verified.ok ? verified.value.subject : verified.error;
  };
  const id = providerClient.id;
  const table: readonly (readonly [Record<string, unknown>, string])[] = [
    [{}, "ada"],
    [{ aud: [id] }, "ada"],
    [{ aud: [id, "other"], azp: id }, "ada"],
    [{ at_hash: half }, "ada"],
    [{ aud: "other" }, "wrong_audience"],
    [{ aud: undefined }, "wrong_audience"],
    [{ aud: [] }, "wrong_audience"],
    [{ aud: [id, "other"] }, "wrong_audience"],
    [{ aud: [id, "other"], azp: "other" }, "wrong_audience"],
    [{ azp: "other" }, "wrong_audience"],
    [{ aud: { [id]: true } }, "wrong_audience"],
    [{ sub: "" }, "malformed_token"],
    [{ sub: 7 }, "malformed_token"],
    [{ sub: "x".repeat(256) }, "malformed_token"],
    [{ at_hash: half.toUpperCase() }, "wrong_at_hash"],
    [{ at_hash: 7 }, "wrong_at_hash"],
    [{ exp: undefined }, "malformed_token"],
  ];
  for (const [claims, expected] of table) assert.equal(await judge(claims), expected, JSON.stringify(claims));
});

/** A provider that has these UserInfo claims. */
function informant(issuer: string, info: Record<string, unknown> | null = null): Provider {
  return { issuer, userInfo: () => Promise.resolve({ ok: true, value: info }) } as unknown as Provider;
}

async function readFrom(
  claims: Record<string, unknown>,
  { issuer = "https://login.example.com", info = null, ...settings }: {
    issuer?: string;
    info?: Record<string, unknown> | null;
    allow?: string;
    claim?: string;
  } = {},
) {
  const options = { provider: informant(issuer, info), company: companyOf(issuer, settings) };
  return await readPerson(options, { sub: "ada", ...claims }, "token");
}

Deno.test("groups stand at a claim's name or at a path; one group may be a text, and anything else is none", async () => {
  const table: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
    ["groups", { groups: ["a", "b"] }, ["a", "b"]],
    ["groups", { groups: "a" }, ["a"]],
    ["groups", { groups: ["a", 7, null, { name: "b" }] }, ["a"]],
    ["groups", { groups: { a: true } }, []],
    ["groups", {}, []],
    ["realm_access.roles", { realm_access: { roles: ["a"] } }, ["a"]],
    ["realm_access.roles", { "realm_access.roles": ["b"], realm_access: { roles: ["a"] } }, ["b"]],
    ["https://example.com/groups", { "https://example.com/groups": ["a"] }, ["a"]],
    ["constructor.name", {}, []],
    ["__proto__", {}, []],
  ];
  for (const [claim, claims, expected] of table) {
    const person = await readFrom(claims, { claim });
    assert.deepEqual(person.ok && person.value.groups, expected, `${claim} ${JSON.stringify(claims)}`);
  }
});

Deno.test("an address counts where the provider verified it, and with what the same answer says of it", async () => {
  const email = "Ada@Example.com";
  const table: readonly (readonly [Record<string, unknown>, Record<string, unknown> | null, string | null])[] = [
    [{ email, email_verified: true }, null, "ada@example.com"],
    [{ email, email_verified: "true" }, null, "ada@example.com"],
    [{ email, xms_edov: 1 }, null, "ada@example.com"],
    [{ email }, null, null],
    [{ email, email_verified: false }, null, null],
    [{ email, email_verified: 1 }, null, null],
    [{ email: ["a@example.com"], email_verified: true }, null, null],
    [{ email: "a@b@example.com", email_verified: true }, null, null],
    [{}, { sub: "ada", email, email_verified: true }, "ada@example.com"],
    [{ email: "eve@example.com" }, { sub: "ada", email, email_verified: true }, null],
  ];
  for (const [claims, info, expected] of table) {
    const person = await readFrom({ name: "Ada", groups: [], ...claims }, { info });
    assert.equal(person.ok && person.value.email, expected, JSON.stringify([claims, info]));
  }
});

Deno.test("Google: `hd` alone says to which domain someone belongs", async () => {
  const issuer = "https://accounts.google.com";
  const claims = { email: "eve@example.com", email_verified: true, name: "Eve", groups: [] };
  const domainOf = async (more: Record<string, unknown>): Promise<unknown> => {
    const person = await readFrom({ ...claims, ...more }, { issuer });
    return person.ok ? person.value.domain : person.error;
  };
  assert.equal(await domainOf({}), null);
  assert.equal(await domainOf({ hd: "Example.com" }), "example.com");
  assert.equal(await domainOf({ hd: "other.com" }), "other.com");
});

Deno.test("groups that Entra leaves out are not asked for elsewhere; they refuse where they matter", async () => {
  const overage = { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://evil.test" } } };
  for (const claims of [overage, { hasgroups: true }]) {
    const refused = await readFrom(claims);
    assert.equal(!refused.ok && refused.error, "groups_left_out");
  }
  const options = {
    provider: informant("https://a.b"),
    company: { ...companyOf("https://a.b", { allow: "*" }), groups: null },
  };
  assert.ok((await readPerson(options, { sub: "ada", ...overage }, "token")).ok);
});

Deno.test("UserInfo fills in what the ID token lacks, and is about the same person (§5.3.2)", async () => {
  const info = { sub: "ada", groups: ["a"], name: "Ada" };
  const person = await readFrom({}, { info });
  assert.deepEqual(person.ok && [person.value.groups, person.value.name], [["a"], "Ada"]);
  const own = await readFrom({ groups: ["b"], email: "x" }, { info });
  assert.deepEqual(own.ok && own.value.groups, ["b"]);
  const other = await readFrom({}, { info: { ...info, sub: "eve" } });
  assert.equal(!other.ok && other.error, "other_subject");
  const nameless = await readFrom({}, { info: { groups: ["a"] } });
  assert.deepEqual(nameless.ok && nameless.value.groups, [], "without a subject it is about no one");
});
