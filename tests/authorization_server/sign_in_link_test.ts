import assert from "node:assert/strict";
import { addUser, disableUser } from "../../src/oauth/manage_users.ts";
import { createSignInCode } from "../../src/oauth/set_up.ts";
import {
  authorizePath,
  fetchFrom,
  type Harness,
  hiddenField,
  mount,
  openBrowser,
  passphrase,
  register,
  startHarness,
} from "./harness.ts";

/** Where the form of a link's page is sent, and what with. */
function formOf(page: string) {
  const action = /<form method="post" action="([^"]*)"/.exec(page)?.[1]?.replaceAll("&amp;", "&") ?? "";
  assert.match(action, /link=pcl_/);
  return { action, csrf: hiddenField(page, "csrf") };
}

/** Wrong passphrases from everywhere, so that every browser that is new has to wait. */
async function guessFromEverywhere(harness: Harness, client: string): Promise<void> {
  for (let guess = 0; guess < 60; guess++) {
    const send = fetchFrom(mount(harness.server), "https://mcp.test", `203.0.113.${guess}`);
    const opened = await send(authorizePath(client));
    const request = hiddenField(await opened.text(), "request");
    const cookie = opened.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
    const answer = await send("/oauth/sign-in", {
      method: "POST",
      headers: { cookie },
      body: new URLSearchParams({ request, passphrase: `guess ${guess}` }),
    });
    await answer.body?.cancel();
  }
}

Deno.test("while guessing keeps new browsers waiting, a link from the command line lets one in, once", async () => {
  await using harness = await startHarness();
  const { client_id } = await register(harness);
  await guessFromEverywhere(harness, client_id);
  const attempt = async (browser: ReturnType<typeof openBrowser>, text: string): Promise<number> => {
    const page = await (await browser.get(authorizePath(client_id))).text();
    const answer = await browser.post("/oauth/sign-in", { request: hiddenField(page, "request"), passphrase: text });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await attempt(openBrowser(harness), passphrase), 429, "the right passphrase in a new browser");

  const code = await createSignInCode(harness.deps, "owner");
  assert.ok(code.ok);
  const browser = openBrowser(harness);
  const opened = await browser.get(`/oauth/sign-in?link=${code.value}`);
  assert.equal(opened.status, 200);
  const form = formOf(await opened.text());
  assert.equal(await attempt(browser, passphrase), 429, "nothing is done before the form is sent");
  const wrong = await browser.post(form.action, { csrf: form.csrf, passphrase: "wrong" });
  assert.equal(wrong.status, 403, "a wrong passphrase stays wrong");
  assert.doesNotMatch(await wrong.text(), /link=/);
  assert.equal(await attempt(browser, passphrase), 303);

  const another = openBrowser(harness);
  assert.equal((await another.get(`/oauth/sign-in?link=${code.value}`)).status, 403);
  assert.equal(await attempt(another, passphrase), 429);
  assert.ok(!JSON.stringify(harness.lines).includes(code.value));
});

Deno.test("a browser that a link let in is slowed down by its own wrong passphrases", async () => {
  await using harness = await startHarness();
  const code = await createSignInCode(harness.deps, "owner");
  assert.ok(code.ok);
  const browser = openBrowser(harness);
  const page = await (await browser.get(`/oauth/sign-in?link=${code.value}`)).text();
  const { action, csrf } = formOf(page);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const answer = await browser.post(attempt === 0 ? action : "/oauth/sign-in?next=grants", {
      csrf,
      passphrase: "wrong",
    });
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  assert.ok(statuses.includes(429), statuses.join());
});

Deno.test("a link is good for one user, for ten minutes, and for nobody who may not sign in", async () => {
  await using harness = await startHarness();
  assert.ok((await addUser(harness.deps, { name: "ada", passphrase })).ok);
  const late = await createSignInCode(harness.deps, "ada");
  assert.ok(late.ok);
  harness.time.now += 600_000;
  const wrong = ["", "pcl_", late.value, `${late.value}A`, "pcl_".padEnd(47, "A")];
  for (const code of wrong) {
    const answer = await openBrowser(harness).get(`/oauth/sign-in?link=${code}`);
    assert.equal(answer.status, 403, code);
    assert.match(await answer.text(), /sign-in link does not work/);
  }
  assert.ok((await disableUser(harness.deps, "ada")).ok);
  for (const name of ["ada", "nobody", ""]) assert.ok(!(await createSignInCode(harness.deps, name)).ok, name);
});

Deno.test("of 32 browsers that use one link at once, one is let in", async () => {
  await using harness = await startHarness();
  const code = await createSignInCode(harness.deps, "owner");
  assert.ok(code.ok);
  const opened = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const browser = openBrowser(harness);
      const form = formOf(await (await browser.get(`/oauth/sign-in?link=${code.value}`)).text());
      return { browser, form };
    }),
  );
  const answers = await Promise.all(
    opened.map(({ browser, form }) => browser.post(form.action, { csrf: form.csrf, passphrase })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array(31).fill(403)]);
  for (const answer of answers) await answer.body?.cancel();
});

Deno.test("programs that look at a link (mail scanners, previews, prefetching) use nothing up and are not known", async () => {
  await using harness = await startHarness();
  const code = await createSignInCode(harness.deps, "owner");
  assert.ok(code.ok);
  const path = `/oauth/sign-in?link=${code.value}`;
  const stored = async () =>
    (await Promise.all(
      ["sign_in_link", "known_browser", "browser_session"].map((family) =>
        harness.deps.storage.list([family], { limit: 100 })
      ),
    )).flat().map(({ key }) => key.join("/"));
  const before = await stored();
  assert.equal(before.length, 1, "the link alone");
  const scanner = openBrowser(harness);
  for (let look = 0; look < 3; look++) await (await scanner.get(path)).body?.cancel();
  await (await harness.fetch(path, { method: "HEAD" })).body?.cancel();
  assert.deepEqual(await stored(), before);
  const browser = openBrowser(harness);
  const form = formOf(await (await browser.get(path)).text());
  assert.equal((await browser.post(form.action, { csrf: form.csrf, passphrase })).status, 303);
});
