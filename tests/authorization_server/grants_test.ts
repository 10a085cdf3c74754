import assert from "node:assert/strict";
import { addUser, resetUser } from "../../src/oauth/manage_users.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { type Grant, grants, putsOfGrant } from "../../src/oauth/records.ts";
import {
  authorizePath,
  connect,
  type Harness,
  hiddenField,
  isAccepted,
  openBrowser,
  passphrase,
  refresh,
  register,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

async function openGrants(
  harness: Harness,
  form: Record<string, string> = {},
): Promise<{ browser: TestBrowser; page: string }> {
  const browser = openBrowser(harness);
  const signIn = await (await browser.get("/oauth/grants")).text();
  const response = await browser.post("/oauth/sign-in", { csrf: hiddenField(signIn, "csrf"), passphrase, ...form });
  assert.equal(response.headers.get("location"), "/oauth/grants", await response.text());
  return { browser, page: await (await browser.get("/oauth/grants")).text() };
}

Deno.test("a signed-in person sees what has access, and revokes it at once", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness, { client_name: "First <app>" });
  const { tokens: others } = await connect(harness, { client_name: "Second app" });
  const { browser, page } = await openGrants(harness);
  for (const text of ["First &lt;app&gt;", "Second app", "Read your files", "client.test", "Revoke"]) {
    assert.ok(page.includes(text), text);
  }
  const grant = new RegExp(`id="grant-([0-9a-f]{32})">First`).exec(page)?.[1] ?? "";
  const response = await browser.post("/oauth/grants", { csrf: hiddenField(page, "csrf"), grant });
  assert.equal(response.status, 303);
  assert.equal(response.headers.get("location"), "/oauth/grants");
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.equal((await refresh(harness, client, tokens.refresh_token)).body.error, "invalid_grant");
  assert.ok(await isAccepted(harness, others.access_token));
  const after = await (await browser.get("/oauth/grants")).text();
  assert.ok(!after.includes("First") && after.includes("Second app"));
});

Deno.test("the page has the time of day, the last token and the address that asked for it", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  harness.time.now += 3_600_000 + 60_000;
  await refresh(harness, client, tokens.refresh_token);
  const { page } = await openGrants(harness);
  const at = (time: number) => `<time datetime="${new Date(time).toISOString()}">`;
  assert.ok(page.includes(`Allowed on ${at(1_800_000_000_000)}15 January 2027 at 08:00 UTC`), page);
  assert.ok(page.includes(`Last requested a token on ${at(harness.time.now)}15 January 2027 at 09:01 UTC`), page);
  assert.match(page, /An access token lasts 1 hour/);
  assert.match(page, /from <span class="mono">198\.51\.100\.7<\/span>/);
});

Deno.test("a grant from before addresses were noted is shown without one", async () => {
  await using harness = await startHarness();
  await connect(harness);
  const [entry] = await harness.storage.list(["grant"], { limit: 1 });
  assert.ok(entry !== undefined);
  const { address: _, ...old } = entry.value as Record<string, unknown>;
  await harness.storage.commit({ puts: [{ key: entry.key, value: old }] });
  const { page } = await openGrants(harness);
  assert.match(page, /Test client/);
  assert.doesNotMatch(page, /198\.51\.100\.7/);
});

Deno.test("tokens of the command line are shown to their person, who can revoke them", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "eve", passphrase });
  const make = async (userId: string, name: string) => {
    const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60, name, userId });
    assert.ok(made.ok);
    return made.value;
  };
  const own = await make("owner", "nightly <job>");
  const other = await make("eve", "of eve");
  const { browser, page } = await openGrants(harness);
  assert.match(page, /nightly &lt;job&gt;/);
  assert.doesNotMatch(page, /of eve/);
  const csrf = hiddenField(page, "csrf");
  assert.equal(
    (await browser.post("/oauth/grants", { csrf, token: other.summary.id })).headers.get("location"),
    "/oauth/grants",
  );
  assert.ok(await isAccepted(harness, other.token));
  assert.equal((await browser.post("/oauth/grants", { csrf, token: own.summary.id })).status, 303);
  assert.ok(!await isAccepted(harness, own.token));
  await make("eve", "another of eve");
  await resetUser(harness.deps, { name: "eve", passphrase: "a new one for eve" });
  const eve = await openGrants(harness, { username: "eve", passphrase: "a new one for eve" });
  assert.doesNotMatch(eve.page, /of eve/, "a token that ended with the passphrase is not shown");
});

Deno.test("the page lists a thousand grants, and says where there are more", async () => {
  await using harness = await startHarness();
  await connect(harness);
  const [entry] = await harness.storage.list(["grant"], { limit: 1 });
  const grant = grants.put("x", (entry?.value ?? {}) as Grant).value as Grant;
  const most = 1_000;
  const addUpTo = async (first: number, count: number) => {
    for (let index = first; index < count; index++) {
      const id = index.toString(16).padStart(32, "0");
      await harness.storage.commit({ puts: putsOfGrant({ ...grant, id }, harness.time.now + 1_000_000) });
    }
    const { page } = await openGrants(harness);
    const seen = new Set(Array.from(page.matchAll(/id="grant-([0-9a-f]{32})"/g), ([, id = ""]) => id));
    return { count: seen.size, isCut: page.includes("There are more") };
  };
  assert.deepEqual(await addUpTo(1, 250), { count: 250, isCut: false });
  assert.deepEqual(await addUpTo(250, most + 5), { count: most, isCut: true });
});

Deno.test("nobody revokes another person's grants, and nobody without a session or with a foreign form", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "eve", passphrase });
  const { tokens } = await connect(harness);
  const [{ value: { id: grant } } = { value: { id: "" } }] = await harness.storage.list(["grant"], {
    limit: 1,
  }) as unknown as { value: { id: string } }[];
  assert.match(grant, /^[0-9a-f]{32}$/);
  const eve = await openGrants(harness, { username: "eve" });
  assert.match(eve.page, /No client has access/);
  const attempts = [
    await eve.browser.post("/oauth/grants", { csrf: hiddenField(eve.page, "csrf"), grant }),
    await eve.browser.post("/oauth/grants", { grant }),
  ];
  const owner = await openGrants(harness);
  attempts.push(await owner.browser.post("/oauth/grants", { csrf: hiddenField(eve.page, "csrf"), grant }));
  const stranger = openBrowser(harness);
  const signIn = await (await stranger.get("/oauth/grants")).text();
  attempts.push(await stranger.post("/oauth/grants", { csrf: hiddenField(signIn, "csrf"), grant }));
  assert.deepEqual(attempts.map(({ status }) => status), [303, 403, 403, 303]);
  assert.ok(await isAccepted(harness, tokens.access_token));
});

Deno.test("signing out ends the session on the server and in the browser; grants stay", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const { browser, page } = await openGrants(harness);
  const stolen = new Map(browser.cookies);
  const missing = await browser.post("/oauth/sign-out", {});
  assert.equal(missing.status, 403);
  const response = await browser.post("/oauth/sign-out", { csrf: hiddenField(page, "csrf") });
  assert.match(await response.text(), /You are signed out/);
  assert.ok(!browser.cookies.has("__Host-portcullis-session"));
  stolen.forEach((value, name) => browser.cookies.set(name, value));
  for (const path of ["/oauth/grants", authorizePath(client.client_id)]) {
    assert.match(await (await browser.get(path)).text(), /name="passphrase"/);
  }
  assert.ok(await isAccepted(harness, tokens.access_token));
});

Deno.test("a sign-in form for the grants page works in the browser that it was sent to only (login CSRF)", async () => {
  await using harness = await startHarness();
  const page = await (await openBrowser(harness).get("/oauth/grants")).text();
  const response = await openBrowser(harness).post("/oauth/sign-in", { csrf: hiddenField(page, "csrf"), passphrase });
  assert.equal(response.status, 403);
  await response.body?.cancel();
});

Deno.test("wrong verbs are 405", async () => {
  await using harness = await startHarness();
  await register(harness);
  for (const [path, allow] of [["/oauth/grants", "GET, POST"], ["/oauth/sign-out", "POST"]] as const) {
    const response = await harness.fetch(path, { method: "DELETE" });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), allow);
    await response.body?.cancel();
  }
});
