/** What was begun with an administrator's rights ends with them. */
import assert from "node:assert/strict";
import { emptyLine } from "../../src/audit/recorder.ts";
import type { ConsoleSources } from "../../src/console/pages/section.ts";
import { activitySection } from "../../src/console/pages/activity.ts";
import { setAdministrator } from "../../src/oauth/manage_users.ts";
import { hiddenField, openBrowser, postLinkForm, type TestBrowser } from "../authorization_server/harness.ts";
import { act, invitePerson, signInTo, startConsole } from "./harness.ts";

Deno.test("a link for a passphrase ends with its maker's rights, and with any change of its user's passphrase", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  await invitePerson(harness, owner, "ben");
  const change = (name: string, administrator: boolean) => setAdministrator(harness.deps, { name, administrator });
  await change("ada", true);
  const ada = await signInTo(harness, { username: "ada", secret });
  const codeOf = async (browser: TestBrowser, fields: Record<string, string>): Promise<string> => {
    const made = await (await act(browser, "/console/people", fields)).text();
    return /\/invitation\?code=([A-Za-z0-9_-]+)/.exec(made)?.[1] ?? "";
  };
  const byAda = [
    await codeOf(ada, { act: "reset", user: "ben" }),
    await codeOf(ada, { act: "invite", user: "eve" }),
  ];
  const [first, second] = [
    await codeOf(owner, { act: "reset", user: "ben" }),
    await codeOf(owner, { act: "reset", user: "ben" }),
  ];
  const browser = openBrowser(harness);
  const form = { passphrase: "another passphrase of ben", confirmation: "another passphrase of ben" };
  const status = async (code: string) => (await browser.get(`/invitation?code=${code}`)).status;
  for (const code of [...byAda, first, second]) assert.equal(await status(code), 200);
  await change("ada", false);
  for (const code of byAda) {
    assert.equal(await status(code), 403);
    assert.equal((await postLinkForm(browser, "/invitation", { ...form, code })).status, 403);
  }
  assert.equal((await postLinkForm(browser, "/invitation", { ...form, code: first })).status, 303);
  assert.equal(
    (await postLinkForm(browser, "/invitation", { ...form, code: second })).status,
    403,
    "an older link is void",
  );
  await act(owner, "/console/people", { act: "reset", user: "ada" });
  const disabled = await codeOf(owner, { act: "reset", user: "ada" });
  await act(owner, "/console/people", { act: "disable", user: "ada" });
  assert.equal((await postLinkForm(browser, "/invitation", { ...form, code: disabled })).status, 403);
});

Deno.test("an export ends with the rights that it began with, however slowly it is read", async () => {
  const line = { ...emptyLine, event: "call", person: "owner", instance: "1", batch: 1 };
  const search = () => Promise.resolve({ lines: [line], cursor: "more" });
  const sources = { search, live: { switches: { state: { stopped: null } } } } as unknown as ConsoleSources;
  const endless = activitySection(sources, () => Promise.resolve(new Map()));
  await using harness = await startConsole([endless]);
  const secret = await invitePerson(harness, await signInTo(harness), "ada");
  const change = (administrator: boolean) => setAdministrator(harness.deps, { name: "ada", administrator });
  const ada = await signInTo(harness, { username: "ada", secret });
  const signOut = async (): Promise<void> => {
    const csrf = hiddenField(await (await ada.get("/console")).text(), "csrf");
    assert.equal((await ada.post("/oauth/sign-out", { csrf })).status, 200);
  };
  for (const end of [() => change(false), signOut]) {
    await change(true);
    const reader = (await ada.get("/console/activity?download=audit")).body?.getReader();
    assert.ok(reader);
    for (let page = 0; page < 3; page++) assert.equal((await reader.read()).done, false);
    await end();
    await assert.rejects(reader.read());
  }
});
