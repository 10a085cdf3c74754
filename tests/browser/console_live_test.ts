/** Pages of the console that are open in Chromium while things change: held calls, two people, a server that comes again. */
import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { callTool, createToken } from "../console/desk.ts";
import { openSignedIn, ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { chromiumTest } from "./chromium.ts";
import { openPage } from "./steps.ts";

chromiumTest(
  "open pages follow what happens: two browsers decide, lists move, the server comes again",
  async (browser) => {
    await watchPages(browser);
  },
);

async function watchPages(browser: Browser): Promise<void> {
  await using place = await makeServerPlace();
  const first = await startServer(place);
  const owner = createPerson(first.url);
  await setUpOwner(owner, first);
  await owner.submit(await openSignedIn(owner, `${first.url}/console/rules`), {}, 'value="guard"');
  const token = await createToken(place, "owner");
  const write = (file: string) => callTool(first, token, "file_write", { filename: file, content: "x" });
  const openDecisions = async (): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(`${first.url}/console/decisions`);
    await page.getByLabel("Passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#live-state").getByText("Live").waitFor();
    return page;
  };
  const [one, two] = await Promise.all([openDecisions(), openDecisions()]);
  const item = (page: Page, file: string) => page.getByRole("article").filter({ hasText: file });

  // both see the calls come, and one decision ends the wait for both
  const a = write("a.txt");
  await Promise.all([item(one, "a.txt").waitFor(), item(two, "a.txt").waitFor()]);
  const b = write("b.txt");
  await Promise.all([item(one, "b.txt").waitFor(), item(two, "b.txt").waitFor()]);
  await item(two, "b.txt").getByText("Arguments").click();
  await two.getByRole("heading", { level: 1 }).click(); // leaves the list
  await two.evaluate(watchForClicks);
  await item(one, "a.txt").getByRole("button", { name: "Approve" }).click();
  await one.getByText(/(?:Approved|Denied): /).waitFor();
  assert.equal((await a).isError, false);

  // a list that moves under the pointer sends nothing, and keeps open what was open
  await two.getByText("Nothing was sent: the list changed as you clicked. Look again.").waitFor();
  assert.equal(await item(two, "a.txt").count(), 0);
  assert.ok(await item(two, "b.txt").locator("details").evaluate((details) => details.hasAttribute("open")));

  // words being typed are kept; the call that another browser decided meanwhile is gone
  await item(two, "b.txt").getByLabel("Message to the agent (optional)").pressSequentially("not th");
  await item(one, "b.txt").getByRole("button", { name: "Deny" }).click();
  await one.getByText(/(?:Approved|Denied): /).waitFor();
  assert.ok((await b).isError);
  await two.getByText("Paused while you are in the list.").waitFor();
  await item(two, "b.txt").getByLabel("Message to the agent (optional)").pressSequentially("is one");
  assert.equal(await item(two, "b.txt").getByLabel("Message to the agent (optional)").inputValue(), "not this one");
  const gone = two.getByText("This call no longer waits");
  await until("the page says that the call is gone", async () => {
    const button = item(two, "b.txt").getByRole("button", { name: "Approve" });
    if (await button.count() > 0) await button.click(); // not sent within a second after the list moved
    return await gone.count() > 0;
  });

  // the server stops and comes again at the same address: the page says both, and goes on
  const live = await one.context().newPage();
  await live.goto(`${first.url}/console/activity`);
  await live.locator("#live-state").getByText("Live").waitFor();
  await first.stop();
  await live.getByText("Reconnecting").waitFor();
  await using again = await startServer(place, { env: { PORT: new URL(first.url).port }, args: [] });
  await live.locator("#live-state").getByText("Live").waitFor();
  await callTool(again, token, "file_list", {});
  await live.locator("#ended").getByText("file_list").waitFor();
}

/** Presses the first Approve as soon as another call stands first, as a person does who was about to press it. */
const watchForClicks = `new MutationObserver((_, observer) => {
  if (document.querySelectorAll("#waiting article").length !== 1) return;
  observer.disconnect();
  document.querySelector('#waiting button[value="approve"]').click();
}).observe(document.getElementById("waiting"), { childList: true })`;
