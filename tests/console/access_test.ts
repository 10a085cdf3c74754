import assert from "node:assert/strict";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { setAdministrator } from "../../src/oauth/manage_users.ts";
import {
  connect,
  type Harness,
  hiddenField,
  isAccepted,
  issuer,
  openBrowser,
  passphrase,
  postLinkForm,
} from "../authorization_server/harness.ts";
import { type Client, clients, heldClients, unusedClientId } from "../../src/oauth/records.ts";
import { act, invitePerson, signInTo, startConsole, stopSection } from "./harness.ts";

const pages = ["/console", "/console/connections", "/console/people", "/console/settings"];

Deno.test("each page of the console asks strangers to sign in, and leads back to itself", async () => {
  await using harness = await startConsole();
  for (const path of pages) {
    const stranger = openBrowser(harness);
    const page = await stranger.get(path);
    assert.match(await page.text(), /<h1>Sign in<\/h1>/);
    const browser = await signInTo(harness, { path });
    assert.equal((await browser.get(path)).status, 200, path);
  }
  const events = await harness.fetch("/console/events?section=connections");
  assert.equal(events.status, 401);
});

Deno.test("sign-in leads to pages of the console only, whatever the form's address says", async () => {
  await using harness = await startConsole();
  for (
    const next of ["console//evil.test", "console/../x", "//evil.test", "console/a b", "console/AAA", "https:evil"]
  ) {
    const browser = openBrowser(harness);
    const csrf = hiddenField(await (await browser.get("/console")).text(), "csrf");
    const response = await browser.post(`/oauth/sign-in?${new URLSearchParams({ next })}`, { csrf, passphrase });
    assert.equal(response.headers.get("location"), "/oauth/grants", next);
  }
});

Deno.test("a person sees their own connections and no page of administrators", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const { tokens } = await connect(harness, { client_name: "The owner's client" });
  const secret = await invitePerson(harness, owner, "ada");
  const made = await createOperatorToken(harness.deps, {
    scope: "files:read",
    lifetimeSeconds: 600,
    name: "script of ada",
    userId: "ada",
  });
  assert.ok(made.ok);
  const ada = await signInTo(harness, { username: "ada", secret });
  const own = await (await ada.get("/console/connections")).text();
  assert.ok(own.includes("script of ada") && !own.includes("The owner&#39;s client"), own);
  assert.ok(!own.includes("/console/people"), "the navigation leads nowhere that is closed");
  for (const path of ["/console/people", "/console/settings"]) assert.equal((await ada.get(path)).status, 403, path);
  assert.ok(!(await (await ada.get("/console")).text()).includes(">Storage"));
  // The filter is for administrators: another person's name in the address shows nothing of theirs.
  assert.ok(!(await (await ada.get("/console/connections?person=owner")).text()).includes("The owner&#39;s client"));

  const all = await (await owner.get("/console/connections")).text();
  assert.ok(all.includes("script of ada") && all.includes("The owner&#39;s client"));
  const grant = /name="grant" value="([0-9a-f]{32})"/.exec(all)?.[1] ?? "";
  const refused = await act(ada, "/console/connections", { act: "end", grant });
  assert.equal(refused.status, 422);
  assert.ok(await isAccepted(harness, tokens.access_token));
  for (
    const [path, fields] of [
      ["/console/people", { act: "promote", user: "ada" }],
      ["/console/people", { act: "invite", user: "eve" }],
    ] as const
  ) {
    const csrf = hiddenField(own, "csrf");
    assert.equal((await ada.post(path, { csrf, ...fields })).status, 403);
  }
});

Deno.test("one click ends a connection at the next request, and the page says so once", async () => {
  await using harness = await startConsole();
  const { tokens } = await connect(harness, { client_name: "<b>First</b> app" });
  const owner = await signInTo(harness);
  const page = await (await owner.get("/console/connections")).text();
  assert.ok(page.includes("&lt;b&gt;First&lt;/b&gt; app") && !page.includes("<b>First"), page);
  const grant = /name="grant" value="([0-9a-f]{32})"/.exec(page)?.[1] ?? "";
  const ended = await act(owner, "/console/connections", { act: "end", grant });
  assert.equal(ended.status, 303);
  assert.ok(!await isAccepted(harness, tokens.access_token));
  const location = ended.headers.get("location") ?? "";
  assert.match(await (await owner.get(location)).text(), /role="status">Access removed/);
  // The words come from the act, and the mark is bound to the browser: no link from elsewhere makes the page say them.
  const other = await signInTo(harness);
  for (
    const [browser, link] of [[other, location], [
      owner,
      "/console/connections?done=Access%20removed.&mark=forged",
    ]] as const
  ) {
    assert.doesNotMatch(await (await browser.get(link)).text(), /Access removed/);
  }
  const line = harness.lines.find(({ event }) => event === "grant_revoked");
  assert.equal(line?.fields["user"], "owner");
});

Deno.test("forms from elsewhere, without the token, or of no act change nothing", async () => {
  await using harness = await startConsole();
  const { tokens } = await connect(harness);
  const owner = await signInTo(harness);
  const page = await (await owner.get("/console/connections")).text();
  const grant = /name="grant" value="([0-9a-f]{32})"/.exec(page)?.[1] ?? "";
  const csrf = hiddenField(page, "csrf");
  const other = hiddenField(await (await (await signInTo(harness)).get("/console/connections")).text(), "csrf");
  for (const fields of [{ act: "end", grant }, { act: "end", grant, csrf: other }, { act: "end", grant, csrf: "" }]) {
    assert.equal((await owner.post("/console/connections", fields)).status, 403);
  }
  for (const act of ["", "nothing", "constructor", "__proto__", "toString"]) {
    assert.equal((await owner.post("/console/connections", { csrf, act, grant })).status, 403, act);
  }
  assert.equal((await harness.fetch("/console/connections", { method: "DELETE" })).status, 405);
  assert.ok(await isAccepted(harness, tokens.access_token));
});

Deno.test("dangerous acts ask for the passphrase again, once the sign-in is some minutes old", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  harness.time.now += 6 * 60_000;
  const asked = await act(owner, "/console/people", { act: "disable", user: "ada" });
  const page = await asked.text();
  assert.match(page, /To disable ada, enter your passphrase again/);
  assert.ok(await signInTo(harness, { username: "ada", secret }));
  const fields = { csrf: hiddenField(page, "csrf"), act: hiddenField(page, "act"), user: hiddenField(page, "user") };
  const wrong = await owner.post("/console/people", { ...fields, passphrase: "wrong" });
  assert.equal(wrong.status, 403);
  assert.match(await wrong.text(), /The passphrase is wrong/);
  const right = await owner.post("/console/people", { ...fields, passphrase });
  assert.equal(right.status, 303, await right.text());
  const after = await (await owner.get(right.headers.get("location") ?? "")).text();
  assert.match(after, /They are locked out/);
  // Signed in anew by it: the next act asks for nothing.
  assert.equal((await act(owner, "/console/people", { act: "enable", user: "ada" })).status, 303);
  const confirmations = harness.lines.filter(({ event }) => event === "confirmation");
  assert.deepEqual(confirmations.map(({ fields }) => fields["outcome"]), ["refused", "confirmed"]);
});

Deno.test("the owner names administrators; they may do neither that, nor anything to the owner", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  await invitePerson(harness, owner, "ben");
  assert.equal((await act(owner, "/console/people", { act: "promote", user: "ada" })).status, 303);
  const ada = await signInTo(harness, { username: "ada", secret });
  assert.equal((await ada.get("/console/settings")).status, 200);
  for (
    const fields of [
      { act: "promote", user: "ben" },
      { act: "demote", user: "ada" },
      { act: "disable", user: "owner" },
      { act: "reset", user: "owner" },
      { act: "disable", user: "ada" },
      { act: "disable", user: "nobody" },
      { act: "invite", user: "ben" },
      { act: "invite", user: "../x" },
    ]
  ) {
    assert.equal((await act(ada, "/console/people", fields)).status, 422, JSON.stringify(fields));
  }
  const demoted = await setAdministrator(harness.deps, { name: "ada", administrator: false });
  assert.ok(demoted.ok);
  assert.equal((await ada.get("/console/settings")).status, 403, "from the next request on");
});

Deno.test("an invitation works once, for its own user, and a reset ends what was allowed before", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  const ada = await signInTo(harness, { username: "ada", secret });
  const reset = await (await act(owner, "/console/people", { act: "reset", user: "ada" })).text();
  const code = /\/invitation\?code=([A-Za-z0-9_-]+)/.exec(reset)?.[1] ?? "";
  assert.equal((await ada.get("/console")).status, 200, "nothing ends before the new passphrase is chosen");
  const browser = openBrowser(harness);
  const short = await postLinkForm(browser, "/invitation", { code, passphrase: "short", confirmation: "short" });
  assert.equal(short.status, 422);
  const again = "the second passphrase of ada";
  const form = { code, passphrase: again, confirmation: again };
  assert.equal((await postLinkForm(browser, "/invitation", form)).status, 303);
  const other = { code, passphrase: "a third passphrase of ada", confirmation: "a third passphrase of ada" };
  assert.equal((await postLinkForm(browser, "/invitation", other)).status, 403);
  assert.match(await (await ada.get("/console")).text(), /<h1>Sign in<\/h1>/);
  assert.ok(await signInTo(harness, { username: "ada", secret: again }));
  harness.time.now += 4 * 86_400_000;
  for (const late of [code, "", "pci_nothing"]) {
    assert.equal((await browser.get(`/invitation?${new URLSearchParams({ code: late })}`)).status, 403);
  }
  const logged = JSON.stringify(harness.lines);
  for (const hidden of [code, again, secret]) assert.ok(!logged.includes(hidden), "a secret is in the log");
});

Deno.test("the owner names the scopes of a client that waits for access in its own name, and others never see it", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  const ada = await signInTo(harness, { username: "ada", secret });
  const [first, second] = await Promise.all(["<i>Now</i>", "Other"].map((name) => holdClient(harness, name)));
  assert.ok(first !== undefined && second !== undefined);
  const page = await (await owner.get("/console/connections")).text();
  assert.ok(page.includes("Waiting for approval") && page.includes("&lt;i&gt;Now&lt;/i&gt;"), page);
  assert.match(page, /value="files:read" checked/);
  const form = page.match(/<form(?:(?!<\/form>)[^])*value="files:read" checked[^]*?<\/form>/)?.[0] ?? assert.fail(page);
  assert.match(/<button[^>]*>/.exec(form)?.[0] ?? "", /formmethod="dialog"/, "Enter in a box approves nothing");
  const own = await (await ada.get("/console/connections")).text();
  assert.ok(!own.includes("Waiting for approval") && !own.includes(first));
  const fields = { act: "approve", client: first, scope: "files:read" };
  for (const name of ["approve", "refuse"]) {
    assert.equal((await act(ada, "/console/connections", { ...fields, act: name })).status, 403);
  }
  assert.equal((await act(owner, "/console/connections", { act: "approve", client: first })).status, 422);
  harness.time.now += 6 * 60_000;
  const asked = await act(owner, "/console/connections", fields);
  assert.match(await asked.text(), /To approve a client, enter your passphrase again/);
  assert.equal((await act(owner, "/console/connections", { ...fields, passphrase })).status, 303);
  assert.equal((await act(owner, "/console/connections", { act: "refuse", client: second })).status, 303);
  assert.equal((await act(owner, "/console/connections", { act: "refuse", client: first })).status, 422);
  assert.deepEqual((await clients.read(harness.storage, first))?.value.scopes, ["files:read"]);
  assert.equal(await clients.read(harness.storage, second), null);
  const lines = harness.lines.filter(({ event }) => event === "client_approved" || event === "client_removed");
  assert.deepEqual(lines.map(({ fields: { outcome, by } }) => [outcome, by]), [
    ["refused", "owner"],
    ["approved", "owner"],
    [undefined, "owner"],
  ]);
});

async function holdClient(harness: Harness, name: string): Promise<string> {
  const id = `pcc_${crypto.randomUUID().replaceAll("-", "")}`;
  const client: Client = {
    ...{ id, name, origin: "registered", redirectUris: [], grantTypes: ["client_credentials"], jwks: null },
    ...{ authentication: "client_secret_any", secretHash: "x", secretExpiresAt: 0, scopes: ["files:read"] },
    ...{ jwksUri: null, registeredAt: harness.time.now, usedAt: null },
  };
  const puts = [clients.put(id, client), heldClients.put(unusedClientId(client), { clientId: id })];
  assert.ok(await harness.storage.commit({ puts }));
  return id;
}

Deno.test("an open page renews its session, for eight hours at most; a form of someone signed out leads to the sign-in and changes nothing", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const page = await (await owner.get("/console/people")).text();
  for (let minutes = 0; minutes < 60; minutes += 8) {
    harness.time.now += 8 * 60_000;
    const stream = await owner.get("/console/events?section=connections");
    assert.equal(stream.status, 200, `after ${minutes} minutes`);
    const reader = stream.body?.getReader();
    for (let chunks = 0; chunks < 2; chunks++) await reader?.read(); // then it pauses
    await reader?.cancel();
  }
  harness.time.now += 9 * 3_600_000;
  assert.equal((await owner.get("/console/events?section=connections")).status, 401);

  const fields = { csrf: hiddenField(page, "csrf"), act: "invite", user: "Anna!!" };
  const asked = await (await owner.post("/console/people", { ...fields, user: "anna" })).text();
  assert.match(asked, /action="\/oauth\/sign-in\?next=console%2Fpeople"/);
  const signIn = { csrf: hiddenField(asked, "csrf"), passphrase };
  const back = await owner.post("/oauth/sign-in?next=console%2Fpeople", signIn);
  assert.equal(back.headers.get("location"), "/console/people");
  assert.doesNotMatch(await (await owner.get("/console/people")).text(), /anna/);
  const refused = await owner.post("/console/people", fields);
  assert.equal(refused.status, 422);
  const kept = await refused.text();
  assert.match(kept, /value="Anna!!"/, "the name that was refused stays in its field");
  const made = await (await owner.post("/console/people", { ...fields, user: "anna" })).text();
  const code = /\/invitation\?code=([A-Za-z0-9_-]+)/.exec(made)?.[1] ?? "";
  const listed = await (await owner.get("/console/people")).text();
  assert.match(listed, /Pending invitations/);
  const invitation = /name="invitation" value="([^"]+)"/.exec(listed)?.[1] ?? "";
  await owner.post("/console/people", { csrf: fields.csrf, act: "withdraw", invitation });
  assert.equal((await owner.get(`/invitation?code=${code}`)).status, 403);
  assert.doesNotMatch(await (await owner.get("/console/people")).text(), /Pending invitations/);
});

Deno.test("Stop of someone signed out is carried through the sign-in, in the browser that asked, for ten minutes", async () => {
  const { section, done } = stopSection();
  await using harness = await startConsole([section]);
  const owner = await signInTo(harness);
  const ada = await signInTo(harness, { username: "ada", secret: await invitePerson(harness, owner, "ada") });
  const csrf = hiddenField(await (await owner.get("/console/people")).text(), "csrf");
  harness.time.now += 9 * 3_600_000;
  const carry = async (act: string): Promise<{ action: string; csrf: string; page: string }> => {
    const asked = await (await owner.post("/console/activity", { csrf, act })).text();
    assert.equal(asked.includes("Sign in, and what you asked for is done"), act === "stop");
    const action = /action="(\/oauth\/sign-in\?next=[^"]*)"/.exec(asked)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const page = `/${new URL(action, issuer).searchParams.get("next")}`;
    return { action, csrf: hiddenField(asked, "csrf"), page };
  };
  assert.equal((await carry("start")).page, "/console/activity", "any other act is asked for again");
  const { action, page, ...form } = await carry("stop");
  assert.match(page, /^\/console\/activity\?act=stop&/);
  assert.equal((await owner.post(action, { csrf: form.csrf, username: "owner", passphrase: "wrong" })).status, 403);
  const signedIn = await owner.post(action, { csrf: form.csrf, username: "owner", passphrase });
  assert.equal(signedIn.headers.get("location"), page);
  const stopped = await owner.get(page);
  assert.equal(stopped.status, 303);
  assert.match(await (await owner.get(stopped.headers.get("location") ?? "")).text(), /stopped 1/);

  const other = await signInTo(harness);
  for (const path of [page, page.replace(/act=stop/, "act=start"), "/console/activity?act=stop"]) {
    assert.equal((await other.get(path)).status, 200, "a link does nothing in another browser");
  }
  const forged = page.replace(/until=\d+/, `until=${harness.time.now + 10 ** 9}`);
  assert.equal((await owner.get(forged)).status, 200, "nor with another end");
  harness.time.now += 601_000;
  assert.equal((await owner.get(page)).status, 200, "nor later");
  assert.equal((await ada.get(page)).status, 200);
  assert.deepEqual(done, ["owner"]);
});

Deno.test("the owner adds an application by its callback: any scheme of its own, and none that a browser acts on", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const ada = await signInTo(harness, { username: "ada", secret: await invitePerson(harness, owner, "ada") });
  assert.match(await (await owner.get("/console/connections")).text(), /Add a client/);
  assert.doesNotMatch(await (await ada.get("/console/connections")).text(), /Add a client/);
  const fields = { act: "add", name: "Example", callback: "com.example.app:/callback" };
  assert.equal((await act(ada, "/console/connections", fields)).status, 403);
  for (const callback of ["javascript:alert(1)", "data:text/html,x", "file:///x", "http://example.com/cb", ""]) {
    const refused = await act(owner, "/console/connections", { ...fields, callback });
    assert.equal(refused.status, 422, callback);
  }
  assert.equal((await act(owner, "/console/connections", { ...fields, name: " " })).status, 422);
  assert.equal((await act(owner, "/console/connections", fields)).status, 303);
  const made = await Array.fromAsync(clients.all(harness.storage));
  assert.deepEqual(
    made.map((
      { value: { name, redirectUris, authentication, origin } },
    ) => [name, redirectUris, authentication, origin]),
    [
      ["Example", ["com.example.app:/callback"], "none", "operator"],
    ],
  );
});
