/** Signing in at the company's provider: the whole way, who comes in, and every way that is no way in. */
import assert from "node:assert/strict";
import { addUser } from "../../src/oauth/manage_users.ts";
import type { Section } from "../../src/console/pages/section.ts";
import { noPassphrase, users } from "../../src/oauth/records.ts";
import { parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import {
  authorizePath,
  decide,
  hiddenField,
  issuer,
  locationOf,
  openBrowser,
  passphrase,
  redeem,
  register,
  type TestBrowser,
} from "../authorization_server/harness.ts";
import { act, invitePerson, signInTo, startConsole, stopSection } from "../console/harness.ts";
import { broken, providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

const groups = "mcp-users=files:read files:write; mcp-readers=files:read; mcp-admins=administrator";

async function startPlace(
  { habits = "usual", allow = "group:mcp-users; group:mcp-readers; group:mcp-admins", map = groups, claim, on = true }:
    {
      habits?: NonNullable<Parameters<typeof startCompanyProvider>[0]>["habits"] & string;
      allow?: string | null;
      map?: string | null;
      claim?: string;
      on?: boolean;
    } = {},
  more: readonly Section[] = [],
) {
  let clock = (): number => Date.now();
  const provider = await startCompanyProvider({ habits, clock: () => clock() });
  const rules = parseAllow(allow ?? "*");
  const rights = map === null ? null : parseGroups(map);
  assert.ok(rules.ok);
  const harness = await startConsole(more, {
    ownerPassphrase: on,
    company: {
      issuer: provider.issuer,
      clientId: providerClient.id,
      clientSecret: providerClient.secret,
      allow: allow === null ? [] : rules.value,
      groups: rights?.ok ? rights.value : null,
      groupsClaim: claim ?? (habits === "keycloak" ? "realm_access.roles" : "groups"),
      recheckMs: 43_200_000,
      assertions: false,
      fetch,
    },
  });
  clock = () => harness.time.now;
  const browser = (): TestBrowser => openBrowser(harness);
  return {
    provider,
    harness,
    browser,
    /** The page that comes out of following everything, from a path of ours. */
    async follow(browser: TestBrowser, path: string): Promise<{ status: number; text: string; path: string }> {
      let [url, hops] = [new URL(path, issuer), 0];
      for (;;) {
        assert.ok(hops++ < 12, `sent on too often, lately to ${url}`);
        const isThere = url.origin === provider.origin;
        const response = isThere
          ? await fetch(url, { redirect: "manual" })
          : await browser.get(`${url.pathname}${url.search}`);
        const text = await response.text();
        const offered = isThere ? undefined : /href="([^"]*\/oauth\/company\?[^"]*)"/.exec(text)?.[1];
        const refreshed = /url=(.*)$/.exec(response.headers.get("refresh") ?? "")?.[1];
        const next = response.headers.get("location") ?? refreshed ?? offered?.replaceAll("&amp;", "&");
        if (next === undefined) return { status: response.status, text, path: url.pathname };
        url = new URL(next, url);
      }
    },
    /** The address that the provider sends the browser back to, for a path of ours; not yet visited. */
    async comeBack(browser: TestBrowser, path: string): Promise<URL> {
      const page = await (await browser.get(path)).text();
      const offered = /href="([^"]*\/oauth\/company\?[^"]*)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
      const sent = await browser.get(offered ?? path);
      assert.equal(sent.status, 302, await sent.text());
      const answer = await fetch(sent.headers.get("location") ?? "", { redirect: "manual" });
      await answer.body?.cancel();
      return locationOf(answer);
    },
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("company: sign-in there, consent here, and the grant is the person's, within their groups", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { name: "Ada Lovelace", groups: ["mcp-readers", "choir"] });
  place.provider.signIn("ada");
  const client = await register(place.harness);
  const browser = place.browser();
  const { text, path } = await place.follow(browser, authorizePath(client.client_id));
  assert.equal(path, "/oauth/consent", text);
  assert.match(text, /<dd>Ada Lovelace<\/dd>/);
  assert.match(text, /Your groups do not let you allow this: [^.]*Read, create, change/);
  const code = locationOf(await decide(browser, text, { scopes: ["files:read", "files:write"] })).searchParams.get(
    "code",
  );
  const { status, body } = await redeem(place.harness, client, code ?? "");
  assert.equal(status, 200);
  assert.equal(body.scope, "files:read");
  const verified = await place.harness.server.verifier.verify(body.access_token);
  assert.ok(verified.ok);
  assert.match(verified.value.subject, /^company:[0-9a-f]{24}$/);
  const stored = await users.read(place.harness.storage, verified.value.subject);
  assert.equal(stored?.value.passwordHash, noPassphrase);
  assert.deepEqual(stored?.value.company?.groups, ["mcp-readers"]);
});

type Place = Awaited<ReturnType<typeof startPlace>>;

/** Someone is at the provider's page, and a browser of theirs is on its way back. */
async function onTheWayBack(place: Place, sub = "ada"): Promise<{ browser: TestBrowser; back: URL }> {
  place.provider.employ(sub, { groups: ["mcp-users"] });
  place.provider.signIn(sub);
  const browser = place.browser();
  const { client_id: id } = await register(place.harness);
  return { browser, back: await place.comeBack(browser, authorizePath(id)) };
}

const visit = (browser: TestBrowser, url: URL): Promise<Response> => browser.get(`${url.pathname}${url.search}`);
const session = (browser: TestBrowser): string | undefined => browser.cookies.get("__Host-portcullis-session");

Deno.test("company: by default the linked owner alone may come in, and whoever is refused leaves no record", async () => {
  for (const allow of [null, "group:other; @other.com; eve@example.com; sub:eve"]) {
    await using place = await startPlace({ allow });
    place.provider.employ("ada", { groups: ["mcp-users"] });
    place.provider.signIn("ada");
    const browser = place.browser();
    const { status, text } = await place.follow(browser, "/oauth/grants");
    assert.equal(status, 403);
    assert.match(text, /Your company account may not use this server/);
    assert.equal(session(browser), undefined);
    assert.deepEqual(await Array.fromAsync(users.all(place.harness.storage)), []);
    assert.ok(place.harness.reasons().includes("not_allowed"));
  }
  for (const allow of ["@example.com", "ada@example.com", "sub:ada", "*"]) {
    await using place = await startPlace({ allow });
    place.provider.employ("ada");
    place.provider.signIn("ada");
    assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 200, allow);
  }
});

Deno.test("company: each provider's people sign in, and groups come from where the provider has them", async () => {
  for (const habits of ["usual", "entra", "okta", "keycloak"] as const) {
    await using place = await startPlace({ habits });
    place.provider.employ("ada", { groups: ["mcp-users"] });
    place.provider.signIn("ada");
    const { status, text } = await place.follow(place.browser(), "/oauth/grants");
    assert.equal(status, 200, `${habits} ${text} ${JSON.stringify(place.harness.lines)}`);
  }
  for (const habits of ["google", "servicenow"] as const) {
    await using place = await startPlace({
      habits,
      allow: habits === "google" ? "@example.com" : "sub:ada",
      map: null,
    });
    place.provider.employ("ada");
    place.provider.signIn("ada");
    const { status, text } = await place.follow(place.browser(), "/oauth/grants");
    assert.equal(status, 200, `${habits} ${text} ${JSON.stringify(place.harness.lines)}`);
  }
  await using entra = await startPlace({ habits: "entra" });
  entra.provider.employ("ada", { groups: Array.from({ length: 2_000 }, (_, index) => `mcp-users-${index}`) });
  entra.provider.signIn("ada");
  assert.match((await entra.follow(entra.browser(), "/oauth/grants")).text, /You are in too many groups/);
  await using okta = await startPlace({ habits: "okta" });
  okta.provider.employ("ada", {
    groups: Array.from({ length: 2_000 }, (_, index) => `mcp-${index}`).concat("mcp-users"),
  });
  okta.provider.signIn("ada");
  assert.equal((await okta.follow(okta.browser(), "/oauth/grants")).status, 200);
});

Deno.test("company: a response counts once, in the browser that was sent, and from the issuer alone", async () => {
  await using place = await startPlace();
  const { harness } = place;
  const { browser, back } = await onTheWayBack(place);
  const other = place.browser();
  await other.get("/oauth/grants");
  for (const victim of [other, place.browser()]) { // login CSRF: with cookies of its own, and with none
    const refused = await visit(victim, back);
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /started in another browser/);
    assert.equal(session(victim), undefined);
  }
  const raced = await Promise.all([visit(browser, back), visit(browser, back), visit(browser, back)]);
  assert.deepEqual(raced.map(({ status }) => status).sort(), [303, 403, 403]);
  for (const answer of raced) await answer.body?.cancel();
  const late = await visit(browser, back);
  assert.match(await late.text(), /no longer open/);
  assert.deepEqual(
    new Set(harness.reasons()),
    new Set(["other_browser", "unknown_state"]),
  );
});

Deno.test("company: responses of other servers, of other visits, and malformed ones sign no one in", async () => {
  const code = (url: URL): string => url.searchParams.get("code") ?? "";
  const table: Readonly<Record<string, (url: URL, place: Place) => void | Promise<void>>> = {
    other_issuer_answered: (url) => url.searchParams.set("iss", "https://evil.test"), // mix-up
    "other_issuer_answered ": (url) => url.searchParams.delete("iss"),
    "malformed": (url) => url.searchParams.append("iss", "https://evil.test"),
    "malformed ": (url) => url.searchParams.append("state", "x"),
    "malformed  ": (url) => url.searchParams.delete("code"),
    "malformed   ": (url) => url.searchParams.delete("state"),
    unknown_state: (url) => url.searchParams.set("state", "x".repeat(43)),
    "unknown_state ": (url) => url.searchParams.set("state", ""),
    refused: (url) => url.searchParams.set("code", "guessed"),
    // code injection: the victim's code in the attacker's response (PKCE refuses it at the provider)
    "refused ": async (url, place) => url.searchParams.set("code", code((await onTheWayBack(place, "eve")).back)),
    denied: (url) => url.searchParams.set("error", "access_denied"),
  };
  for (const [name, change] of Object.entries(table)) {
    await using place = await startPlace();
    const { browser, back } = await onTheWayBack(place);
    await change(back, place);
    const answer = await visit(browser, back);
    assert.ok([400, 403].includes(answer.status), name);
    assert.doesNotMatch(await answer.text(), /evil/);
    assert.deepEqual(place.harness.reasons(), [name.trim()], name);
    assert.equal(session(browser), undefined);
    assert.deepEqual(await Array.fromAsync(users.all(place.harness.storage)), []);
  }
});

Deno.test("company: ID tokens that are not for this sign-in are refused, and say so to the operator alone", async () => {
  const past = 1_800_000_000 - 700;
  const table: Readonly<Record<string, Partial<Place["provider"]["faults"]>>> = {
    wrong_nonce: { claims: (claims) => ({ ...claims, nonce: "another" }) },
    "wrong_nonce ": { claims: ({ nonce: _, ...claims }) => claims },
    wrong_audience: { claims: (claims) => ({ ...claims, aud: "another" }) },
    wrong_at_hash: { claims: (claims) => ({ ...claims, at_hash: "another" }) },
    wrong_issuer: { claims: (claims) => ({ ...claims, iss: "https://evil.test" }) },
    symmetric_or_unsigned: { header: (header) => ({ ...header, alg: "none" }) },
    "symmetric_or_unsigned ": { header: (header) => ({ ...header, alg: "HS256" }) },
    wrong_type: { header: (header) => ({ ...header, typ: "logout+jwt" }) },
    bad_signature: { header: (header) => ({ ...header, kid: "another" }) },
    expired: { claims: (claims) => ({ ...claims, iat: past - 3_600, exp: past }) },
    not_yet_valid: { clockAheadSeconds: 600 },
  };
  for (const [name, fault] of Object.entries(table)) {
    await using place = await startPlace();
    const { browser, back } = await onTheWayBack(place);
    Object.assign(place.provider.faults, fault);
    const answer = await visit(browser, back);
    assert.equal(answer.status, 403, name);
    const text = await answer.text();
    assert.match(text, /clock/.test(text) ? /Two clocks disagree/ : /cannot be trusted/, name);
    assert.deepEqual(place.harness.reasons(), [name.trim()]);
    assert.equal(session(browser), undefined);
  }
});

Deno.test("company: a provider that is away is said to be, before the visit and after it, and logs hold no code", async () => {
  const away = {
    server_error: broken.down,
    not_json: broken.html,
    too_large: broken.huge,
    unexpected_status: broken.redirect,
  };
  for (const [reason, answer] of Object.entries(away)) {
    await using place = await startPlace();
    const client = await register(place.harness);
    const browser = place.browser();
    place.provider.faults.answer = answer;
    const early = await place.follow(browser, authorizePath(client.client_id));
    assert.equal(early.status, 503);
    assert.match(early.text, /cannot be reached/);
    assert.match(early.text, /href="\/oauth\/consent\?request=/, "the way back to the request that waits");

    place.provider.faults.answer = null;
    place.harness.time.now += 60_000;
    const { browser: second, back } = await onTheWayBack(place);
    place.provider.faults.answer = answer;
    assert.equal((await visit(second, back)).status, 503);
    assert.deepEqual(new Set(place.harness.reasons()), new Set([reason]));
    const logged = JSON.stringify(place.harness.lines);
    for (const secret of [back.searchParams.get("code"), back.searchParams.get("state")]) {
      assert.ok(secret && !logged.includes(secret));
    }
  }
});

Deno.test("company: a new session has a new cookie, two tabs go their own ways, and nothing leads elsewhere", async () => {
  await using place = await startPlace();
  const client = await register(place.harness);
  place.provider.employ("ada", { groups: ["mcp-users"] });
  place.provider.signIn("ada");
  const browser = place.browser();
  browser.cookies.set("__Host-portcullis-session", "p".repeat(43)); // planted before
  const first = await place.comeBack(browser, authorizePath(client.client_id, { state: "one" }));
  const second = await place.comeBack(browser, authorizePath(client.client_id, { state: "two" }));
  const handles: string[] = [];
  for (const back of [second, first]) {
    const answer = await visit(browser, back);
    assert.equal(answer.status, 303);
    const next = locationOf(answer);
    assert.equal(`${next.origin}${next.pathname}`, `${issuer}/oauth/consent`);
    handles.push(next.searchParams.get("request") ?? "");
  }
  assert.equal(new Set(handles).size, 2);
  assert.notEqual(session(browser), "p".repeat(43));
  for (const next of ["//evil.test", "https://evil.test", "console//evil.test", "../x"]) {
    const sent = await browser.get(`/oauth/company?${new URLSearchParams({ next })}`);
    const answer = await fetch(sent.headers.get("location") ?? "", { redirect: "manual" });
    const back = await visit(browser, locationOf(answer));
    assert.equal(back.headers.get("location"), "/oauth/grants", next);
  }
  const request = (await browser.get("/oauth/company?request=unknown")).status;
  assert.equal(request, 403, "on behalf of a request that waits, and of no other");
});

Deno.test("company: prompt=login asks the provider again, and looks at when that was", async () => {
  const table: Readonly<Record<string, Partial<Place["provider"]["faults"]>>> = {
    none: {},
    no_auth_time: { claims: ({ auth_time: _, ...claims }) => claims },
    "no_auth_time ": { claims: (claims) => ({ ...claims, auth_time: "now" }) },
    not_signed_in_anew: { claims: (claims) => ({ ...claims, auth_time: 1_800_000_000 - 3_600 }) },
  };
  for (const [name, fault] of Object.entries(table)) {
    await using place = await startPlace();
    place.provider.employ("ada", { groups: ["mcp-users"] });
    place.provider.signIn("ada");
    const browser = place.browser();
    await place.follow(browser, "/oauth/grants");
    place.harness.time.now += 1_000;
    const client = await register(place.harness);
    Object.assign(place.provider.faults, fault);
    const { text, path } = await place.follow(browser, authorizePath(client.client_id, { prompt: "login" }));
    if (name === "none") assert.equal(path, "/oauth/consent", text);
    else {
      assert.match(text, /did not ask you again/);
      assert.deepEqual(place.harness.reasons(), [name.trim()]);
    }
  }
});

/** Signs someone in with the passphrase, and links who sits at the provider. */
async function link(
  browser: TestBrowser,
  { username = "owner", secret = passphrase } = {},
): Promise<{ status: number; text: string }> {
  const page = await (await browser.get("/oauth/company/link")).text();
  const action = "/oauth/sign-in?next=companyLink";
  assert.ok(page.includes(`action="${action}"`), page);
  const csrf = hiddenField(page, "csrf");
  const wrong = await browser.post(action, { csrf, username, passphrase: "wrong" });
  assert.equal(wrong.status, 403);
  const sent = await browser.post(action, { csrf, username, passphrase: secret });
  const url = /url=(.*)$/.exec(sent.headers.get("refresh") ?? "")?.[1] ?? "";
  const linked = await visit(browser, locationOf(await fetch(url, { redirect: "manual" })));
  const text = await linked.text();
  if (linked.status !== 303) return { status: linked.status, text };
  assert.equal(linked.headers.get("location"), "/oauth/grants");
  return { status: 303, text: await (await browser.get("/oauth/grants")).text() };
}

Deno.test("company: who has a passphrase links once, by both sign-ins; the owner needs no rule and keeps the passphrase", async () => {
  await using place = await startPlace({ allow: null });
  place.provider.employ("boss", { name: "The Boss" });
  place.provider.signIn("boss");
  const owner = place.browser();
  const linked = await link(owner);
  assert.equal(linked.status, 303);
  assert.match(linked.text, /:\s+linked</);

  const browser = place.browser();
  assert.match((await place.follow(browser, "/oauth/grants")).text, /Signed in as <strong>owner<\/strong>/);
  const consent = await place.follow(browser, authorizePath((await register(place.harness)).client_id));
  assert.doesNotMatch(consent.text, /Your groups/, "groups do not limit the owner");

  const other = place.browser();
  const csrf = hiddenField(await (await other.get("/oauth/company/link")).text(), "csrf");
  const again = await other.post("/oauth/sign-in?next=companyLink", { csrf, username: "owner", passphrase });
  assert.match(again.headers.get("refresh") ?? "", /url=/, "the passphrase is still good");
  assert.ok(session(other));
  assert.equal((await browser.get("/oauth/grants")).status, 200);
  assert.doesNotMatch(await (await browser.get("/oauth/grants")).text(), /Signed in as/, "its sessions have ended");
  assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 403, "who asks to link anew is unlinked");
  place.provider.employ("eve");
  place.provider.signIn("eve");
  assert.equal((await link(other)).status, 303);
  assert.match((await place.follow(place.browser(), "/oauth/grants")).text, /Signed in as <strong>owner<\/strong>/);
  place.provider.signIn("boss");
  assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 403);
});

Deno.test("company: a link belongs to who asked for it, and no account at the provider to two people", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users"] });
  place.provider.signIn("ada");
  assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 200);
  const owner = place.browser();
  const taken = await link(owner);
  assert.equal(taken.status, 403);
  assert.match(taken.text, /belongs to someone here already/);
  const stored = await users.read(place.harness.storage, "owner");
  assert.equal(stored?.value.company, undefined);
});

Deno.test("company: OWNER_PASSPHRASE=off turns the owner's passphrase off", async () => {
  await using place = await startPlace({ on: false });
  const browser = place.browser();
  const page = async (): Promise<string> => await (await browser.get("/oauth/grants")).text();
  assert.match(await page(), /Sign in with your company account/);
  assert.doesNotMatch(await page(), /Use a passphrase/, "nobody has one that counts");
  const csrf = hiddenField(await (await browser.get("/oauth/company/link")).text(), "csrf");
  const refused = await browser.post("/oauth/sign-in?next=grants", { csrf, username: "owner", passphrase });
  assert.equal(refused.status, 403);
  assert.equal(session(browser), undefined);
  assert.ok((await addUser(place.harness.deps, { name: "zoe", passphrase })).ok);
  assert.match(await page(), /Use a passphrase/);
  const signedIn = await browser.post("/oauth/sign-in?next=grants", { csrf, username: "zoe", passphrase });
  assert.equal(signedIn.status, 303);
});

Deno.test("company: a group less narrows tokens that are out and the console at once, a group more widens them", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users", "mcp-admins"] });
  place.provider.signIn("ada");
  const client = await register(place.harness);
  const browser = place.browser();
  const { text } = await place.follow(browser, authorizePath(client.client_id));
  const code = locationOf(await decide(browser, text)).searchParams.get("code") ?? "";
  const { body } = await redeem(place.harness, client, code);
  assert.equal(body.scope, "files:read files:write");
  const now = async (): Promise<string | null> => {
    const verified = await place.harness.server.verifier.verify(body.access_token);
    return verified.ok ? [...verified.value.scopes].sort().join(" ") : null;
  };
  const before = await place.harness.server.verifier.verify(body.access_token);
  assert.ok(before.ok);
  const { visits } = await place.harness.server.forConsole();
  const isAdministrator = async (): Promise<boolean | null> => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const entered = await visits.enter(new Request(`${issuer}/console`, { headers: { cookie } }), "console");
    return entered.ok ? entered.value.isAdministrator : null;
  };
  assert.equal(await isAdministrator(), true);

  const changeTo = async (groups: string[]): Promise<void> => {
    place.provider.employ("ada", { groups });
    await place.follow(place.browser(), "/oauth/grants"); // a sign-in elsewhere, in another browser
  };
  await changeTo(["mcp-readers"]);
  assert.equal(await now(), "files:read");
  assert.equal(
    await place.harness.server.verifier.isLive(before.value),
    false,
    "what was verified before is not good any more",
  );
  assert.equal(await isAdministrator(), false);
  await changeTo(["mcp-users"]);
  assert.equal(await now(), "files:read files:write");
  await changeTo(["choir"]);
  assert.equal(await now(), null, "no rule lets them in any more");
  assert.equal(await isAdministrator(), null);
});

Deno.test("company: people are who the provider's subject says, whatever becomes of addresses and names", async () => {
  await using place = await startPlace({ allow: "@example.com" });
  const idOf = async (sub: string, details: { name?: string; email?: string }): Promise<string> => {
    place.provider.employ(sub, details);
    place.provider.signIn(sub);
    const browser = place.browser();
    await place.follow(browser, "/oauth/grants");
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const { visits } = await place.harness.server.forConsole();
    const entered = await visits.enter(new Request(`${issuer}/console`, { headers: { cookie } }), "console");
    assert.ok(entered.ok);
    return entered.value.userId;
  };
  const ada = await idOf("1", { name: "Ada", email: "ada@example.com" });
  assert.equal(await idOf("1", { name: "Ada King", email: "king@example.com" }), ada);
  const eve = await idOf("2", { name: "Ada", email: "ada@example.com" });
  assert.notEqual(eve, ada);
  const owner = await idOf("owner", { name: "owner", email: "owner@example.com" });
  assert.notEqual(owner, "owner");
});

Deno.test("company: someone disabled here does not come in", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users"] });
  place.provider.signIn("ada");
  assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 200);
  const [stored] = await Array.fromAsync(users.all(place.harness.storage));
  const { administration } = await place.harness.server.forConsole();
  const doer = { userId: "owner", isAdministrator: true, address: "192.0.2.1" };
  assert.ok((await administration.change(stored?.value.id ?? "", "disable", doer)).ok);
  assert.match((await place.follow(place.browser(), "/oauth/grants")).text, /Your account is disabled on this server/);
  assert.ok((await administration.change(stored?.value.id ?? "", "enable", doer)).ok);
  assert.equal((await place.follow(place.browser(), "/oauth/grants")).status, 200);
});

/** Employs two administrators, ada and eve; gives the id of eve, who has been there. */
async function employTwo({ provider, harness, follow, browser }: Awaited<ReturnType<typeof startPlace>>) {
  for (const sub of ["ada", "eve"]) provider.employ(sub, { groups: ["mcp-users", "mcp-admins"] });
  provider.signIn("eve");
  await follow(browser(), "/oauth/grants");
  const [stored] = await Array.fromAsync(users.all(harness.storage));
  return stored?.value.id ?? "";
}

Deno.test("company: what is dangerous asks for a new sign-in there, of the same person", async () => {
  await using place = await startPlace();
  const eve = await employTwo(place);
  const isDisabled = async (): Promise<boolean | undefined> =>
    (await users.read(place.harness.storage, eve))?.value.disabled;
  place.provider.signIn("ada");
  const browser = place.browser();
  assert.equal((await place.follow(browser, "/console/people")).status, 200);
  place.harness.time.now += 600_000;
  const asked = await (await act(browser, "/console/people", { act: "disable", user: eve })).text();
  assert.match(asked, /sign in to your company account again/);
  assert.equal(await isDisabled(), false);
  const path = /href="(\/oauth\/company\?[^"]*again=1[^"]*)"/.exec(asked)?.[1]?.replaceAll("&amp;", "&") ?? "";

  place.provider.signIn("eve");
  const other = await visit(browser, await place.comeBack(browser, path));
  assert.match(await other.text(), /You signed in as someone else/);
  place.provider.signIn("ada");
  place.provider.faults.claims = (claims) => ({ ...claims, auth_time: Number(claims["auth_time"]) - 600 });
  const stale = await visit(browser, await place.comeBack(browser, path));
  assert.match(await stale.text(), /did not ask you again/);
  assert.match(await (await act(browser, "/console/people", { act: "disable", user: eve })).text(), /again/);
  place.provider.faults.claims = null;
  const back = await visit(browser, await place.comeBack(browser, path));
  assert.equal(back.headers.get("location"), "/console/people");
  assert.equal((await act(browser, "/console/people", { act: "disable", user: eve })).status, 303);
  assert.equal(await isDisabled(), true);
});

Deno.test("company: single sign-on confirms nothing, however new its session is", async () => {
  await using place = await startPlace();
  const eve = await employTwo(place);
  place.provider.signIn("ada");
  place.harness.time.now += 600_000;
  const client = await register(place.harness);
  const browser = place.browser();
  const isDone = async (): Promise<boolean> =>
    (await act(browser, "/console/people", { act: "disable", user: eve })).status === 303;
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    "a first visit": () => place.follow(browser, "/console/people"),
    "another visit": () => place.follow(browser, "/oauth/company?next=console"),
    "a visit for a client": () => place.follow(browser, authorizePath(client.client_id)),
    "signing out and in": async () => {
      const csrf = hiddenField(await (await browser.get("/oauth/grants")).text(), "csrf");
      await (await browser.post("/oauth/sign-out", { csrf })).body?.cancel();
      await place.follow(browser, "/console/people");
    },
    "the choice of an account": () => place.follow(browser, "/oauth/company?next=console&choose=1"),
  };
  for (const [name, visit] of Object.entries(ways)) {
    await visit();
    assert.equal(await isDone(), false, name);
  }
  await place.follow(browser, "/oauth/company?next=console&again=1");
  assert.equal(await isDone(), true);
});

Deno.test("company: a request that wants a new sign-in is not content with single sign-on", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users"] });
  place.provider.signIn("ada");
  const browser = place.browser();
  await place.follow(browser, "/oauth/grants");
  const client = await register(place.harness);
  const page = await (await browser.get(authorizePath(client.client_id, { prompt: "login" }))).text();
  const handle = /request=([\w-]{43})/.exec(page)?.[1] ?? "";
  place.harness.time.now += 1_000;
  await place.follow(browser, "/oauth/company?next=grants");
  const consent = (): Promise<string> => browser.get(`/oauth/consent?request=${handle}`).then((page) => page.text());
  assert.match(await consent(), /Sign in with your company account/);
  await place.follow(browser, `/oauth/company?request=${handle}`);
  assert.match(await consent(), /wants access/);
});

Deno.test("company: a session from before confirmations were noted goes on, and has confirmed nothing", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { groups: ["mcp-users", "mcp-admins"] });
  place.provider.signIn("ada");
  const browser = place.browser();
  await place.follow(browser, "/console/people");
  await place.follow(browser, "/oauth/company?next=console&again=1");
  const { storage } = place.harness;
  const sessions = await storage.list(["browser_session"], { limit: 9 });
  assert.equal(sessions.length, 1);
  for (const { key, value } of sessions) {
    const { company, ...others } = value as { company?: object };
    assert.ok(company !== undefined && "confirmedAt" in company);
    const { confirmedAt: _, ...earlier } = company;
    await storage.commit({ puts: [{ key, value: { ...others, company: earlier } }] });
  }
  const asked = await act(browser, "/console/people", { act: "disable", user: "eve" });
  assert.match(await asked.text(), /sign in to your company account again/);
});

Deno.test("company: an act that is carried through the sign-in is done after it", async () => {
  const { section, done } = stopSection();
  await using place = await startPlace({}, [section]);
  place.provider.employ("ada", { groups: ["mcp-users", "mcp-admins"] });
  place.provider.signIn("ada");
  const browser = place.browser();
  assert.equal((await place.follow(browser, "/console/activity")).status, 200);
  const csrf = hiddenField(await (await browser.get("/console/people")).text(), "csrf");
  place.harness.time.now += 600_000;
  const asked = await (await browser.post("/console/activity", { csrf, act: "stop" })).text();
  const again = /href="(\/oauth\/company\?[^"]*again=1[^"]*)"/.exec(asked)?.[1]?.replaceAll("&amp;", "&") ?? "";
  await place.follow(browser, again);
  assert.equal(done.length, 1, "after a sign-in that was too old");
  place.harness.time.now += 9 * 3_600_000;
  const signIn = await (await browser.post("/console/activity", { csrf, act: "stop" })).text();
  const path = /href="(\/oauth\/company\?[^"]*)"/.exec(signIn)?.[1]?.replaceAll("&amp;", "&") ?? "";
  assert.match((await place.follow(browser, path)).text, /stopped 2/);
  // a provider that never asks for a password again, such as Google, does not keep people from stopping calls
  place.harness.time.now += 600_000;
  const other = place.browser();
  await place.follow(other, "/console/people");
  const own = hiddenField(await (await other.get("/console/people")).text(), "csrf");
  assert.equal((await other.post("/console/activity", { csrf: own, act: "stop" })).status, 303);
  assert.equal(done.length, 3);
});

Deno.test("company: someone who linked has no passphrase any more, and no invitation gives one back", async () => {
  await using place = await startPlace({ allow: "sub:ada" });
  const owner = await signInTo(place.harness);
  const secret = await invitePerson(place.harness, owner, "ada");
  place.provider.employ("ada");
  place.provider.signIn("ada");
  const ada = place.browser();
  assert.equal((await link(ada, { username: "ada", secret })).status, 303);
  assert.match((await place.follow(place.browser(), "/console")).text, /ada/);

  await assert.rejects(signInTo(place.harness, { username: "ada", secret }), "the passphrase is no way around");
  const people = await (await owner.get("/console/people")).text();
  assert.match(people, /Company account/);
  assert.doesNotMatch(people, /Reset passphrase/);
  const { administration } = await place.harness.server.forConsole();
  const doer = { userId: "owner", isAdministrator: true, address: "192.0.2.1" };
  const invited = await administration.invite({ userId: "ada", kind: "reset" }, doer);
  assert.ok(invited.ok);
  const refused = await place.browser().get(new URL(invited.value).pathname + new URL(invited.value).search);
  assert.match(await refused.text(), /Sign-in happens elsewhere/);
  const csrf = hiddenField(await (await ada.get("/oauth/company/link")).text(), "csrf");
  const unlinked = await ada.post("/oauth/sign-in?next=companyLink", { csrf, username: "ada", passphrase: secret });
  assert.equal(unlinked.status, 403);
});
