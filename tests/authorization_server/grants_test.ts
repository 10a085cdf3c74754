import assert from "node:assert/strict";
import { addUser } from "../../src/authorization_server/manage_users.ts";
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

Deno.test("a signed-in person sees what they gave, and takes it back at once", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness, { client_name: "First <app>" });
  const { tokens: others } = await connect(harness, { client_name: "Second app" });
  const { browser, page } = await openGrants(harness);
  for (const text of ["First &lt;app&gt;", "Second app", "Read and list the files", "client.test", "Take back"]) {
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

Deno.test("nobody takes back another person's grants, and nobody without a session or with a foreign form", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "eve", passphrase });
  const { tokens } = await connect(harness);
  const [{ value: { id: grant } } = { value: { id: "" } }] = await harness.storage.list(["grant"], {
    limit: 1,
  }) as unknown as { value: { id: string } }[];
  assert.match(grant, /^[0-9a-f]{32}$/);
  const eve = await openGrants(harness, { username: "eve" });
  assert.match(eve.page, /No application has access/);
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
