/** What real clients and people do to the pages: pop-ups, further redirects, double clicks, two tabs, no cookies. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../fixtures/until.ts";
import { authorizeUrl, browserTest, openPage, setUp, signIn } from "./steps.ts";
import { startClient } from "./servers.ts";

/** What the browser refused by a page's policy. */
function policyProblems(page: Page): string[] {
  const problems: string[] = [];
  page.on("console", (message) => {
    if (/Content Security Policy|form-action/i.test(message.text())) problems.push(message.text());
  });
  return problems;
}

browserTest("the callback of a web client redirects on to another origin", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using last = startClient("localhost");
  await using client = startClient("127.0.0.1", last.redirectUri.replace("/callback", "/landed"));
  await page.goto(await authorizeUrl(server, client));
  await signIn(page);
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL("**/landed");
  assert.ok((await client.answered).has("code"));
});

browserTest("a callback redirects on to an application's own scheme", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1", "claude://claude.ai/mcp-auth-callback/sdk");
  const problems = policyProblems(page);
  await page.goto(await authorizeUrl(server, client));
  await signIn(page);
  await page.getByRole("button", { name: "Allow" }).click({ noWaitAfter: true });
  assert.ok((await client.answered).has("code"));
  assert.deepEqual(problems, []);
});

browserTest("Cursor is sent its code on its own scheme (RFC 8252 §7.1)", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  const problems = policyProblems(page);
  const redirectUri = "cursor://anysphere.cursor-mcp/oauth/callback";
  await page.goto(await authorizeUrl(server, { redirectUri }));
  await signIn(page);
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.getByRole("button", { name: "Allow" }).click({ noWaitAfter: true });
  const location = (await answered).headers()["location"] ?? "";
  assert.ok(location.startsWith(`${redirectUri}?code=pca_`), location);
  assert.deepEqual(problems, []);
});

browserTest("a pop-up keeps its opener, from sign-in to the callback that reports to it", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1");
  const url = await authorizeUrl(server, client);
  await page.goto(client.redirectUri.replace("127.0.0.1", "localhost").replace("/callback", "/application"));
  const opened = page.waitForEvent("popup");
  await page.evaluate(`
    window.reported = new Promise((resolve) => addEventListener("message", ({ data }) => resolve(data)));
    window.signIn = open(${JSON.stringify(url)}, "sign-in", "popup,width=500,height=700");
    null`);
  const popup = await opened;
  await popup.getByLabel("Passphrase").waitFor();
  assert.equal(await page.evaluate("window.signIn.closed"), false);
  await signIn(popup);
  assert.equal(await page.evaluate("window.signIn.closed"), false);
  await popup.getByRole("button", { name: "Allow" }).click();
  const report: string = await page.evaluate("window.reported");
  assert.ok(new URLSearchParams(report).get("code")?.startsWith("pca_"));
});

for (const decision of ["Allow", "Deny"] as const) {
  browserTest(`${decision} clicked twice over a slow link reaches the application`, async (browser, server) => {
    const page = await openPage(browser);
    await setUp(page, server);
    await using client = startClient("127.0.0.1");
    await page.goto(await authorizeUrl(server, client));
    await signIn(page);
    server.delays.form = 900;
    const button = page.getByRole("button", { name: decision });
    await button.scrollIntoViewIfNeeded();
    const box = await button.boundingBox();
    assert.ok(box !== null);
    const posts: string[] = [];
    page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
    for (let clicks = 0; clicks < 2; clicks++) {
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await page.waitForTimeout(300);
    }
    const answer = await client.answered;
    assert.equal(posts.length, 2, "the browser sent the decision twice");
    assert.ok(answer.has(decision === "Allow" ? "code" : "error"));
    await until("the callback", () => page.url().includes("/callback?")); // a further press ends the navigation before
  });
}

browserTest("Enter held on Allow reaches the application", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  for (const delay of [0, 400]) {
    await using client = startClient("127.0.0.1");
    await page.goto(await authorizeUrl(server, client));
    await signIn(page);
    server.delays.form = delay;
    await page.getByRole("button", { name: "Allow" }).focus();
    for (let presses = 0; presses < 4; presses++) await page.keyboard.press("Enter");
    assert.ok((await client.answered).has("code"));
    await until("the callback", () => page.url().includes("/callback?")); // a further press ends the navigation before
    server.delays.form = 0;
  }
});

browserTest("two sign-ins that open at once in a new browser both finish", async (browser, server) => {
  await setUp(await openPage(browser), server);
  const context = await browser.newContext();
  const tabs = [await context.newPage(), await context.newPage(), await context.newPage()];
  const clients = tabs.map(() => startClient("127.0.0.1"));
  try {
    const urls = await Promise.all(clients.map((client) => authorizeUrl(server, client)));
    await Promise.all(tabs.map((tab, index) => tab.goto(urls[index] ?? "")));
    for (const [index, tab] of tabs.entries()) {
      await tab.bringToFront();
      await signIn(tab);
      await tab.getByRole("button", { name: "Allow" }).click();
      assert.ok((await clients[index]?.answered)?.has("code"));
    }
  } finally {
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  }
});

browserTest("a browser without cookies is told so", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1");
  await page.goto(await authorizeUrl(server, client));
  await page.context().clearCookies();
  await page.getByLabel("Passphrase").fill("anything at all");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "This page needs a cookie" }).waitFor();
});
