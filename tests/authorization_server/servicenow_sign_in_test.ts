import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createRecordReader } from "../../src/servicenow/servicenow_offer.ts";
import { noPassphrase, users } from "../../src/oauth/records.ts";
import { sysId } from "../fixtures/servicenow/world.ts";
import { callerOf } from "../servicenow/place.ts";
import { callbackPath, linkTo, openSignInPlace, signedInOwner, type SignInPlace } from "./servicenow_place.ts";
import {
  authorizePath,
  decide,
  fetchFrom,
  hiddenField,
  issuer,
  locationOf,
  mount,
  openBrowser,
  passphrase,
  reachConsent,
  redeem,
  register,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

async function signInByInstance(place: SignInPlace, browser: TestBrowser, path: string, user: string): Promise<string> {
  const back = await browser.get(await callbackPath(place, await browser.get(path), user));
  assert.equal(back.status, 303, await back.text());
  const page = await browser.get(back.headers.get("location") ?? "");
  assert.equal(page.status, 200);
  return await page.text();
}

Deno.test("mode servicenow: people sign in at the instance, consent here, and the grant is theirs", async () => {
  await using place = await openSignInPlace(true);
  const client = await register(place.harness);
  const path = authorizePath(client.client_id, { scope: "files:read servicenow:read" });
  const subjects: string[] = [];
  for (const [user, name, id] of [["ada", "Ada Lovelace", "a1"], ["ben", "Ben Bitdiddle", "b2"]] as const) {
    const browser = place.browser();
    const consent = await signInByInstance(place, browser, path, user);
    assert.match(consent, new RegExp(`<dd>${name}</dd>`));
    assert.match(consent, /Read the ServiceNow records that you may see/);
    const code = locationOf(await decide(browser, consent)).searchParams.get("code");
    const { status, body } = await redeem(place.harness, client, code ?? "");
    assert.equal(status, 200);
    assert.equal(body.scope, "files:read servicenow:read");
    const verified = await place.harness.server.verifier.verify(body.access_token);
    const subject = verified.ok ? verified.value.subject : "";
    assert.equal(subject, `servicenow:${sysId(id)}`);
    subjects.push(subject);
  }
  const [ada = "", ben = ""] = subjects;
  const reader = createRecordReader(place.servicenow);
  assert.ok((await reader.read("change_request", "CHG0030001", callerOf(ada))).ok);
  const refused = await reader.read("change_request", "CHG0030001", callerOf(ben));
  assert.equal(!refused.ok && refused.error.reason, "forbidden");
});

Deno.test("mode servicenow: a session spares the visit to the instance, never the consent", async () => {
  await using place = await openSignInPlace(true);
  const client = await register(place.harness);
  const browser = place.browser();
  await signInByInstance(place, browser, authorizePath(client.client_id), "ada");
  const again = await browser.get(authorizePath(client.client_id));
  assert.equal(again.status, 200);
  assert.match(await again.text(), /wants access/);
  const forced = await browser.get(authorizePath(client.client_id, { prompt: "login" }));
  assert.equal(forced.status, 302);
});

Deno.test("the callback is refused in any browser but the one that was sent (CVE-2026-27124)", async () => {
  await using place = await openSignInPlace(true);
  const client = await register(place.harness);
  const victim = place.browser();
  const attacker = place.browser();
  const path = await callbackPath(place, await attacker.get(authorizePath(client.client_id)), "ada");
  const answer = await victim.get(path);
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /started in another browser/);
  assert.equal(victim.cookies.size, 0);
  assert.ok(place.harness.reasons().includes("other_browser"));
  const late = await attacker.get(path);
  assert.equal(late.status, 403);
  assert.match(await late.text(), /no longer open/);
  assert.equal(await users.read(place.harness.storage, `servicenow:${sysId("a1")}`), null);
});

Deno.test("mode servicenow: passphrases are not taken", async () => {
  await using place = await openSignInPlace(true);
  const answer = await place.browser().post("/oauth/sign-in", { request: "x", passphrase });
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /Sign-in happens elsewhere/);
  const { administration } = await place.harness.server.forConsole();
  const maker = { userId: "owner", isAdministrator: true, address: "192.0.2.1" };
  const link = await administration.invite({ userId: "eve", kind: "new" }, maker);
  assert.ok(link.ok);
  const code = new URL(link.value).searchParams.get("code") ?? "";
  const browser = place.browser();
  const chosen = await browser.post("/invitation", { code, passphrase, confirmation: passphrase });
  assert.equal(chosen.status, 403, "an invitation is no way around");
  assert.match(await chosen.text(), /Sign-in happens elsewhere/);
  assert.ok(!browser.cookies.has("__Host-portcullis-session"));
});

Deno.test("mode servicenow: no passphrase fits the account that a first sign-in makes", async () => {
  await using place = await openSignInPlace(true);
  const client = await register(place.harness);
  await signInByInstance(place, place.browser(), authorizePath(client.client_id), "ada");
  const stored = await users.read(place.harness.storage, `servicenow:${sysId("a1")}`);
  assert.equal(stored?.value.displayName, "Ada Lovelace");
  assert.equal(stored?.value.passwordHash, noPassphrase);
  const { servicenow: _, ...local } = place.harness.deps;
  const browser = openBrowser({ fetch: fetchFrom(mount(createAuthorizationServer(local)), issuer) });
  const csrf = hiddenField(await (await browser.get("/oauth/grants")).text(), "csrf");
  for (const guess of ["", "ada", passphrase]) {
    const answer = await browser.post("/oauth/sign-in", { csrf, username: stored?.value.id ?? "", passphrase: guess });
    assert.equal(answer.status, 403, await answer.text());
  }
});

Deno.test("mode servicenow: somebody disabled here does not come in, and leaves no tokens", async () => {
  await using place = await openSignInPlace(true);
  const client = await register(place.harness);
  const id = `servicenow:${sysId("a1")}`;
  await signInByInstance(place, place.browser(), authorizePath(client.client_id), "ada");
  const stored = await users.read(place.harness.storage, id);
  assert.ok(stored);
  await place.harness.storage.commit({ puts: [users.put(id, { ...stored.value, disabled: true })] });
  const browser = place.browser();
  const path = await callbackPath(place, await browser.get(authorizePath(client.client_id)), "ada");
  const answer = await browser.get(path);
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /disabled on this server/);
  assert.equal([...browser.cookies.keys()].some((name) => name.includes("session")), false);
  assert.deepEqual(await place.servicenow.links.status(id), { state: "none" });
});

Deno.test("mode servicenow: the pages about the account lead through the instance and back", async () => {
  await using place = await openSignInPlace(true);
  for (
    const [path, words] of [["/oauth/grants", /<h1>Access</], ["/servicenow/link", /Ada Lovelace \(ada\)/]] as const
  ) {
    assert.match(await signInByInstance(place, place.browser(), path, "ada"), words);
  }
});

Deno.test("mode servicenow: a form of someone signed out leads to the instance without a redirect, and carries Stop there", async () => {
  await using place = await openSignInPlace(true);
  const browser = place.browser();
  const page = await signInByInstance(place, browser, "/servicenow/link", "ada");
  const { visits } = await place.harness.server.forConsole();
  const headers = () => ({ cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ") });
  const body = new URLSearchParams({ csrf: hiddenField(page, "csrf"), act: "stop" });
  place.harness.time.now += 9 * 3_600_000;
  const post = new Request(`${issuer}/console/activity`, { method: "POST", headers: headers(), body });
  const asked = await visits.readForm(post, "console/activity", (act) => act === "stop");
  assert.ok(!asked.ok);
  assert.equal(asked.error.status, 200, "Chromium would hold a redirect to the page's form-action");
  const back = await browser.get(await callbackPath(place, asked.error, "ada"));
  const location = back.headers.get("location") ?? "";
  assert.match(location, /^\/console\/activity\?act=stop&/);
  const visit = new Request(issuer + location, { headers: headers() });
  assert.ok((await visits.enter(visit, "console/activity")).ok);
  assert.equal(visits.carriedAct(visit, "console/activity"), "stop");
  assert.equal(visits.carriedAct(visit, "console/rules"), null);
});

Deno.test("mode local: a signed-in person links an account, sees it, and ends the link", async () => {
  await using place = await openSignInPlace(false);
  const browser = place.browser();
  const signIn = await browser.get("/servicenow/link");
  assert.equal(signIn.status, 200);
  const form = await signIn.text();
  const action = /action="([^"]+)"/.exec(form)?.[1] ?? "";
  const signedIn = await browser.post(action, { csrf: hiddenField(form, "csrf"), passphrase });
  assert.equal(signedIn.headers.get("location"), "/servicenow/link");
  const before = await (await browser.get("/servicenow/link")).text();
  assert.match(before, /Not linked/);

  const sent = await browser.post("/servicenow/link", { csrf: hiddenField(before, "csrf"), action: "link" });
  // No redirect: Chromium holds those that follow a form to its page's form-action, the instance's own to an SSO too.
  assert.equal(sent.status, 200);
  assert.match(sent.headers.get("refresh") ?? "", new RegExp(`^0; url=${place.instance.origin}/oauth_auth.do`));
  const back = await browser.get(await callbackPath(place, sent, "ben"));
  assert.equal(back.headers.get("location"), "/servicenow/link");
  const linked = await browser.get("/servicenow/link");
  const page = await linked.text();
  assert.match(page, /Ben Bitdiddle \(ben\)/);
  const profile = await createRecordReader(place.servicenow).me(callerOf("owner"));
  assert.equal(profile.ok && profile.value.fields["user_name"], "ben");

  const unlinked = await browser.post("/servicenow/link", { csrf: hiddenField(page, "csrf"), action: "unlink" });
  assert.equal(unlinked.status, 303);
  assert.match(await (await browser.get("/servicenow/link")).text(), /Not linked/);
});

Deno.test("the link page takes no form from elsewhere, and nothing from somebody who is not signed in", async () => {
  await using place = await openSignInPlace(false);
  const stranger = await place.browser().post("/servicenow/link", { csrf: "x", action: "link" });
  assert.equal(stranger.headers.get("location"), "/servicenow/link");
  const browser = await signedInOwner(place);
  const forged = await browser.post("/servicenow/link", { csrf: "x".repeat(43), action: "unlink" });
  assert.equal(forged.status, 403);
  assert.equal(place.instance.requests.length, 0);
});

Deno.test("mode local: whoever signs in meanwhile does not get the other one's account linked", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const page = await (await browser.get("/servicenow/link")).text();
  const sent = await browser.post("/servicenow/link", { csrf: hiddenField(page, "csrf"), action: "link" });
  const path = await callbackPath(place, sent, "ada");
  for (const name of [...browser.cookies.keys()]) if (name.includes("session")) browser.cookies.delete(name);
  const answer = await browser.get(path);
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /Another user is signed in here now/);
  assert.deepEqual(await place.servicenow.links.status("owner"), { state: "none" });
});

Deno.test("the callback says what went wrong at the instance, and shows nothing of the code", async () => {
  await using place = await openSignInPlace(false);
  const browser = await signedInOwner(place);
  const begin = async (): Promise<string> => {
    const page = await (await browser.get("/servicenow/link")).text();
    const sent = await browser.post("/servicenow/link", { csrf: hiddenField(page, "csrf"), action: "link" });
    return linkTo(place.instance.origin, await sent.text());
  };
  const returnOf = async (decision: "allow" | "deny"): Promise<URL> =>
    new URL(await place.instance.approve(await begin(), "ada", decision));
  const denied = await returnOf("deny");
  const refused = await browser.get(denied.pathname + denied.search);
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /ServiceNow did not let you in/);
  const allowed = await returnOf("allow");
  place.instance.faults.play("hibernating", { path: /^\/oauth_token/ });
  const asleep = await browser.get(allowed.pathname + allowed.search);
  assert.equal(asleep.status, 503);
  const text = await asleep.text();
  assert.ok(!text.includes(allowed.searchParams.get("code") ?? "?"));
  assert.equal((await browser.get("/servicenow/callback?code=x")).status, 400);
  assert.equal((await browser.post("/servicenow/callback", { code: "x" })).status, 405);
  assert.equal((await browser.get(`/servicenow/callback?state=${"x".repeat(9_000)}`)).status, 414);
  assert.ok(!JSON.stringify(place.harness.lines).includes(allowed.searchParams.get("code") ?? "?"));
});

Deno.test("without an instance nothing of it is offered", async () => {
  await using harness = await startHarness();
  assert.ok(harness.server.routes.every(({ paths: [path] }) => !path.startsWith("/servicenow")));
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  assert.deepEqual(metadata.scopes_supported, ["files:read", "files:write", "llm:generate"]);
});

Deno.test("scopes that this installation does not offer are left out of a request", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  for (const scope of ["files:read servicenow:write", "servicenow:read"]) {
    const page = await reachConsent(openBrowser(harness), authorizePath(client.client_id, { scope }));
    assert.match(page, /value="files:read"/);
    assert.doesNotMatch(page, /servicenow:/);
  }
});
