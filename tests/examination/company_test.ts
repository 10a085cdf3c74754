/** What `doctor` finds of the company's identity provider. */
import assert from "node:assert/strict";
import { examineCompany, judgeRedirect } from "../../src/app/doctor.ts";
import { parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import {
  broken,
  type CompanyProvider,
  providerClient,
  startCompanyProvider,
} from "../fixtures/company_provider/provider.ts";

interface Changes {
  readonly allow?: string;
  readonly groups?: string;
  readonly clientId?: string;
  readonly issuer?: string;
  readonly ownerPassphrase?: boolean;
  readonly clock?: () => number;
}

async function examine(provider: CompanyProvider, changes: Changes = {}) {
  const allow = changes.allow === "" ? null : parseAllow(changes.allow ?? "group:mcp-users");
  const groups = parseGroups(changes.groups ?? "mcp-users=files:read; mcp-admins=administrator");
  assert.ok(groups.ok && (allow === null || allow.ok));
  const company = {
    issuer: changes.issuer ?? provider.issuer,
    clientId: changes.clientId ?? providerClient.id,
    clientSecret: providerClient.secret,
    allow: allow?.ok ? allow.value : [],
    groups: groups.value,
    groupsClaim: "groups",
    recheckMs: 1,
    assertions: false,
  };
  const { ownerPassphrase = true, clock = Date.now } = changes;
  const options = { serverUrl: "https://mcp.test", clock };
  const checks = await Array.fromAsync(examineCompany({ company, ownerPassphrase }, options));
  return { checks, bad: checks.filter(({ state }) => state === "warning").map(({ text }) => text).join("; ") };
}

Deno.test("doctor: a provider that is well, whatever its habits", async () => {
  for (const habits of ["usual", "entra", "okta", "google", "keycloak", "servicenow"] as const) {
    await using provider = await startCompanyProvider({ habits });
    const { checks, bad } = await examine(provider);
    assert.equal(bad, "", habits);
    assert.deepEqual(checks.map(({ name }) => name), [
      "people of the identity provider",
      "identity provider",
      "identity provider's clock",
      "identity provider's keys",
      "identity provider's redirect address",
      "people who leave",
    ]);
  }
});

const minutes = 60_000;
const faults: readonly (readonly [string, (provider: CompanyProvider) => void, Changes, RegExp])[] = [
  ["down", ({ faults }) => faults.answer = broken.down, {}, /error of its own/],
  ["HTML", ({ faults }) => faults.answer = broken.html, {}, /something else than JSON/],
  ["a redirect", ({ faults }) => faults.answer = broken.redirect, {}, /redirect/],
  ["too much", ({ faults }) => faults.answer = broken.huge, {}, /more than a megabyte/],
  [
    "another issuer",
    ({ faults }) => faults.discovery = (is) => ({ ...is, issuer: "https://x.test" }),
    {},
    /another name/,
  ],
  ["no issuer's page", () => {}, { issuer: "http://127.0.0.1:9" }, /does not answer/],
  [
    "no keys",
    ({ faults }) => faults.answer = (path) => path === "/keys" ? Response.json({ keys: [] }) : null,
    {},
    /publishes no key/,
  ],
  [
    "keys away",
    ({ faults }) => faults.answer = (path) => path === "/keys" ? broken.down() : null,
    {},
    /error of its own/,
  ],
  ["a clock ahead", () => {}, { clock: () => Date.now() + 10 * minutes }, /differs by \d+ s/],
  ["a clock behind", () => {}, { clock: () => Date.now() - 10 * minutes }, /differs by \d+ s/],
  ["an unknown client", () => {}, { clientId: "someone-else" }, /refuses the client id or the redirect address/],
  [
    "a group without rights",
    () => {},
    { allow: "group:mcp-users; group:staff" },
    /"staff", to which OIDC_GROUPS gives/,
  ],
  ["no way in", () => {}, { allow: "", ownerPassphrase: false }, /OWNER_PASSPHRASE is off/],
];

for (const [name, spoil, changes, words] of faults) {
  Deno.test(`doctor: names the fault of the provider: ${name}`, async () => {
    await using provider = await startCompanyProvider();
    spoil(provider);
    const { bad, checks } = await examine(provider, changes);
    assert.match(bad, words);
    assert.ok(checks.every(({ state, remedy }) => state !== "warning" || remedy !== undefined), "each says what to do");
  });
}

Deno.test("doctor: what a sign-in page answers is told as what it says of the client and the redirect address", async () => {
  const redirectUri = "https://mcp.test/oauth/callback";
  const to = (location: string) => new Response(null, { status: 302, headers: { location } });
  const cases: [Response, state: string, RegExp][] = [
    [new Response("", { status: 200 }), "well", /is not refused/],
    [to("https://login.test/sign-in?next=error"), "well", /is not refused/],
    // RFC 6749 §4.1.2.1: an unknown client or address is told on the page, or on another one of the provider
    [new Response("", { status: 400 }), "warning", /refuses the client id or the redirect address/],
    [new Response("", { status: 403 }), "warning", /refuses the client id or the redirect address/],
    [to("https://login.test/problem?error=invalid_client"), "warning", /refuses the client id or the redirect address/],
    [to("https://mcp.test.evil.test/oauth/callback?error=invalid_scope"), "warning", /refuses the client id/],
    // what comes back at our own address has accepted both
    [to(`${redirectUri}?error=invalid_scope&state=doctor`), "warning", /accepts the client id .*: invalid_scope$/],
    [to(`${redirectUri}?state=doctor&error=unauthorized_client`), "warning", /accepts .*: unauthorized_client$/],
    [to(`${redirectUri}?error=%1b%5B2Jx`), "warning", /accepts .*: 302$/],
    [to(`${redirectUri}?error=temporarily_unavailable`), "warning", /cannot answer now/],
    [to(`${redirectUri}?error=server_error`), "warning", /cannot answer now/],
    [new Response("", { status: 429 }), "warning", /cannot answer now/],
    [new Response("", { status: 503 }), "warning", /cannot answer now/],
    [new Response("", { status: 500 }), "warning", /cannot answer now/],
  ];
  for (const [answer, state, words] of cases) {
    const name = `${answer.status} ${answer.headers.get("location")}`;
    const options = { name: "page", party: "provider", redirectUri, remedy: "enter the address" } as const;
    const check = await judgeRedirect("https://login.test/authorize", {
      ...options,
      fetch: () => Promise.resolve(answer),
    });
    assert.deepEqual(check.state, state, name);
    assert.match(check.text, words, name);
    if (state === "warning") assert.equal(check.remedy === options.remedy, /refuses the client/.test(check.text), name);
  }
});
