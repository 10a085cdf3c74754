import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import {
  authorizePath,
  fetchFrom,
  type Harness,
  hiddenField,
  issuer,
  mount,
  openBrowser,
  postLinkForm,
  reachConsent,
  register,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

const passphrase = "correct horse battery";

async function openLink(harness: Harness): Promise<string> {
  const link = await harness.server.issueSetUpLink();
  assert.ok(link !== null && link.startsWith(`${issuer}/setup?code=`));
  return link.slice(issuer.length);
}

const browsers = new WeakMap<Harness, TestBrowser>();

function claim(harness: Harness, code: string, form: Record<string, string> = {}): Promise<Response> {
  const browser = browsers.get(harness) ?? openBrowser(harness);
  browsers.set(harness, browser);
  return postLinkForm(browser, "/setup", { code, passphrase, confirmation: passphrase, ...form });
}

const codeOf = (link: string) => new URL(link, issuer).searchParams.get("code") ?? "";

Deno.test("only the link from the console sets the owner's passphrase, once", async () => {
  await using harness = await startHarness({ setUp: false });
  const link = await openLink(harness);
  assert.ok(codeOf(link).length >= 43); // 256 bits
  for (const code of ["", "x", "A".repeat(43), `${codeOf(link)}A`]) {
    const page = await harness.fetch(`/setup?code=${code}`);
    assert.equal(page.status, 403);
    assert.ok(!(await page.text()).includes("<form"));
    const claimed = await claim(harness, code);
    assert.equal(claimed.status, 403);
    await claimed.body?.cancel();
  }
  const page = await (await harness.fetch(link)).text();
  const done = await claim(harness, hiddenField(page, "code"));
  assert.equal(done.status, 303);
  const ready = done.headers.get("location") ?? "";
  assert.equal(ready, "/setup?ready");
  for (let reloads = 0; reloads < 2; reloads++) {
    const text = await (await harness.fetch(ready)).text();
    assert.match(text, /claude mcp add --transport http portcullis https:\/\/mcp\.test\/mcp/);
    assert.match(text, /user name is <strong>owner/);
  }
  const again = await claim(harness, codeOf(link), {
    passphrase: "another passphrase",
    confirmation: "another passphrase",
  });
  assert.equal(again.status, 403);
  assert.match(await again.text(), /already set up/);
  assert.equal(await harness.server.issueSetUpLink(), null);
  const client = await register(harness);
  assert.match(await reachConsent(openBrowser(harness), authorizePath(client.client_id)), /This lets it/);
});

Deno.test("opening the link changes nothing, so a mail scanner or a preview cannot use it up", async () => {
  await using harness = await startHarness({ setUp: false });
  const link = await openLink(harness);
  const before = await harness.storage.changeCount();
  for (let count = 0; count < 3; count++) assert.match(await (await harness.fetch(link)).text(), /<form/);
  assert.equal(await harness.storage.changeCount(), before);
});

Deno.test("each start issues a new link and voids the old one; a link lives for ten minutes", async () => {
  await using harness = await startHarness({ setUp: false });
  const first = await openLink(harness);
  const second = await openLink(harness);
  const old = await harness.fetch(first);
  assert.equal(old.status, 403);
  await old.body?.cancel();
  harness.time.now += 600_000;
  const expired = await claim(harness, codeOf(second));
  assert.equal(expired.status, 403);
  await expired.body?.cancel();
});

Deno.test("a link that is opened too late is replaced by one that the server prints, and strangers void none that is good", async () => {
  await using harness = await startHarness({ setUp: false });
  const printed: string[] = [];
  const onNewSetUpLink = (url: string) => void printed.push(url);
  const server = createAuthorizationServer({ ...harness.deps, onNewSetUpLink });
  const send = fetchFrom(mount(server), issuer);
  const open = async (link: string) => await (await send(link.slice(issuer.length))).text();
  const first = await server.issueSetUpLink() ?? "";
  assert.match(await open(`${issuer}/setup?code=x`), /link does not work/);
  harness.time.now += 600_000;
  assert.match(await open(first), /link has expired.*printed a new one/s);
  assert.match(await open(first), /link does not work/);
  assert.equal(printed.length, 1);
  assert.match(await open(printed[0] ?? ""), /<form/);
});

Deno.test("a shared link is given again by every start while it is good, and lives on; without sharing it is voided", async () => {
  await using harness = await startHarness({ setUp: false });
  const first = await harness.server.issueSetUpLink({ isShared: true }) ?? "";
  harness.time.now += 400_000;
  const both = await Promise.all([1, 2].map(() => harness.server.issueSetUpLink({ isShared: true })));
  assert.deepEqual(both, [first, first]);
  harness.time.now += 400_000;
  const page = await harness.fetch(first.slice(issuer.length));
  assert.equal(page.status, 200, "ten minutes from the newest start");
  await page.body?.cancel();
  harness.time.now += 600_000;
  const later = await harness.server.issueSetUpLink({ isShared: true });
  assert.notEqual(later, first, "an expired one is not brought back");
  assert.notEqual(await harness.server.issueSetUpLink(), later);
});

Deno.test("two instances that start at once print one link", async () => {
  await using harness = await startHarness({ setUp: false });
  const links = await Promise.all(Array.from({ length: 4 }, () => harness.server.issueSetUpLink({ isShared: true })));
  assert.equal(new Set(links).size, 1);
});

Deno.test("of parallel claims with one link exactly one wins", async () => {
  await using harness = await startHarness({ setUp: false });
  const code = codeOf(await openLink(harness));
  const claims = await Promise.all(Array.from({ length: 8 }, () => claim(harness, code)));
  assert.deepEqual(claims.map(({ status }) => status).sort(), [303, ...Array(7).fill(403)]);
  const outcomes = harness.lines.flatMap(({ event, fields }) => event === "set_up" ? [fields["outcome"]] : []);
  assert.deepEqual(outcomes.sort(), ["claimed", ...Array(7).fill("refused")]);
});

Deno.test("a form that is sent again finds its link used up, and the page's script sends it once", async () => {
  await using harness = await startHarness({ setUp: false });
  const link = await openLink(harness);
  const page = await (await harness.fetch(link.slice(link.indexOf("/setup")))).text();
  assert.match(page, /"submit"[\s\S]*disabled = true/);
  assert.equal((await claim(harness, codeOf(link))).headers.get("location"), "/setup?ready");
  assert.equal((await claim(harness, codeOf(link))).status, 403);
});

Deno.test("before set-up there is no ready page", async () => {
  await using harness = await startHarness({ setUp: false });
  assert.equal((await harness.fetch("/setup?ready")).status, 403);
});

Deno.test("a common passphrase is explained, and the link stays good", async () => {
  await using harness = await startHarness({ setUp: false });
  const code = codeOf(await openLink(harness));
  const common = await claim(harness, code, { passphrase: "passwordpassword", confirmation: "passwordpassword" });
  assert.equal(common.status, 422);
  assert.match(await common.text(), /attackers try first/);
  assert.equal((await claim(harness, code)).status, 303);
});

Deno.test("before set-up every page that would ask for a passphrase says what to do instead", async () => {
  await using harness = await startHarness({ setUp: false });
  const { client_id } = await register(harness);
  for (const path of ["/oauth/grants", authorizePath(client_id)]) {
    const response = await harness.fetch(path);
    assert.equal(response.status, 503, path);
    assert.match(await response.text(), /Open the set-up link/);
  }
});

Deno.test("short or differing passphrases are explained, and the link stays good", async () => {
  await using harness = await startHarness({ setUp: false });
  const code = codeOf(await openLink(harness));
  const short = await claim(harness, code, { passphrase: "eleven char", confirmation: "eleven char" });
  assert.equal(short.status, 422);
  assert.match(await short.text(), /at least 12 characters/);
  const differing = await claim(harness, code, { confirmation: "correct horse batterz" });
  assert.match(await differing.text(), /differ/);
  const done = await claim(harness, code);
  assert.equal(done.status, 303);
  await done.body?.cancel();
});

Deno.test("OWNER_PASSWORD_HASH takes the place of set-up: there is no link, and the page says so", async () => {
  await using harness = await startHarness();
  assert.equal(await harness.server.issueSetUpLink(), null);
  const page = await harness.fetch("/setup?code=x");
  assert.equal(page.status, 403);
  assert.match(await page.text(), /already set up/);
});
