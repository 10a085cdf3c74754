/** After consent to ServiceNow scopes, people are offered to link an account before they go back to the client. */
import assert from "node:assert/strict";
import {
  authorizePath,
  decide,
  hiddenField,
  locationOf,
  reachConsent,
  redeem,
  redirectUri,
  register,
  type TestBrowser,
} from "./harness.ts";
import { callbackPath, openSignInPlace, signedInOwner, type SignInPlace } from "./servicenow_place.ts";

const scope = "files:read servicenow:read";

function choose(browser: TestBrowser, offer: string, decision: "link" | "later" | "deny"): Promise<Response> {
  const fields = ["request", "account", "proof"].map((name) => [name, hiddenField(offer, name)] as const);
  return browser.post("/oauth/consent", [...fields, ["decision", decision]]);
}

async function reachOffer(place: SignInPlace, browser: TestBrowser): Promise<{ consent: string; offer: string }> {
  const client = await register(place.harness);
  const consent = await reachConsent(browser, authorizePath(client.client_id, { scope }));
  const answer = await decide(browser, consent);
  assert.equal(answer.status, 200);
  return { consent, offer: await answer.text() };
}

Deno.test("link offer: consent to servicenow:read leads to the instance, and from there to the client with a code", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const client = await register(place.harness);
  const consent = await reachConsent(browser, authorizePath(client.client_id, { scope }));
  assert.match(consent, /<dt>ServiceNow account<\/dt>\s*<dd>Not linked yet/);
  const offer = await (await decide(browser, consent)).text();
  assert.match(offer, /<h1>Link your ServiceNow account<\/h1>/);
  assert.match(offer, /Link your ServiceNow account now[\s\S]*Later/);
  const sent = await choose(browser, offer, "link");
  place.harness.time.now += 500_000; // nearly as long as a visit may take, and longer than a code lives
  const back = await browser.get(await callbackPath(place, sent, "ada"));
  assert.match(back.headers.get("location") ?? "", /^\/oauth\/consent\?request=/);
  const left = await browser.get(back.headers.get("location") ?? "");
  assert.equal(left.status, 303);
  assert.ok(locationOf(left).href.startsWith(redirectUri));
  const again = await browser.get(back.headers.get("location") ?? "");
  assert.equal(locationOf(again).href, locationOf(left).href, "a reload gets the same answer");
  const { status, body } = await redeem(place.harness, client, locationOf(left).searchParams.get("code") ?? "");
  assert.deepEqual([status, body.scope], [200, scope]);
  assert.equal((await place.servicenow.links.status("owner")).state, "linked");

  const second = await reachConsent(browser, authorizePath(client.client_id, { scope }));
  assert.match(second, /Ada Lovelace \(ada\)/);
  assert.equal((await decide(browser, second)).status, 303, "a linked account is not asked for again");
});

Deno.test("link offer: Later goes on to the client, twice with the same code, and without ServiceNow nothing is offered", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { offer } = await reachOffer(place, browser);
  const [one, two] = [await choose(browser, offer, "later"), await choose(browser, offer, "later")];
  assert.equal(one.status, 303);
  assert.ok(locationOf(one).searchParams.has("code"));
  assert.equal(locationOf(two).href, locationOf(one).href);
  assert.equal(place.instance.requests.length, 0);

  const client = await register(place.harness);
  const consent = await reachConsent(browser, authorizePath(client.client_id, { scope }));
  const withoutIt = await decide(browser, consent, { scopes: ["files:read"] });
  assert.ok(locationOf(withoutIt).searchParams.has("code"));
});

Deno.test("link offer: Allow sent twice shows the offer twice, and the choice can still be changed to Deny", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { consent } = await reachOffer(place, browser);
  const both = await Promise.all([decide(browser, consent), decide(browser, consent)]);
  for (const answer of both) assert.match(await answer.text(), /Link your ServiceNow account now/);
  const denied = await decide(browser, consent, { decision: "deny" });
  assert.equal(locationOf(denied).searchParams.get("error"), "access_denied");
});

Deno.test("link offer: a refusal at the instance leads back to the offer", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { offer } = await reachOffer(place, browser);
  const sent = await (await choose(browser, offer, "link")).text();
  const url = /<a href="([^"]+)">/.exec(sent)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const callback = new URL(await place.instance.approve(url, "ada", "deny"));
  const refused = await browser.get(callback.pathname + callback.search);
  assert.equal(refused.status, 403);
  const onward = /<a href="(\/oauth\/consent\?request=[^"]+)">/.exec(await refused.text())?.[1] ?? "";
  const again = await (await browser.get(onward)).text();
  const left = await choose(browser, again, "later");
  assert.ok(locationOf(left).searchParams.has("code"));
});

Deno.test("link offer: Link and Later do nothing without an approval of the same person", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const client = await register(place.harness);
  const consent = await reachConsent(browser, authorizePath(client.client_id, { scope }));
  for (const decision of ["link", "later"] as const) {
    const answer = await choose(browser, consent, decision);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /wants access/);
  }
  const { offer } = await reachOffer(place, browser);
  const foreign = await choose(place.browser(), offer, "later");
  assert.notEqual(foreign.status, 303, "another browser");
  place.harness.time.now += 1_300_000;
  assert.notEqual((await choose(browser, offer, "later")).status, 303, "an approval does not wait for ever");
});
