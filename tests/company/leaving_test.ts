/** Who leaves the company is out: OIDC_RECHECK, lost groups, outages. */
import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { listUsers } from "../../src/oauth/manage_users.ts";
import { createProvider } from "../../src/oauth/company_provider.ts";
import { createRecheck, endPerson, linkPerson } from "../../src/oauth/company_people.ts";
import { users } from "../../src/oauth/records.ts";
import { Overload } from "../../src/lib/system_fault.ts";
import { systemTimers } from "../../src/lib/time.ts";
import {
  authorizePath,
  decide,
  hiddenField,
  locationOf,
  openBrowser,
  passphrase,
  postForm,
  reachConsent,
  redeem,
  refresh,
  register,
} from "../authorization_server/harness.ts";
import { habitsOf } from "../fixtures/company_provider/habits.ts";
import { until } from "../fixtures/until.ts";
import { broken } from "../fixtures/company_provider/provider.ts";
import { connect, type Connected, follow, hour, type Place, scopesNow, startPlace } from "./place.ts";

const minute = 60_000;
const day = 24 * hour;
const both = "files:read files:write";

async function startWithAda(options: Parameters<typeof startPlace>[0] = {}): Promise<Place> {
  const place = await startPlace({ recheckMs: 15 * minute, ...options });
  place.provider.employ("ada", { name: "Ada Lovelace", groups: ["mcp-users"] });
  place.provider.signIn("ada");
  return place;
}

/** The token requests that the provider got with a refresh token. */
function asked({ provider }: Place): number {
  return provider.requests.filter(({ body }) => body.includes("grant_type=refresh_token")).length;
}

/** Something that acts for a person, and whether it still may. */
type Use = (
  place: Place,
  connected: Omit<Connected, "refreshToken"> & { refreshToken: string; readonly operatorToken: string },
  browser: ReturnType<typeof openBrowser>,
) => Promise<boolean>;

const uses: Record<string, Use> = {
  "an access token": async (place, connected) => await scopesNow(place, connected) !== null,
  "a refresh token": async ({ harness }, connected) => {
    const { status, body } = await refresh(harness, connected.client, connected.refreshToken);
    connected.refreshToken = body.refresh_token ?? connected.refreshToken;
    return status === 200;
  },
  "a browser's session": async (_place, _connected, browser) =>
    (await (await browser.get("/oauth/grants")).text()).includes("Sign out"),
  "a token of the command line": async (place, { operatorToken }) =>
    await scopesNow(place, { accessToken: operatorToken }) !== null,
};

async function connectAda(place: Place) {
  const browser = openBrowser(place.harness);
  const connected = await connect(place, { browser });
  const [ada] = await listUsers(place.harness.deps);
  assert.equal(ada?.displayName, "Ada Lovelace");
  const made = await createOperatorToken(place.harness.deps, {
    userId: ada.id,
    scope: "files:read",
    lifetimeSeconds: 86_400,
  });
  assert.ok(made.ok, JSON.stringify(made));
  const operatorToken = made.value.token;
  return { browser, connected: { ...connected, operatorToken }, userId: ada.id };
}

for (const [name, use] of Object.entries(uses)) {
  Deno.test(`${name}: its first use after OIDC_RECHECK asks the provider, and ends with the person`, async () => {
    await using place = await startWithAda();
    const { harness, provider } = place;
    const { browser, connected } = await connectAda(place);
    assert.ok(await use(place, connected, browser));
    assert.equal(asked(place), 0, "nothing is asked before it is due");
    harness.time.now += place.recheckMs;
    assert.ok(await use(place, connected, browser));
    assert.equal(asked(place), 1, "one check counts for a while");
    assert.ok(await use(place, connected, browser));
    assert.equal(asked(place), 1);
    provider.employ("ada", { disabled: true });
    assert.ok(await use(place, connected, browser), "it is not due yet");
    harness.time.now += place.recheckMs;
    assert.equal(await use(place, connected, browser), false);
    for (const [other, useToo] of Object.entries(uses)) {
      assert.equal(await useToo(place, connected, browser), false, `${other} is over too`);
    }
    assert.equal(asked(place), 2, "who is out is not asked about again");
    const audited = harness.lines.filter(({ event }) => event === "access_ended_by_provider");
    assert.deepEqual(audited.map(({ fields }) => [fields["outcome"], fields["said"]]), [["ended", "invalid_grant"]]);
    provider.employ("ada", { disabled: false });
    assert.ok(await scopesNow(place, await connect(place)), "and may come back by a sign-in there");
  });
}

Deno.test("many uses at once ask once", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  place.harness.time.now += place.recheckMs;
  const scopes = await Promise.all(Array.from({ length: 20 }, () => scopesNow(place, connected)));
  assert.deepEqual(new Set(scopes), new Set([both]));
  assert.equal(asked(place), 1);
});

Deno.test("two instances ask once, since the provider's refresh token works once", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  const other = createAuthorizationServer(place.harness.deps);
  place.harness.time.now += place.recheckMs;
  const answers = await Promise.all(
    [place.harness.server, other, other, place.harness.server].map(({ verifier }) =>
      verifier.verify(connected.accessToken)
    ),
  );
  assert.ok(answers.every(({ ok }) => ok), JSON.stringify(answers));
  assert.equal(asked(place), 1);
  place.harness.time.now += place.recheckMs;
  assert.ok((await other.verifier.verify(connected.accessToken)).ok, "with the rotated one");
});

Deno.test("a lost group narrows what there is at once, and one that comes back widens it", async () => {
  await using place = await startWithAda();
  const { harness, provider } = place;
  const { connected } = await connectAda(place);
  provider.employ("ada", { groups: ["mcp-readers"] });
  assert.equal(await scopesNow(place, connected), both, "until the next check");
  harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), "files:read");
  const refreshed = await refresh(harness, connected.client, connected.refreshToken);
  assert.deepEqual([refreshed.status, refreshed.body.scope], [200, "files:read"]);
  provider.employ("ada", { groups: ["mcp-users"] });
  harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), both);
});

Deno.test("the last group that lets them in ends everything", async () => {
  await using place = await startWithAda();
  const { browser, connected } = await connectAda(place);
  place.provider.employ("ada", { groups: ["unrelated"] });
  place.harness.time.now += place.recheckMs;
  for (const [name, use] of Object.entries(uses)) assert.equal(await use(place, connected, browser), false, name);
  const [line] = place.harness.lines.filter(({ event }) => event === "access_ended_by_provider");
  assert.equal(line?.fields["reason"], "not_allowed");
});

Deno.test("an administrator by group is one no longer, in the session that is open", async () => {
  await using place = await startWithAda();
  place.provider.employ("ada", { groups: ["mcp-users", "mcp-admins"] });
  const { browser } = await connectAda(place);
  const { visits } = await place.harness.server.forConsole();
  const isAdministrator = async (): Promise<boolean | null> => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const entered = await visits.enter(new Request("https://mcp.test/console", { headers: { cookie } }), "console");
    return entered.ok ? entered.value.isAdministrator : null;
  };
  assert.equal(await isAdministrator(), true);
  place.provider.employ("ada", { groups: ["mcp-users"] });
  place.harness.time.now += place.recheckMs;
  assert.equal(await isAdministrator(), false);
});

Deno.test("an invitation by an administrator by group is good while its maker is one", async () => {
  await using place = await startWithAda();
  const { harness, provider } = place;
  provider.employ("ada", { groups: ["mcp-users", "mcp-admins"] });
  const { browser } = await connectAda(place);
  const { visits, administration } = await harness.server.forConsole();
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const entered = await visits.enter(new Request("https://mcp.test/console", { headers: { cookie } }), "console");
  assert.ok(entered.ok);
  const by = { ...entered.value, address: "192.0.2.1" };
  const made = await administration.invite({ userId: "ben", kind: "new" }, by);
  assert.ok(made.ok);
  const link = new URL(made.value);
  const open = () => openBrowser(harness).get(`${link.pathname}${link.search}`);
  assert.equal((await open()).status, 200);
  assert.deepEqual((await administration.invitations()).map(({ userId }) => userId), ["ben"]);
  provider.employ("ada", { groups: ["mcp-users"] });
  harness.time.now += place.recheckMs;
  assert.equal((await open()).status, 403);
  assert.deepEqual(await administration.invitations(), []);
});

Deno.test("where UserInfo does not say what counts, a check without an ID token leaves it as it was", async () => {
  for (const allow of ["group:mcp-users", "@example.com"]) {
    await using place = await startWithAda({ allow });
    const { harness, provider } = place;
    const { connected } = await connectAda(place);
    const before = await scopesNow(place, connected);
    provider.faults.discovery = (found) => ({ ...found, userinfo_endpoint: `${provider.origin}/userinfo` });
    const answers: Record<string, object> = {
      "/userinfo": { sub: "ada", name: "Ada" },
      "/token": { access_token: "x", token_type: "Bearer", refresh_token: "y" },
    };
    provider.faults.answer = (path) => path in answers ? Response.json(answers[path]) : null;
    harness.time.now += place.recheckMs;
    assert.equal(await scopesNow(place, connected), before, allow);
  }
});

const outages = {
  "is down": broken.down,
  "answers HTML": broken.html,
  "answers too much": broken.huge,
  "redirects elsewhere": broken.redirect,
  "does not know our secret any more": (path: string) =>
    path === "/token" ? Response.json({ error: "invalid_client" }, { status: 401 }) : null,
  "has an error of its own": (path: string) =>
    path === "/token" ? Response.json({ error: "server_error" }, { status: 400 }) : null,
};

for (const [name, answer] of Object.entries(outages)) {
  Deno.test(`a provider that ${name} is borne for a day, and no longer`, async () => {
    await using place = await startWithAda();
    const { harness, provider } = place;
    const { connected } = await connectAda(place);
    provider.faults.answer = answer;
    harness.time.now += place.recheckMs;
    assert.equal(await scopesNow(place, connected), both);
    let { refreshToken } = connected;
    for (let hours = 0; hours < 23; hours++) {
      harness.time.now += hour;
      const refreshed = await refresh(harness, connected.client, refreshToken);
      assert.equal(refreshed.status, 200, `after ${hours} hours`);
      refreshToken = refreshed.body.refresh_token;
    }
    harness.time.now += hour;
    assert.equal((await refresh(harness, connected.client, refreshToken)).body.error, "invalid_grant");
    assert.deepEqual(harness.lines.filter(({ event }) => event === "access_ended_by_provider"), []);
    provider.faults.answer = null;
    harness.time.now += minute;
    assert.equal(
      (await refresh(harness, connected.client, refreshToken)).status,
      200,
      "nothing is lost when it is back",
    );
    assert.ok(
      harness.lines.some(({ event, fields }) => event === "provider_recheck" && fields["outcome"] === "failed"),
    );
  });
}

Deno.test("a check whose turn does not come is borne for a day, refuses no one after it, and is made at the next use", async () => {
  await using place = await startWithAda();
  const { harness, recheckMs } = place;
  await connectAda(place);
  const { company, clock } = harness.deps;
  assert.ok(company !== undefined);
  const timers = { ...systemTimers, elapsed: clock };
  const provider = createProvider({ company, fetch, clock, timers });
  const state = { isBusy: true };
  const requestToken: typeof provider.requestToken = async (parameters) => {
    if (state.isBusy) throw new Overload("too many requests are waiting");
    return await provider.requestToken(parameters);
  };
  const recheck = createRecheck({ ...harness.deps, company, timers, provider: { ...provider, requestToken } });
  const [ada] = await Array.fromAsync(users.all(harness.storage));
  const check = () => recheck(ada?.value.id ?? "");
  harness.time.now += recheckMs;
  assert.equal(await check(), true);
  harness.time.now += day;
  await assert.rejects(check(), Overload);
  assert.deepEqual(harness.lines.filter(({ event }) => event === "access_ended_by_provider"), []);
  state.isBusy = false;
  assert.equal(await check(), true);
});

Deno.test("a stop waits for what the provider is asked: its answer voids the refresh token that is stored", async () => {
  await using place = await startWithAda();
  const { harness, recheckMs } = place;
  await connectAda(place);
  const { company } = harness.deps;
  assert.ok(company !== undefined);
  const timers = { ...systemTimers, elapsed: () => harness.time.now };
  const provider = createProvider({ company, fetch, clock: () => harness.time.now, timers });
  const gate = Promise.withResolvers<void>();
  const requestToken: typeof provider.requestToken = async (parameters) => {
    const answer = await provider.requestToken(parameters);
    await gate.promise;
    return answer;
  };
  const [ada] = await Array.fromAsync(users.all(harness.storage));
  const id = ada?.value.id ?? "";
  const recheck = createRecheck({ ...harness.deps, company, timers, provider: { ...provider, requestToken } });
  harness.time.now += recheckMs;
  void recheck(id);
  let isSettled = false;
  const settled = recheck.settled().then(() => isSettled = true);
  await until("the provider is asked", () => asked(place) === 1);
  assert.equal(isSettled, false);
  gate.resolve();
  await settled;
  harness.time.now += recheckMs;
  assert.equal(await createRecheck({ ...harness.deps, company, timers, provider })(id), true);
});

const strangeAnswers = {
  "is of another issuer": () => ({ iss: "https://other.test" }),
  "is for another client": () => ({ aud: "someone-else" }),
  "is from the future": () => ({ iat: 1_900_000_000, exp: 1_900_003_600 }),
  "is expired": () => ({ exp: 1_700_000_000 }),
} as const;

for (const [name, change] of Object.entries(strangeAnswers)) {
  Deno.test(`an ID token at the check that ${name} says nothing, for a day`, async () => {
    await using place = await startWithAda();
    const { connected } = await connectAda(place);
    place.provider.faults.claims = (claims) => ({ ...claims, ...change() });
    place.harness.time.now += place.recheckMs;
    assert.equal(await scopesNow(place, connected), both);
    place.provider.faults.claims = null;
    place.harness.time.now += 2 * minute;
    await scopesNow(place, connected);
    assert.equal(await scopesNow(place, connected), both, "and the rotated refresh token was kept");
  });
}

Deno.test("a subject that comes back as someone else ends", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  place.provider.faults.claims = (claims) => ({ ...claims, sub: "eve" });
  place.harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), null);
});

Deno.test("an answer that takes long is waited for by the first use alone", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  const { promise, resolve } = Promise.withResolvers<null>();
  place.provider.faults.answer = (path) => path === "/token" ? promise.then(() => broken.down()) : null;
  place.harness.time.now += place.recheckMs;
  const first = scopesNow(place, connected);
  resolve(null);
  assert.equal(await first, both);
  const later = Promise.withResolvers<Response>();
  place.provider.faults.answer = (path) => path === "/token" ? later.promise : null;
  place.harness.time.now += 2 * minute;
  assert.equal(await scopesNow(place, connected), both, "the next one goes on while the provider is asked");
  later.resolve(broken.down());
});

for (const habits of Object.keys(habitsOf) as (keyof typeof habitsOf)[]) {
  Deno.test(`with the habits "${habits}" a person is asked about again and again, and ends when locked out`, async () => {
    const noGroups = habits === "google" || habits === "servicenow";
    await using place = await startWithAda({
      habits,
      ...(noGroups ? { allow: "sub:ada", groups: null } : {}),
    });
    const { connected } = await connectAda(place);
    for (let round = 0; round < 3; round++) {
      place.harness.time.now += place.recheckMs;
      assert.equal(await scopesNow(place, connected), both, `round ${round}`);
    }
    assert.equal(asked(place), 3);
    place.provider.employ("ada", { disabled: true });
    place.harness.time.now += place.recheckMs;
    assert.equal(await scopesNow(place, connected), null);
  });
}

Deno.test("without a refresh token of the provider, people sign in there again, and go on with what they had", async () => {
  await using place = await startWithAda();
  place.provider.faults.discovery = ({ scopes_supported: _, ...document }) => ({ ...document, scopes_supported: [] });
  const { connected } = await connectAda(place);
  place.harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), null);
  const verified = await place.harness.server.verifier.verify(connected.accessToken);
  assert.ok(!verified.ok && verified.error === "not_confirmed_by_provider");
  const { path } = await follow(place, openBrowser(place.harness), "/oauth/grants");
  assert.equal(path, "/oauth/grants");
  assert.equal(await scopesNow(place, connected), both);
});

Deno.test("the provider's refresh token is stored sealed, and never logged", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  const tokens: string[] = [];
  place.provider.faults.answer = (path, request) => {
    if (path === "/token") tokens.push(request.url);
    return null;
  };
  place.harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), both);
  const sent = place.provider.requests.flatMap(({ body }) => new URLSearchParams(body).get("refresh_token") ?? []);
  assert.equal(sent.length, 1);
  const stored = new TextDecoder("latin1").decode(await Deno.readFile(place.harness.databasePath));
  const log = JSON.stringify(place.harness.lines);
  for (const text of [stored, log]) assert.ok(!text.includes(sent[0] ?? ""));
});

Deno.test("people of this server alone are asked about nowhere", async () => {
  await using place = await startWithAda();
  const { harness } = place;
  harness.time.now += 30 * day;
  assert.ok(await harness.server.verifier.verify("nonsense"));
  assert.equal(place.provider.requests.length, 0);
});

Deno.test("a provider that calls itself by another name says nothing, for a day", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  place.provider.faults.discovery = (document) => ({ ...document, issuer: "https://other.test" });
  place.harness.time.now += 2 * hour; // discovery is asked anew
  const refreshed = await refresh(place.harness, connected.client, connected.refreshToken);
  assert.equal(refreshed.status, 200);
  place.harness.time.now += day;
  const later = await refresh(place.harness, connected.client, refreshed.body.refresh_token);
  assert.equal(later.body.error, "invalid_grant");
});

for (const minutes of [-10, 10]) {
  Deno.test(`a provider whose clock is off by ${minutes} minutes ends no one's access`, async () => {
    await using place = await startWithAda();
    const { connected } = await connectAda(place);
    place.provider.faults.clockAheadSeconds = 60 * minutes;
    place.harness.time.now += place.recheckMs;
    assert.equal(await scopesNow(place, connected), both);
  });
}

Deno.test("2,000 groups, and groups with odd letters, are judged as they are written", async () => {
  const odd = ["Größe=groß", "日本語", "a,b c", "<b>", "__proto__", "constructor", "x".repeat(900)];
  await using place = await startWithAda({
    allow: "*",
    groups: odd.slice(0, 3).map((name) => `${name}=files:read`).join("; "),
  });
  const many = Array.from({ length: 2_000 }, (_, index) => `group-${index}`);
  place.provider.employ("ada", { groups: [...many, ...odd] });
  const connected = await connect(place);
  assert.equal(connected.scope, "files:read");
  const [ada] = await listUsers(place.harness.deps);
  assert.deepEqual(ada?.company?.groups, odd.slice(0, 3), "no other is stored");
  place.provider.employ("ada", { groups: [...many, "größe=groß"] });
  place.harness.time.now += place.recheckMs;
  assert.equal(await scopesNow(place, connected), "", "another group by its letters gives nothing");
});

Deno.test("the owner's passphrase works while the provider is down, and the audit tells it from the provider", async () => {
  await using place = await startWithAda();
  place.provider.faults.answer = broken.down;
  const owner = openBrowser(place.harness);
  const csrf = hiddenField(await (await owner.get("/oauth/grants")).text(), "csrf");
  const form = { csrf, username: "owner", passphrase };
  assert.equal((await owner.post("/oauth/sign-in?next=grants", form)).status, 303);
  assert.match(await (await owner.get("/oauth/grants")).text(), /Sign out/);
  place.harness.time.now += 2 * hour;
  assert.match(await (await owner.get("/oauth/grants")).text(), /Sign out/, "and no provider is asked about it");
  const used = place.harness.lines.filter(({ level, event }) => level === "audit" && event === "sign_in");
  assert.deepEqual(used.map(({ fields }) => [fields["outcome"], fields["user"]]), [["signed_in", "owner"]]);
});

Deno.test("a logout while the provider is being asked ends all the same", async () => {
  await using place = await startWithAda();
  const { connected } = await connectAda(place);
  const asking = Promise.withResolvers<null>();
  place.provider.faults.answer = (path) => path === "/token" ? asking.promise : null;
  place.harness.time.now += place.recheckMs;
  const first = scopesNow(place, connected);
  const token = await place.provider.logoutToken({ sub: "ada" });
  const said = await place.harness.fetch("/oauth/backchannel-logout", {
    method: "POST",
    body: new URLSearchParams({ logout_token: token }),
  });
  assert.equal(said.status, 200);
  asking.resolve(null);
  assert.equal(await first, null);
  assert.equal(await scopesNow(place, connected), null);
});

/** Why a token of Ada's does not work any more. */
async function whyOut({ harness }: Place, { accessToken }: Pick<Connected, "accessToken">): Promise<string | null> {
  const verified = await harness.server.verifier.verify(accessToken);
  return verified.ok ? null : verified.error;
}

Deno.test("access that was removed is told as removed, whether or not the provider has to be asked", async () => {
  await using place = await startWithAda();
  const { harness } = place;
  const verify = (text: string) => harness.server.verifier.verify(text);
  const { administration } = await harness.server.forConsole();
  const [removed, revoked] = [await connect(place), await connect(place)];
  const verified = await verify(removed.accessToken);
  assert.ok(verified.ok);
  const doer = { userId: "owner", isAdministrator: true, address: "198.51.100.7" };
  assert.ok(await administration.end({ grantId: verified.value.grantId, tokenId: null }, doer));
  const { client, accessToken } = revoked;
  await postForm(harness, "/oauth/revoke", { token: accessToken, client_id: client.client_id });
  const asks = asked(place);
  for (const due of [0, place.recheckMs]) {
    harness.time.now += due;
    for (const each of [removed, revoked]) assert.equal(await whyOut(place, each), "revoked_token", `${due}`);
    assert.equal(await harness.server.verifier.whyEnded(verified.value), "revoked_token", `${due}`);
  }
  assert.equal(asked(place), asks, "nobody asked the provider about them");
});

Deno.test("what the provider ended once is no reason for what is removed later", async () => {
  await using place = await startWithAda();
  const { harness } = place;
  const { administration } = await harness.server.forConsole();
  const doer = { userId: "owner", isAdministrator: true, address: "198.51.100.7" };
  await connectAda(place);
  const before = await connect(place);
  const ada = await harness.server.verifier.verify(before.accessToken);
  assert.ok(ada.ok);
  const { subject } = ada.value;
  // the owner's own account is linked, so that a passphrase goes on after the provider's end
  await linkPerson({ ...harness.deps, company: harness.deps.company as never, users: null as never }, "owner", {
    ...{ subject: "boss", email: null, domain: null, groups: [], name: "Boss" },
  });
  for (const id of [subject, "owner"]) await endPerson(harness.deps, id, "signed_out_there");
  assert.equal(await whyOut(place, before), "ended_by_provider");
  harness.time.now += minute;
  const browser = openBrowser(harness);
  const client = await register(harness);
  const page = await reachConsent(browser, authorizePath(client.client_id));
  const code = locationOf(await decide(browser, page)).searchParams.get("code");
  const { body } = await redeem(harness, client, code ?? "");
  const later = await harness.server.verifier.verify(body.access_token);
  assert.ok(later.ok && later.value.subject === "owner");
  assert.ok(await administration.end({ grantId: later.value.grantId, tokenId: null }, doer));
  assert.equal(await whyOut(place, { accessToken: body.access_token }), "revoked_token");
  assert.equal(await whyOut(place, before), "ended_by_provider", "which stays so for what it ended");
});
