/** A consent page for ServiceNow scopes offers to link an account first. */
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

function chooseLink(browser: TestBrowser, page: string): Promise<Response> {
  const fields = ["request", "account", "proof"].map((name) => [name, hiddenField(page, name)] as const);
  return browser.post("/oauth/consent", [...fields, ["decision", "link"]]);
}

async function openConsent(place: SignInPlace, browser: TestBrowser) {
  const client = await register(place.harness);
  return { client, page: await reachConsent(browser, authorizePath(client.client_id, { scope })) };
}

Deno.test("link offer: it leads to the instance, back to the consent page, and from there to the client with a code", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { client, page } = await openConsent(place, browser);
  assert.match(page, /<dt>ServiceNow account<\/dt>\s*<dd>Not linked yet/);
  assert.match(page, /Link your ServiceNow account first/);
  const sent = await chooseLink(browser, page);
  place.harness.time.now += 500_000; // nearly as long as a visit may take
  const back = await browser.get(await callbackPath(place, sent, "ada"));
  assert.match(back.headers.get("location") ?? "", /^\/oauth\/consent\?request=/);
  assert.equal((await place.servicenow.links.status("owner")).state, "linked");
  place.harness.time.now += 500_000; // longer than an unanswered request waits without it
  const again = await (await browser.get(back.headers.get("location") ?? "")).text();
  assert.match(again, /Ada Lovelace \(ada\)/);
  assert.doesNotMatch(again, /Link your ServiceNow account/);
  const left = await decide(browser, again);
  assert.ok(locationOf(left).href.startsWith(redirectUri));
  const { status, body } = await redeem(place.harness, client, locationOf(left).searchParams.get("code") ?? "");
  assert.deepEqual([status, body.scope], [200, scope]);
});

Deno.test("link offer: Allow goes on to the client without it, and nothing is offered where no scope needs it", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { client, page } = await openConsent(place, browser);
  assert.ok(locationOf(await decide(browser, page)).searchParams.has("code"));
  assert.equal(place.instance.requests.length, 0);
  const withoutIt = await reachConsent(browser, authorizePath(client.client_id, { scope: "files:read" }));
  assert.doesNotMatch(withoutIt, /ServiceNow/);
});

Deno.test("link offer: a refusal at the instance leads back to the consent page", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { page } = await openConsent(place, browser);
  const sent = await (await chooseLink(browser, page)).text();
  const url = /<a href="([^"]+)">/.exec(sent)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const callback = new URL(await place.instance.approve(url, "ada", "deny"));
  const refused = await browser.get(callback.pathname + callback.search);
  assert.equal(refused.status, 403);
  const onward = /<a href="(\/oauth\/consent\?request=[^"]+)">/.exec(await refused.text())?.[1] ?? "";
  const again = await (await browser.get(onward)).text();
  assert.ok(locationOf(await decide(browser, again)).searchParams.has("code"));
});

Deno.test("link offer: it is no answer, and neither another browser nor an answered page can choose it", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const { page } = await openConsent(place, browser);
  assert.equal((await chooseLink(place.browser(), page)).status, 403, "another browser");
  assert.equal((await chooseLink(browser, page)).status, 200);
  assert.equal(
    locationOf(await decide(browser, page, { decision: "deny" })).searchParams.get("error"),
    "access_denied",
  );
  assert.equal((await chooseLink(browser, page)).status, 403, "answered");
  const { page: late } = await openConsent(place, browser);
  assert.equal((await chooseLink(browser, late)).status, 200);
  place.harness.time.now += 1_300_000;
  assert.notEqual((await decide(browser, late)).status, 303, "a request does not wait for ever");
});
