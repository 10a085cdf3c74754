import assert from "node:assert/strict";
import {
  authorizePath,
  type Harness,
  hiddenField,
  issuer,
  openBrowser,
  reachConsent,
  register,
  startHarness,
} from "./harness.ts";

const passphrase = "correct horse battery";

async function openLink(harness: Harness): Promise<string> {
  const link = await harness.server.issueSetUpLink();
  assert.ok(link !== null && link.startsWith(`${issuer}/setup?code=`));
  return link.slice(issuer.length);
}

function claim(harness: Harness, code: string, form: Record<string, string> = {}): Promise<Response> {
  const body = new URLSearchParams({ code, passphrase, confirmation: passphrase, ...form });
  return harness.fetch("/setup", { method: "POST", body });
}

const codeOf = (link: string) => new URL(link, issuer).searchParams.get("code") ?? "";

Deno.test("K17: only the link from the console sets the owner's passphrase, once", async () => {
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
  assert.equal(done.status, 200);
  assert.match(await done.text(), /claude mcp add --transport http portcullis https:\/\/mcp\.test\/mcp/);
  const again = await claim(harness, codeOf(link), {
    passphrase: "another passphrase",
    confirmation: "another passphrase",
  });
  assert.equal(again.status, 403);
  assert.match(await again.text(), /set up already/);
  assert.equal(await harness.server.issueSetUpLink(), null);
  const client = await register(harness);
  assert.match(await reachConsent(openBrowser(harness), authorizePath(client.client_id)), /It wants to/);
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
  assert.equal(claims.filter(({ status }) => status === 200).length, 1);
  await Promise.all(claims.map((response) => response.body?.cancel()));
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
  assert.equal(done.status, 200);
  await done.body?.cancel();
});

Deno.test("OWNER_PASSWORD_HASH takes the place of set-up: there is no link, and the page says so", async () => {
  await using harness = await startHarness();
  assert.equal(await harness.server.issueSetUpLink(), null);
  const page = await harness.fetch("/setup?code=x");
  assert.equal(page.status, 403);
  assert.match(await page.text(), /set up already/);
});
