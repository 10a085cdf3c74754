import assert from "node:assert/strict";
import { addUser } from "../../src/oauth/manage_users.ts";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { users } from "../../src/oauth/records.ts";
import {
  authorizePath,
  hiddenField,
  issuer,
  mount,
  openBrowser,
  passphrase,
  reachConsent,
  register,
  startHarness,
} from "./harness.ts";

async function openSignIn(harness: Awaited<ReturnType<typeof startHarness>>) {
  const client = await register(harness);
  const browser = openBrowser(harness);
  const page = await (await browser.get(authorizePath(client.client_id))).text();
  return { client, browser, request: hiddenField(page, "request") };
}

/** What is hashed with which costs until it is disposed of: how long that takes depends on nothing else. */
function watchHashing(): Disposable & { readonly seen: Record<string, unknown>[] } {
  const { deriveBits } = SubtleCrypto.prototype;
  const seen: Record<string, unknown>[] = [];
  SubtleCrypto.prototype.deriveBits = function (algorithm, key, bits) {
    const { nonce: _, ...costs } = algorithm as unknown as Record<string, unknown>;
    seen.push({ ...costs, bits });
    return deriveBits.call(this, algorithm, key, bits);
  };
  return { seen, [Symbol.dispose]: () => void (SubtleCrypto.prototype.deriveBits = deriveBits) };
}

Deno.test("sign-in answers 303, sets the session cookie, and the handle leads on (RFC 9700 §4.12)", async () => {
  await using harness = await startHarness();
  const { browser, request } = await openSignIn(harness);
  const response = await browser.post("/oauth/sign-in", { request, passphrase });
  assert.equal(response.status, 303);
  assert.equal(response.headers.get("location"), `/oauth/consent?request=${request}`);
  const cookie = response.headers.getSetCookie()[0] ?? "";
  assert.match(cookie, /^__Host-portcullis-session=[^;]+; Max-Age=28800; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
});

Deno.test("on plain http, which is loopback, cookies have no __Host- and no Secure", async () => {
  await using harness = await startHarness({ issuer: "http://127.0.0.1:3000" });
  const client = await register(harness);
  const browser = openBrowser(harness);
  const response = await browser.get(authorizePath(client.client_id));
  assert.match(
    response.headers.getSetCookie()[0] ?? "",
    /^portcullis-browser=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  await response.body?.cancel();
});

Deno.test("a wrong passphrase and an unknown user look alike, and cost the same hashing", async () => {
  await using harness = await startHarness({ ownerPasswordHash: await hashPassword(passphrase) });
  const { browser, request } = await openSignIn(harness);
  await browser.post("/oauth/sign-in", { request, username: "warm-up", passphrase: "x" });
  const attempt = async (username: string) => {
    using hashing = watchHashing();
    const response = await browser.post("/oauth/sign-in", { request, username, passphrase: "wrong" });
    const text = (await response.text()).replaceAll(username, "NAME");
    return { status: response.status, text, hashed: hashing.seen };
  };
  const known = await attempt("owner");
  const unknown = await attempt("nobody");
  assert.equal(known.status, 403);
  assert.match(known.text, /passphrase is wrong/);
  assert.deepEqual(known.hashed.map(({ name, bits }) => [name, bits]), [["Argon2id", 256]]);
  assert.deepEqual([unknown.status, unknown.hashed], [known.status, known.hashed]);
  assert.match(unknown.text, /passphrase is wrong/);
  assert.deepEqual(harness.reasons().slice(0, 3), ["unknown_user", "wrong_passphrase", "unknown_user"]);
});

Deno.test("a passphrase that was hashed without Argon2id is hashed anew at its next sign-in, and nothing ends by that", async () => {
  await using harness = await startHarness();
  const { storage, deps: { clock } } = harness;
  assert.ok((await addUser({ storage, clock }, { name: "bob", passphrase })).ok);
  const stored = await users.read(storage, "bob") ?? assert.fail();
  const outdated = { ...stored.value, passwordHash: await hashPassword(passphrase, "scrypt") };
  await storage.commit({ puts: [users.put("bob", outdated)] });

  const first = await openSignIn(harness);
  const signedIn = await first.browser.post("/oauth/sign-in", { request: first.request, username: "bob", passphrase });
  assert.equal(signedIn.status, 303);
  const renewed = await users.read(storage, "bob") ?? assert.fail();
  assert.match(renewed.value.passwordHash, /^\$argon2id\$/);
  assert.deepEqual({ ...renewed.value, passwordHash: "" }, { ...outdated, passwordHash: "" });
  const consent = await first.browser.get(signedIn.headers.get("location") ?? "");
  assert.match(await consent.text(), /bob/, "the session of that sign-in goes on");

  const second = await openSignIn(harness);
  const again = await second.browser.post("/oauth/sign-in", { request: second.request, username: "bob", passphrase });
  assert.equal(again.status, 303);
  assert.deepEqual(await users.read(storage, "bob"), renewed);
});

Deno.test("guessing slows down with a growing Retry-After, and always ends", async () => {
  await using harness = await startHarness();
  const { browser, request } = await openSignIn(harness);
  const attempt = (text: string) => browser.post("/oauth/sign-in", { request, passphrase: text });
  const waits: number[] = [];
  for (let count = 0; count < 9; count++) {
    const response = await attempt("wrong");
    const page = await response.text();
    if (response.status === 403) continue;
    assert.equal(response.status, 429);
    assert.match(page, /Too many attempts/);
    const seconds = Number(response.headers.get("retry-after"));
    assert.ok(seconds >= 1, "Retry-After says when");
    waits.push(seconds);
    harness.time.now += seconds * 1_000;
  }
  assert.ok(
    waits.length >= 2 && waits.every((wait, index) => index === 0 || wait >= (waits[index - 1] ?? 0)),
    `${waits}`,
  );
  harness.time.now += 300_000;
  const { request: fresh } = await openSignIn(harness).then(({ browser: other, request: handle }) => {
    other.cookies.forEach((value, name) => browser.cookies.set(name, value));
    return { request: handle };
  });
  assert.equal((await browser.post("/oauth/sign-in", { request: fresh, passphrase })).status, 303);
});

Deno.test("the addresses of one IPv6 network are counted as one, since one host has them all (RFC 4291 §2.5.4)", async () => {
  await using harness = await startHarness();
  const { browser, request } = await openSignIn(harness);
  const headers = {
    cookie: Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join("; "),
    "content-type": "application/x-www-form-urlencoded",
  };
  const statuses: unknown[] = [];
  const signIn = mount(harness.server)["/oauth/sign-in"];
  for (let host = 1; host <= 8; host++) {
    const body = new URLSearchParams({ request, passphrase: "wrong" });
    const guess = new Request(`${issuer}/oauth/sign-in`, { method: "POST", headers, body });
    statuses.push((await signIn?.(guess, { address: `2001:db8:1:2::${host}` }))?.status);
  }
  assert.deepEqual(statuses, [403, 403, 403, 403, 403, 403, 429, 429]);
});

Deno.test("parallel guesses gain nothing: the throttle counts from the beginning of an attempt", async () => {
  await using harness = await startHarness();
  const { browser, request } = await openSignIn(harness);
  const attempts = Array.from({ length: 30 }, () => browser.post("/oauth/sign-in", { request, passphrase: "wrong" }));
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  assert.ok(statuses.filter((status) => status === 403).length <= 6, `${statuses}`);
});

Deno.test("a session spares the passphrase, never the consent", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  const again = await (await browser.get(authorizePath(client.client_id))).text();
  assert.ok(!again.includes('name="passphrase"'));
  assert.match(again, /name="decision" value="allow"/);
});

Deno.test("a session ends with its lifetime", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  await reachConsent(browser, authorizePath(client.client_id));
  harness.time.now += 28_800_000;
  assert.match(await (await browser.get(authorizePath(client.client_id))).text(), /name="passphrase"/);
});

Deno.test("a session cookie that was planted before sign-in is replaced (session fixation)", async () => {
  await using harness = await startHarness();
  const { browser, request } = await openSignIn(harness);
  const planted = "A".repeat(43);
  browser.cookies.set("__Host-portcullis-session", planted);
  await browser.post("/oauth/sign-in", { request, passphrase });
  assert.notEqual(browser.cookies.get("__Host-portcullis-session"), planted);
});

Deno.test("a sign-in form without a waiting request of this browser is refused (login CSRF)", async () => {
  await using harness = await startHarness();
  const { request } = await openSignIn(harness);
  const stranger = openBrowser(harness);
  for (const handle of [request, "", "x".repeat(43)]) {
    const response = await stranger.post("/oauth/sign-in", { request: handle, passphrase });
    assert.equal(response.status, 403);
    assert.ok(!response.headers.getSetCookie().some((line) => line.includes("session")));
    await response.body?.cancel();
  }
});
