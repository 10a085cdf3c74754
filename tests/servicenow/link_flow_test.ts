import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { sysId } from "../fixtures/servicenow/world.ts";
import { browser, openPlace, type Place, redirectUri } from "./place.ts";

const signal = new AbortController().signal;
const otherBrowser = "c".repeat(43);

async function callbackOf(place: Place, user = "ada"): Promise<URLSearchParams> {
  const { url } = await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  return new URL(await place.instance.approve(url, user)).searchParams;
}

Deno.test("begin() asks with state and PKCE S256, and puts no secret into the URL (RFC 7636 §4.3)", async () => {
  await using place = await openPlace();
  const { url } = await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  const { origin, pathname, searchParams } = new URL(url);
  assert.equal(origin + pathname, `${place.instance.origin}/oauth_auth.do`);
  assert.equal(searchParams.get("response_type"), "code");
  assert.equal(searchParams.get("redirect_uri"), redirectUri);
  assert.equal(searchParams.get("code_challenge_method"), "S256");
  assert.match(searchParams.get("code_challenge") ?? "", /^[A-Za-z0-9_-]{43}$/);
  assert.match(searchParams.get("state") ?? "", /^[A-Za-z0-9_-]{43}$/);
  assert.ok(!url.includes(place.instance.client.clientSecret));
  const again = await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  assert.notEqual(new URL(again.url).searchParams.get("state"), searchParams.get("state"));
});

Deno.test("finish() links the account that signed in at the instance", async () => {
  await using place = await openPlace();
  const parameters = await callbackOf(place);
  const finished = await place.servicenow.signIn.finish({
    parameters,
    browsers: [browser],
    subject: "owner",
    signal,
  });
  const account = { sysId: sysId("a1"), userName: "ada", name: "Ada Lovelace" };
  assert.deepEqual(finished, {
    ok: true,
    value: { purpose: { kind: "link", subject: "owner" }, subject: "owner", account },
  });
  assert.deepEqual(await place.servicenow.links.status("owner"), { state: "linked", account });
});

Deno.test("finish() of a sign-in names the person by their account", async () => {
  await using place = await openPlace();
  const purpose = { kind: "sign_in", handle: "authorization request 7" } as const;
  const { url } = await place.servicenow.signIn.begin({ browser, purpose });
  const parameters = new URL(await place.instance.approve(url, "ben")).searchParams;
  const finished = await place.servicenow.signIn.finish({ parameters, browsers: [browser], subject: null, signal });
  assert.ok(finished.ok);
  assert.deepEqual(finished.value.purpose, purpose);
  assert.equal(finished.value.subject, `servicenow:${sysId("b2")}`);
  assert.equal((await place.servicenow.links.status(finished.value.subject)).state, "linked");
});

Deno.test("finish() refuses any browser but the one that began (CVE-2026-27124)", async () => {
  await using place = await openPlace();
  for (const browsers of [[otherBrowser], []]) {
    const parameters = await callbackOf(place);
    const finished = await place.servicenow.signIn.finish({
      parameters,
      browsers,
      subject: "owner",
      signal,
    });
    assert.deepEqual(finished, { ok: false, error: { reason: "other_browser" } });
    const late = await place.servicenow.signIn.finish({ parameters, browsers: [browser], subject: "owner", signal });
    assert.deepEqual(late, { ok: false, error: { reason: "unknown_state" } });
  }
  assert.equal(place.instance.requests.filter(({ grantType }) => grantType !== null).length, 0);
  assert.deepEqual(await place.servicenow.links.status("owner"), { state: "none" });
});

Deno.test("finish() refuses another person than the one who began", async () => {
  await using place = await openPlace();
  for (const subject of ["somebody else", null]) {
    const parameters = await callbackOf(place);
    const finished = await place.servicenow.signIn.finish({ parameters, browsers: [browser], subject, signal });
    assert.deepEqual(finished, { ok: false, error: { reason: "other_person" } });
  }
});

Deno.test("finish() takes a state once, in time, and in one instance of the server only", async () => {
  await using place = await openPlace();
  const parameters = await callbackOf(place);
  const other = place.another();
  const outcomes = await Promise.all(
    [place.servicenow, other, place.servicenow, other].map(({ signIn }) =>
      signIn.finish({ parameters, browsers: [browser], subject: "owner", signal })
    ),
  );
  assert.equal(outcomes.filter(({ ok }) => ok).length, 1);
  const late = await callbackOf(place);
  place.advance(600);
  const finished = await place.servicenow.signIn.finish({
    parameters: late,
    browsers: [browser],
    subject: "owner",
    signal,
  });
  assert.deepEqual(finished, { ok: false, error: { reason: "unknown_state" } });
});

Deno.test("finish() refuses a code that was begun elsewhere: the verifier does not fit (RFC 7636 §4.6)", async () => {
  await using place = await openPlace();
  const mine = await callbackOf(place);
  const strange = await callbackOf(place, "ben");
  mine.set("code", strange.get("code") ?? "");
  const finished = await place.servicenow.signIn.finish({
    parameters: mine,
    browsers: [browser],
    subject: "owner",
    signal,
  });
  assert.deepEqual(finished, { ok: false, error: { reason: "code_refused" } });
});

Deno.test("finish() tells a person's no from a broken callback", async () => {
  await using place = await openPlace();
  const { url } = await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  const denied = new URL(await place.instance.approve(url, "ada", "deny")).searchParams;
  const { signIn } = place.servicenow;
  const finish = (parameters: URLSearchParams) =>
    signIn.finish({ parameters, browsers: [browser], subject: "owner", signal });
  assert.deepEqual(await finish(denied), { ok: false, error: { reason: "denied" } });
  assert.deepEqual(await finish(new URLSearchParams()), { ok: false, error: { reason: "malformed" } });
  assert.deepEqual(await finish(new URLSearchParams("state=x&code=y")), { ok: false, error: { reason: "malformed" } });
  const unknown = new URLSearchParams({ state: "z".repeat(43), code: "y" });
  assert.deepEqual(await finish(unknown), { ok: false, error: { reason: "unknown_state" } });
  const twice = await callbackOf(place);
  twice.append("code", "another");
  assert.deepEqual(await finish(twice), { ok: false, error: { reason: "malformed" } }); // RFC 6749 §3.1
});

Deno.test("finish() says when the instance is not there, and links nothing", async () => {
  for (
    const [fault, path] of [
      ["hibernating", /^\/oauth_token/],
      ["reset", /^\/oauth_token/],
      ["hibernating", /^\/api\//],
    ] as const
  ) {
    await using place = await openPlace();
    const parameters = await callbackOf(place);
    place.instance.faults.play(fault, { path, times: 9 });
    const finished = await place.servicenow.signIn.finish({
      parameters,
      browsers: [browser],
      subject: "owner",
      signal,
    });
    assert.equal(!finished.ok && finished.error.reason, "unavailable");
    assert.deepEqual(await place.servicenow.links.status("owner"), { state: "none" });
  }
});

Deno.test("finish() tells an instance that refuses the new token or its rights from one that is not there", async () => {
  for (
    const [fault, reason] of [
      ["unauthorized", "code_refused"],
      ["api_forbidden", "denied"],
      ["not_found", "denied"],
      ["bad_gateway", "unavailable"],
    ] as const
  ) {
    await using place = await openPlace();
    const parameters = await callbackOf(place);
    place.instance.faults.play(fault, { times: 9 });
    const finished = await place.servicenow.signIn.finish({
      parameters,
      browsers: [browser],
      subject: "owner",
      signal,
    });
    assert.deepEqual(finished, { ok: false, error: { reason } }, fault);
    assert.deepEqual(await place.servicenow.links.status("owner"), { state: "none" });
  }
});

Deno.test("finish() asks for the user's own record where the current user cannot be asked for", async () => {
  await using place = await openPlace();
  const parameters = await callbackOf(place, "ben");
  place.instance.faults.play("not_found", { path: /current_user$/ });
  const finished = await place.servicenow.signIn.finish({
    parameters,
    browsers: [browser],
    subject: "owner",
    signal,
  });
  assert.equal(finished.ok && finished.value.account.userName, "ben");
});

Deno.test("what waits between the steps says neither the verifier nor for whom", async () => {
  await using place = await openPlace();
  const { url } = await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  const [entry] = await place.storage.list(["servicenow_link_state"], { limit: 2 });
  const challenge = new URL(url).searchParams.get("code_challenge");
  const texts = JSON.stringify(entry).match(/[A-Za-z0-9_-]{43,}/g) ?? [];
  assert.ok(texts.length > 0);
  assert.ok(!JSON.stringify(entry).includes("owner"));
  for (const text of texts) assert.notEqual(createHash("sha256").update(text).digest("base64url"), challenge);
});

Deno.test("finish() refuses an answer that names another issuer, and takes the instance's own (RFC 9207 §2.4)", async () => {
  await using place = await openPlace();
  const finish = async (issuers: readonly string[]) => {
    const parameters = await callbackOf(place);
    for (const issuer of issuers) parameters.append("iss", issuer);
    const finished = await place.servicenow.signIn.finish({
      parameters,
      browsers: [browser],
      subject: "owner",
      signal,
    });
    return finished.ok ? "linked" : finished.error.reason;
  };
  const { origin } = place.instance;
  for (const foreign of [["https://evil.test"], [`${origin}.evil.test`], [""], [origin, "https://evil.test"]]) {
    assert.equal(await finish(foreign), "malformed", foreign.join());
  }
  assert.equal(place.instance.requests.filter(({ grantType }) => grantType !== null).length, 0);
  assert.equal(await finish([origin]), "linked");
});
