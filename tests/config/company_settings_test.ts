/** The settings of the company's identity provider: what each accepts, and which belong together. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import { isAllowed, namedGroups } from "../../src/oauth/company_people.ts";
import { rightsOf } from "../../src/oauth/manage_users.ts";

const complete = {
  OIDC_ISSUER: "https://login.example.com/tenant/v2.0",
  OIDC_CLIENT_ID: "portcullis",
  OIDC_CLIENT_SECRET: "a secret of the provider",
};

function problemsOf(env: Record<string, string>): readonly string[] {
  const loaded = loadConfig({ flags: {}, env, readFile: () => "" });
  return loaded.ok ? [] : loaded.error.map(({ field }) => field);
}

Deno.test("settings: the provider's settings are complete, or none of them is set", () => {
  assert.deepEqual(problemsOf(complete), []);
  assert.deepEqual(problemsOf({}), []);
  for (const name of Object.keys(complete)) {
    const { [name as keyof typeof complete]: _, ...rest } = complete;
    assert.deepEqual(problemsOf(rest), [name]);
  }
  for (
    const dependent of [
      { OIDC_ALLOW: "*" },
      { OIDC_GROUPS: "a=files:read" },
      { OIDC_ASSERTIONS: "on" },
      { OWNER_PASSPHRASE: "off" },
    ]
  ) {
    assert.deepEqual(problemsOf(dependent), Object.keys(complete), JSON.stringify(dependent));
    assert.deepEqual(problemsOf({ ...complete, ...dependent }), []);
  }
});

Deno.test("settings: people sign in at one place", () => {
  const env = {
    ...complete,
    SIGN_IN: "servicenow",
    SERVICENOW_INSTANCE: "https://acme.service-now.com",
    SERVICENOW_CLIENT_ID: "a",
    SERVICENOW_CLIENT_SECRET: "b",
  };
  assert.deepEqual(problemsOf(env), ["OIDC_ISSUER"]);
});

Deno.test("settings: each value of the provider's settings is checked, and no secret shown", () => {
  const wrong: Readonly<Record<string, readonly string[]>> = {
    OIDC_ISSUER: ["login.example.com", "http://login.example.com", "https://u:p@login.example.com", "https://a.b/?x=1"],
    OIDC_CLIENT_SECRET: ['{"kty":"EC"}', "-----BEGIN RSA PRIVATE KEY-----\nx", "-----BEGIN PUBLIC KEY-----\nx"],
    OIDC_ALLOW: ["everyone", "ada", "@nodot", "group:", ";"],
    OIDC_GROUPS: ["users", "users=", "=files:read", "users=files:reed", "a=files:read; a=files:write", ";"],
    OIDC_RECHECK: ["12", "5s", "soon"],
    OIDC_ASSERTIONS: ["yes"],
    OWNER_PASSPHRASE: ["no"],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const loaded = loadConfig({ flags: {}, env: { ...complete, [name]: value }, readFile: () => "" });
      assert.ok(!loaded.ok, `${name}=${value}`);
      assert.deepEqual(loaded.error.map(({ field }) => field), [name], `${name}=${value}`);
      if (name === "OIDC_CLIENT_SECRET") assert.ok(!JSON.stringify(loaded.error).includes(value.slice(0, 8)));
    }
  }
});

Deno.test("settings: an issuer is kept byte for byte (OpenID Connect Discovery §4.3)", () => {
  const loaded = loadConfig({ flags: {}, env: { ...complete, OIDC_ISSUER: "https://a.example/" }, readFile: () => "" });
  assert.ok(loaded.ok);
  assert.equal(loaded.value.authorizationServer.company?.issuer, "https://a.example/");
});

const ada = { subject: "00u1", email: "ada@example.com", domain: "example.com", groups: ["mcp-users"] };

Deno.test("OIDC_ALLOW: groups, verified domains and addresses, subjects; nobody else", () => {
  const judge = (text: string, person: Partial<typeof ada> | { email: null; domain: null } = {}): boolean => {
    const rules = parseAllow(text);
    assert.ok(rules.ok, text);
    return isAllowed(rules.value, { ...ada, ...person });
  };
  for (const text of ["*", "group:mcp-users", "group: mcp-users", "@example.com", "@EXAMPLE.com", "Ada@Example.com"]) {
    assert.ok(judge(text), text);
  }
  assert.ok(judge("group:other; sub:00u1"));
  for (
    const text of ["group:MCP-users", "group:mcp", "@xample.com", "@sub.example.com", "da@example.com", "sub:00U1"]
  ) {
    assert.ok(!judge(text), text);
  }
  assert.ok(!judge("@example.com; ada@example.com", { email: null, domain: null }));
  assert.equal(isAllowed([], ada), false);
});

Deno.test("OIDC_GROUPS: groups give scopes with what they imply; names may be odd", () => {
  const text = "mcp-users=files:read files:write; CN=Admins,OU=a,DC=x=administrator; ünï côde/☃=llm:generate";
  const rights = parseGroups(text);
  assert.ok(rights.ok);
  const given = (...groups: string[]) => {
    const { scopes, administrator } = rightsOf(rights.value, groups);
    return [[...scopes ?? ["any"]].sort(), administrator];
  };
  assert.deepEqual(given("mcp-users"), [["files:read", "files:write"], false]);
  assert.deepEqual(given("CN=Admins,OU=a,DC=x"), [[], true]);
  assert.deepEqual(given("ünï côde/☃", "CN=Admins,OU=a,DC=x"), [["llm:generate"], true]);
  assert.deepEqual(given("__proto__", "constructor", "mcp-users=files:read", ""), [[], false]);
  assert.deepEqual(rightsOf(null, []), { scopes: null, administrator: false });
});

Deno.test("of 2,000 groups only those that the settings name are kept", () => {
  const groups = parseGroups("g7=files:read");
  const allow = parseAllow("group:g9");
  assert.ok(groups.ok && allow.ok);
  const held = Array.from({ length: 2_000 }, (_, index) => `g${index}`);
  assert.deepEqual(namedGroups({ allow: allow.value, groups: groups.value }, [...held, "g7"]), ["g7", "g9"]);
});
