/** OpenID Connect Back-Channel Logout 1.0: the provider says who signed out there. */
import assert from "node:assert/strict";
import type { JWTPayload } from "@panva/jose";
import { openBrowser } from "../authorization_server/harness.ts";
import { broken } from "../fixtures/company_provider/provider.ts";
import { addAsserting, bring, claimsFor, connect, type Place, scopesNow, startPlace } from "./place.ts";

const now = 1_800_000_000;
const both = "files:read files:write";

async function startWithAda(): Promise<Place> {
  const place = await startPlace();
  for (const sub of ["ada", "bob"]) place.provider.employ(sub, { groups: ["mcp-users"] });
  return place;
}

async function say({ harness }: Pick<Place, "harness">, token: string, more: Record<string, string> = {}) {
  const response = await harness.fetch("/oauth/backchannel-logout", {
    method: "POST",
    body: new URLSearchParams({ logout_token: token, ...more }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function connectAs(place: Place, sub: string) {
  place.provider.signIn(sub);
  const browser = openBrowser(place.harness);
  return { browser, sid: place.provider.sid() ?? "", ...await connect(place, { browser }) };
}

for (const by of ["sub", "sid", "sub and sid"] as const) {
  Deno.test(`a logout token with ${by} ends the person's tokens and sessions at once, and no one else's`, async () => {
    await using place = await startWithAda();
    const [ada, bob] = [await connectAs(place, "ada"), await connectAs(place, "bob")];
    const claims = { ...by === "sid" ? {} : { sub: "ada" }, ...by === "sub" ? {} : { sid: ada.sid } };
    const { status, headers } = await say(place, await place.provider.logoutToken(claims), { more: "is ignored" });
    assert.equal(status, 200);
    assert.match(headers.get("cache-control") ?? "", /no-store/); // §2.8
    assert.equal(await scopesNow(place, ada), null);
    assert.match(await (await ada.browser.get("/oauth/grants")).text(), /Sign in with your company account/);
    assert.equal(await scopesNow(place, bob), both);
    assert.match(await (await bob.browser.get("/oauth/grants")).text(), /Sign out/);
    const ended = place.harness.lines.filter(({ event }) => event === "access_ended_by_provider");
    assert.deepEqual(ended.map(({ fields }) => fields["reason"]), ["signed_out_there"]);
    assert.equal(await scopesNow(place, await connectAs(place, "ada")), both, "a new sign-in begins anew");
  });
}

interface Attack {
  readonly name: string;
  readonly claims?: JWTPayload;
  readonly header?: Record<string, unknown>;
  readonly isForeign?: true;
}

// §2.6, by its numbers
const attacks: Attack[] = [
  { name: "2: unsigned", header: { alg: "none" } },
  { name: "2: signed with our own secret", header: { alg: "HS256" } },
  { name: "2: signed by a foreign key", isForeign: true },
  { name: "3: of another issuer", claims: { iss: "https://other.test" } },
  { name: "3: for another client", claims: { aud: "someone-else" } },
  { name: "3: for no client", claims: { aud: undefined } as never },
  { name: "3: expired", claims: { iat: now - 900, exp: now - 600 } },
  { name: "3: without an end", claims: { exp: undefined } as never },
  { name: "3: without a time of issue", claims: { iat: undefined } as never },
  { name: "3: from the future", claims: { iat: now + 600, exp: now + 900 } },
  { name: "4: about no one", claims: { sub: undefined } as never },
  { name: "4: about a number", claims: { sub: 7 } as never },
  { name: "5: without events", claims: { events: undefined } },
  { name: "5: with other events", claims: { events: { "http://other.test/event": {} } } },
  {
    name: "5: with an event that is no object",
    claims: {
      events: { "http://schemas.openid.net/event/backchannel-logout": true },
    },
  },
  { name: "5: with events in a list", claims: { events: ["http://schemas.openid.net/event/backchannel-logout"] } },
  { name: "6: with a nonce", claims: { nonce: "n" } },
  { name: "7: without jti", claims: { jti: undefined } as never },
  { name: "an ID token by its type", header: { typ: "id_token+jwt" } },
  { name: "an assertion by its type", header: { typ: "oauth-id-jag+jwt" } },
];

Deno.test("a logout token that breaks a rule ends nothing", async (t) => {
  await using place = await startWithAda();
  const ada = await connectAs(place, "ada");
  for (const { name, claims, header, isForeign = false } of attacks) {
    await t.step(name, async () => {
      place.provider.faults.header = header === undefined ? null : (usual) => ({ ...usual, ...header });
      const token = await place.provider.logoutToken({ sub: "ada", ...claims }, { isForeign });
      place.provider.faults.header = null;
      const { status, text } = await say(place, token);
      assert.equal(status, 400);
      assert.equal(JSON.parse(text).error, "invalid_request");
      assert.equal(place.harness.reasons().at(-1), "invalid_logout_token");
      assert.equal(await scopesNow(place, ada), both);
      assert.ok(!JSON.stringify(place.harness.lines).includes(token.slice(-40)), "the log has no part of it");
    });
  }
});

Deno.test("types that the specification leaves open are fine: none, JWT, logout+jwt", async () => {
  for (const typ of [undefined, "JWT", "logout+jwt", "application/logout+jwt"]) {
    await using place = await startWithAda();
    const ada = await connectAs(place, "ada");
    place.provider.faults.header = (usual) => ({ ...usual, typ });
    assert.equal((await say(place, await place.provider.logoutToken({ sub: "ada" }))).status, 200);
    assert.equal(await scopesNow(place, ada), null, String(typ));
  }
});

Deno.test("a logout token is good once: a replay does not end what began since", async () => {
  await using place = await startWithAda();
  await connectAs(place, "ada");
  const token = await place.provider.logoutToken({ sub: "ada" });
  assert.equal((await say(place, token)).status, 200);
  const again = await connectAs(place, "ada");
  assert.equal((await say(place, token)).status, 400);
  assert.equal(place.harness.reasons().at(-1), "replayed_logout_token");
  assert.equal(await scopesNow(place, again), both);
});

Deno.test("a logout of someone who is not here is no fault (§2.8)", async () => {
  await using place = await startWithAda();
  for (const claims of [{ sub: "eve" }, { sid: "a session of before" }]) {
    assert.equal((await say(place, await place.provider.logoutToken(claims))).status, 200);
  }
});

Deno.test("other requests are refused by their form", async () => {
  await using place = await startWithAda();
  const path = "/oauth/backchannel-logout";
  assert.equal((await place.harness.fetch(path)).status, 405);
  const json = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
  assert.equal((await place.harness.fetch(path, json)).status, 415);
  const large = { method: "POST", body: new URLSearchParams({ logout_token: "x".repeat(200_000) }) };
  assert.equal((await place.harness.fetch(path, large)).status, 413);
  assert.equal((await place.harness.fetch(path, { method: "POST", body: new URLSearchParams() })).status, 400);
  assert.equal((await say(place, "x.y.z")).status, 400);
});

Deno.test("while the provider is down its last keys count; without any, the logout fails and may be said again", async () => {
  await using place = await startWithAda();
  const token = await place.provider.logoutToken({ sub: "ada" });
  place.provider.faults.answer = broken.down;
  assert.equal((await say(place, token)).status, 400);
  place.provider.faults.answer = null;
  place.harness.time.now += 20_000;
  const ada = await connectAs(place, "ada");
  place.provider.faults.answer = broken.down;
  assert.equal((await say(place, token)).status, 200);
  assert.equal(await scopesNow(place, ada), null);
});

Deno.test("an assertion from before the logout is over with it", async () => {
  await using place = await startWithAda();
  const client = await addAsserting(place);
  const first = await bring(place, client, await place.provider.assertion(claimsFor(client)));
  const earlier = await place.provider.assertion(claimsFor(client));
  place.harness.time.now += 1_000;
  assert.equal((await say(place, await place.provider.logoutToken({ sub: "ada" }))).status, 200);
  assert.equal(await scopesNow(place, { accessToken: first.body.access_token }), null);
  assert.equal((await bring(place, client, earlier)).body.error, "invalid_grant");
  place.harness.time.now += 1_000;
  assert.equal((await bring(place, client, await place.provider.assertion(claimsFor(client)))).status, 200);
});
