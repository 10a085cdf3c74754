import assert from "node:assert/strict";
import { addUser, disableUser, listUsers, setAdministrator } from "../../src/oauth/manage_users.ts";
import {
  authorizePath,
  type Harness,
  hiddenField,
  openBrowser,
  postLinkForm,
  register,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

const owner = { userId: "owner", isAdministrator: true, address: "192.0.2.1" };
const secret = "a passphrase of ada alone";

/** The code of a link for a new user, or for one whose passphrase is reset. */
async function inviteUser(harness: Harness, userId: string, kind: "new" | "reset" = "new"): Promise<string> {
  const { administration } = await harness.server.forConsole();
  const link = await administration.invite({ userId, kind }, owner);
  assert.ok(link.ok);
  return new URL(link.value).searchParams.get("code") ?? "";
}

function choose(browser: TestBrowser, code: string, passphrase = secret): Promise<Response> {
  return postLinkForm(browser, "/invitation", { code, passphrase, confirmation: passphrase });
}

async function consentOf(harness: Harness, browser: TestBrowser): Promise<string> {
  const { client_id } = await register(harness);
  return await (await browser.get(authorizePath(client_id))).text();
}

for (const kind of ["new", "reset"] as const) {
  Deno.test(`whoever chooses a passphrase by a link (${kind}) is signed in there, for consent and for the account`, async () => {
    await using harness = await startHarness();
    if (kind === "reset") await choose(openBrowser(harness), await inviteUser(harness, "ada"), "the first one of ada");
    const browser = openBrowser(harness);
    const code = await inviteUser(harness, "ada", kind);
    assert.equal((await browser.get(`/invitation?code=${code}`)).status, 200);
    const chosen = await choose(browser, code);
    assert.equal(chosen.status, 303);
    const ready = await (await browser.get(chosen.headers.get("location") ?? "")).text();
    assert.match(ready, /Signed in as <strong>ada/);
    assert.match(await (await browser.get("/oauth/grants")).text(), /Signed in as <strong>ada/);
    assert.match(await consentOf(harness, browser), /<dd>ada<\/dd>/);
    assert.match(await consentOf(harness, openBrowser(harness)), /<h1>Sign in/, "another browser is not signed in");
  });
}

Deno.test("whoever is disabled sets a passphrase by a link, and is not signed in", async () => {
  await using harness = await startHarness();
  await choose(openBrowser(harness), await inviteUser(harness, "ada"), "the first one of ada");
  await disableUser(harness.deps, "ada");
  const browser = openBrowser(harness);
  const chosen = await choose(browser, await inviteUser(harness, "ada", "reset"));
  assert.equal(chosen.status, 403);
  assert.match(await chosen.text(), /Your account is disabled/);
  assert.ok(!browser.cookies.has("__Host-portcullis-session"));
});

Deno.test("a link signs in once, whoever posts its form again", async () => {
  await using harness = await startHarness();
  const code = await inviteUser(harness, "ada");
  const browser = openBrowser(harness);
  assert.equal((await choose(browser, code)).status, 303);
  assert.equal((await choose(browser, code)).status, 403);
  const stranger = openBrowser(harness);
  assert.equal((await choose(stranger, code, "another passphrase of ada")).status, 403);
  assert.equal((await stranger.get(`/invitation?code=${code}`)).status, 403);
  assert.equal((await choose(stranger, code)).status, 403);
  assert.match(await (await stranger.get("/oauth/grants")).text(), /<h1>Sign in/);
  const outcomes = harness.lines.flatMap(({ event, fields }) => event === "invitation" ? [fields["outcome"]] : []);
  assert.equal(outcomes.filter((outcome) => outcome === "new").length, 1);
});

Deno.test("of two who choose with one link at once, one is signed in", async () => {
  await using harness = await startHarness();
  const code = await inviteUser(harness, "ada");
  const rivals = await Promise.all(
    ["one passphrase of a rival", "two passphrases of rivals"].map((each) => choose(openBrowser(harness), code, each)),
  );
  assert.deepEqual(rivals.map(({ status }) => status).sort(), [303, 403]);
});

Deno.test("the session is a new one, and the one that was there before has ended (session fixation)", async () => {
  await using harness = await startHarness();
  const planted = openBrowser(harness);
  await choose(planted, await inviteUser(harness, "eve"), "a passphrase of eve alone");
  const before = planted.cookies.get("__Host-portcullis-session");
  assert.ok(before !== undefined);
  await choose(planted, await inviteUser(harness, "ada"));
  assert.notEqual(planted.cookies.get("__Host-portcullis-session"), before);
  const attacker = openBrowser(harness);
  attacker.cookies.set("__Host-portcullis-session", before);
  assert.match(await (await attacker.get("/oauth/grants")).text(), /<h1>Sign in/);
});

Deno.test("a link's form counts only from the browser that was sent it (login CSRF), whatever headers tell", async () => {
  await using harness = await startHarness();
  const code = await inviteUser(harness, "eve");
  const own = openBrowser(harness);
  const page = await (await own.get(`/invitation?code=${code}`)).text();
  const form = { code, passphrase: secret, confirmation: secret };
  const victim = openBrowser(harness);
  await (await victim.get("/oauth/grants")).body?.cancel(); // a browser that knows this server
  for (const csrf of [{}, { csrf: "" }, { csrf: hiddenField(page, "csrf") }]) {
    assert.equal((await victim.post("/invitation", { ...form, ...csrf })).status, 403);
    assert.equal((await openBrowser(harness).post("/invitation", { ...form, ...csrf })).status, 403);
  }
  assert.ok(!victim.cookies.has("__Host-portcullis-session"));
  assert.equal((await own.post("/invitation", { ...form, csrf: hiddenField(page, "csrf") })).status, 303);
});

for (const setUp of [true, false]) {
  const where = setUp ? "whose passphrase the settings give" : "who is not there yet";
  Deno.test(`nobody is invited or added as the owner ${where}, and no link that is out makes them one`, async () => {
    await using harness = await startHarness({ setUp });
    await addUser(harness.deps, { name: "ada", passphrase: "a passphrase of ada alone" });
    await setAdministrator(harness.deps, { name: "ada", administrator: true });
    const ada = { userId: "ada", isAdministrator: true, address: "192.0.2.1" };
    const { administration } = await harness.server.forConsole();
    const invited = await administration.invite({ userId: "owner", kind: "new" }, ada);
    assert.ok(!invited.ok && invited.error.message.startsWith("owner is the name of"));
    assert.ok(!(await addUser(harness.deps, { name: "owner", passphrase: secret })).ok);
    const earlier = await administration.invite({ userId: "ben", kind: "new" }, ada);
    assert.ok(earlier.ok);
    const code = new URL(earlier.value).searchParams.get("code") ?? "";
    const [link] = await harness.storage.list(["invitation"], { limit: 1 });
    assert.ok(link !== undefined);
    const value = { ...link.value as Record<string, unknown>, userId: "owner" };
    assert.ok(await harness.storage.commit({ puts: [{ key: link.key, value }] }));
    assert.deepEqual(await administration.invitations(), []);
    const browser = openBrowser(harness);
    assert.equal((await browser.get(`/invitation?code=${code}`)).status, 403);
    assert.equal((await browser.post("/invitation", { code, passphrase: secret, confirmation: secret })).status, 403);
    assert.deepEqual((await listUsers(harness.deps)).map(({ id }) => id), ["ada"]);
  });
}
