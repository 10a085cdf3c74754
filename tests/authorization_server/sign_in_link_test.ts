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
  assert.match(await opened.text(), /name="passphrase"/, "it signs nobody in");
  assert.equal(await attempt(browser, "wrong"), 403, "a wrong passphrase stays wrong");
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
  const csrf = hiddenField(page, "csrf");
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const answer = await browser.post("/oauth/sign-in?next=grants", { csrf, passphrase: "wrong" });
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

Deno.test("of 32 browsers that open one link at once, one is let in", async () => {
  await using harness = await startHarness();
  const code = await createSignInCode(harness.deps, "owner");
  assert.ok(code.ok);
  const answers = await Promise.all(
    Array.from({ length: 32 }, () => openBrowser(harness).get(`/oauth/sign-in?link=${code.value}`)),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers) await answer.body?.cancel();
});
