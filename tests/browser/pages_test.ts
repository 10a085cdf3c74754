import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { verifier } from "../authorization_server/harness.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { type RunningServer, startClient } from "./servers.ts";
import {
  authorizeUrl,
  browserTest,
  forgetSession,
  openPage,
  passphrase,
  picture,
  setUp,
  signIn,
  typePassphrase,
} from "./steps.ts";

/** Presses Tab until the element has the focus; a person looks where it is, too. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 20; presses++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail("Tab does not lead there");
}

browserTest(
  "set-up, sign-in and consent by mouse, and the redirect gets through",
  async (browser, server) => {
    const page = await openPage(browser);
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    await page.goto(await server.server.issueSetUpLink() ?? "");
    await picture(page, "set-up");
    const typesOf = () =>
      page.locator("form input[autocomplete=new-password]").evaluateAll((all) =>
        all.map((field) => field.getAttribute("type"))
      );
    await page.getByLabel("Passphrase", { exact: true }).fill("typed");
    await page.getByRole("button", { name: "Show" }).click();
    assert.deepEqual(await typesOf(), ["text", "text"]);
    assert.equal(await page.getByLabel("Passphrase", { exact: true }).inputValue(), "typed");
    await page.getByRole("button", { name: "Hide" }).click();
    assert.deepEqual(await typesOf(), ["password", "password"]);
    await setUp(page, server);
    await picture(page, "ready");
    await using client = startClient("127.0.0.1");
    await page.goto(await authorizeUrl(server, client));
    await picture(page, "sign-in");
    await page.getByLabel("Passphrase").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await picture(page, "sign-in-wrong");
    problems.length = 0; // Chromium reports the 403 itself
    await signIn(page);
    await picture(page, "consent");
    await page.setViewportSize({ width: 1_280, height: 800 });
    const allow = await page.getByRole("button", { name: "Allow" }).boundingBox() ?? assert.fail("no button");
    assert.equal(await page.evaluate("scrollY"), 0);
    assert.ok(allow.y >= 0 && allow.y + allow.height <= 800, `Allow is out of sight: ${JSON.stringify(allow)}`);
    await page.getByRole("checkbox", { name: /local model/ }).uncheck();
    await page.getByRole("button", { name: "Allow" }).click();
    const answer = await client.answered;
    assert.ok(answer.get("code")?.startsWith("pca_"));
    assert.equal(answer.get("iss"), server.issuer);
    assert.deepEqual(problems, []);
  },
);

browserTest("the whole flow by keyboard alone", async (browser, server) => {
  const page = await openPage(browser);
  const { keyboard } = page;
  await page.goto(await server.server.issueSetUpLink() ?? "");
  await page.locator("input:focus").waitFor();
  await keyboard.type(passphrase);
  await tabTo(page, page.getByLabel("Repeat the passphrase"));
  await keyboard.type(passphrase);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "This server is ready" }).waitFor();
  await forgetSession(page);
  await using client = startClient("127.0.0.1");
  await page.goto(await authorizeUrl(server, client));
  await typePassphrase(page);
  await page.getByRole("heading", { name: /wants access/ }).waitFor();
  const firstScope = page.getByRole("checkbox").first();
  await tabTo(page, firstScope);
  await keyboard.press("Space"); // unticks it
  assert.equal(await firstScope.isChecked(), false);
  await keyboard.press("Enter"); // decides nothing
  await page.waitForTimeout(300);
  assert.equal(new URL(page.url()).pathname, "/oauth/consent");
  await picture(page, "consent-keyboard");
  await tabTo(page, page.getByRole("button", { name: "Allow" }));
  await keyboard.press("Enter");
  assert.ok((await client.answered).has("code"));
});

for (const host of ["[::1]", "localhost"] as const) {
  browserTest(`the redirect to ${host} gets through`, async (browser, server) => {
    const page = await openPage(browser);
    await setUp(page, server);
    await using client = startClient(host);
    await page.goto(await authorizeUrl(server, client));
    await signIn(page);
    await page.getByRole("button", { name: "Allow" }).click();
    assert.ok((await client.answered).has("code"));
    await page.waitForURL(`http://${host}:*/callback?**`);
  });
}

browserTest("a passphrase form that leads anywhere else is stopped by form-action", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1");
  await using elsewhere = startClient("localhost");
  await page.goto(await authorizeUrl(server, client));
  const refused = page.waitForEvent("console", (message) => /form-action/.test(message.text()));
  await page.evaluate(`document.querySelector("form").action = ${JSON.stringify(elsewhere.redirectUri)}`);
  await page.getByLabel("Passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Sign in" }).click({ noWaitAfter: true });
  await refused;
  assert.equal(new URL(page.url()).origin, server.issuer);
});

browserTest("deny leads back with access_denied", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1");
  await page.goto(await authorizeUrl(server, client));
  await signIn(page);
  await page.getByRole("button", { name: "Deny" }).click();
  assert.equal((await client.answered).get("error"), "access_denied");
});

browserTest("everything works without JavaScript, on a phone's width, in the dark", async (browser, server) => {
  const page = await openPage(browser, {
    javaScriptEnabled: false,
    viewport: { width: 360, height: 720 },
    colorScheme: "dark",
    isMobile: true,
  });
  await page.goto(await server.server.issueSetUpLink() ?? "");
  await picture(page, "phone-set-up");
  await setUp(page, server);
  await picture(page, "phone-ready");
  await using client = startClient("127.0.0.1");
  await page.goto(await authorizeUrl(server, client));
  await picture(page, "phone-sign-in");
  await signIn(page);
  await picture(page, "phone-consent");
  await page.getByRole("button", { name: "Allow" }).click();
  assert.ok((await client.answered).has("code"));
});

browserTest("pages fit a narrow and a wide window, in light and dark", async (browser, server) => {
  const setUpLink = await server.server.issueSetUpLink() ?? "";
  const views = [320, 1280].flatMap((width) =>
    (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme }))
  );
  const pages = await Promise.all(
    views.map(({ width, colorScheme }) => openPage(browser, { viewport: { width, height: 800 }, colorScheme })),
  );
  for (const page of pages) {
    await page.goto(setUpLink);
    await assertFits(page);
  }
  const longHost = { redirectUri: `https://${"a-very-long-name".repeat(3)}.example.test/callback` };
  const url = await authorizeUrl(server, longHost);
  for (const [index, page] of pages.entries()) {
    const { width, colorScheme } = views[index] ?? {};
    if (index === 0) await setUp(page, server);
    await assertFits(page);
    await page.goto(url);
    await assertFits(page);
    await signIn(page);
    await assertFits(page);
    await picture(page, `consent-${width}-${colorScheme}`);
    await page.goto(`${server.issuer}/oauth/authorize?client_id=unknown`);
    await assertFits(page);
    await picture(page, `error-${width}-${colorScheme}`);
  }
});

browserTest("axe-core finds nothing on any page, in light and dark", async (browser, server) => {
  const setUpLink = await server.server.issueSetUpLink() ?? "";
  await using client = startClient("127.0.0.1");
  const url = await authorizeUrl(server, client);
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await openPage(browser, { colorScheme, bypassCSP: true });
    const check = async (name: string): Promise<void> => assert.deepEqual(await accessibilityProblems(page), [], name);
    if (colorScheme === "light") {
      for (const path of ["/", "/mcp", "/oauth/grants"]) {
        await page.goto(`${server.issuer}${path}`);
        await page.getByText("Open the set-up link").waitFor();
        await check(`${path} before set-up`);
      }
      await picture(page, "grants-before-set-up");
      await page.goto(setUpLink);
      await check("set-up");
      await setUp(page, server);
      await page.reload();
      await page.getByRole("heading", { name: "This server is ready" }).waitFor();
      await check("ready");
    }
    await page.goto(server.issuer);
    await page.getByRole("heading", { name: "Connect a client" }).waitFor();
    assert.equal(await page.locator("link[rel=icon]").count(), 1);
    await check("home");
    await assertFits(page);
    await picture(page, `home-${colorScheme}`);
    await page.goto(url);
    await check("sign-in");
    await page.getByLabel("Passphrase").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await check("sign-in with a problem");
    await signIn(page);
    await check("consent");
    await picture(page, `consent-full-${colorScheme}`);
    for (const box of await page.getByRole("checkbox").all()) await box.uncheck();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("alert").waitFor();
    for (const box of await page.getByRole("checkbox").all()) assert.equal(await box.isChecked(), false);
    await check("consent with a problem");
    await page.getByRole("link", { name: "Not you?" }).click();
    await page.getByLabel("User name").waitFor();
    await check("sign-in as another");
    await picture(page, `sign-in-other-${colorScheme}`);
    await page.goto(await authorizeUrl(server, { redirectUri: "https://web.example.test/callback" }));
    await page.getByText("gets this access").waitFor();
    await check("consent with a warning");
    await picture(page, `consent-web-${colorScheme}`);
    for (const path of ["/mcp", "/nowhere"]) {
      await page.goto(`${server.issuer}${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await check(path);
      await assertFits(page);
      await picture(page, `${path.slice(1)}-${colorScheme}`);
    }
    await page.goto(`${server.issuer}/oauth/authorize?client_id=unknown`);
    await check("error");
    await picture(page, `error-${colorScheme}`);
    await approveAndRedeem(page, server);
    await openGrants(page, server);
    await page.getByRole("heading", { name: "Claude Code" }).first().waitFor();
    await check("grants");
    await picture(page, `grants-${colorScheme}`);
    await page.getByRole("button", { name: "Revoke" }).first().click();
    await page.getByText("No client has access.").waitFor();
    await check("grants after revoking");
    await picture(page, `grants-revoked-${colorScheme}`);
    await page.setViewportSize({ width: 320, height: 800 });
    await assertFits(page);
    await picture(page, `grants-320-${colorScheme}`);
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
    await check("signed out");
  }
});

browserTest("a person takes access back and signs out, by keyboard, without JavaScript", async (browser, server) => {
  const page = await openPage(browser, { javaScriptEnabled: false });
  await setUp(page, server);
  await page.goto(`${server.issuer}/oauth/grants`);
  await typePassphrase(page);
  await page.getByText("No client has access.").waitFor();
  await approveAndRedeem(page, server);
  await openGrants(page, server);
  await page.getByRole("button", { name: "Revoke" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("No client has access.").waitFor();
  await page.getByRole("button", { name: "Sign out" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
});

/** Opens the grants page. On plain http the session ended with the last decision, so it asks for the passphrase. */
async function openGrants(page: Page, { issuer }: RunningServer): Promise<void> {
  await page.goto(`${issuer}/oauth/grants`);
  await page.getByLabel("Passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Access", exact: true }).waitFor();
}

/** Lets a new client through the consent page of a signed-in browser, so that there is a grant. */
async function approveAndRedeem(page: Page, server: RunningServer): Promise<void> {
  await using client = startClient("127.0.0.1");
  const url = await authorizeUrl(server, client);
  await page.goto(url);
  await page.getByRole("button", { name: "Allow" }).click();
  const code = (await client.answered).get("code") ?? "";
  const response = await fetch(`${server.issuer}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: new URL(url).searchParams.get("client_id") ?? "",
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
    }),
  });
  assert.equal(response.status, 200, await response.text());
}

browserTest("a page of another site cannot frame the consent page", async (browser, server) => {
  const page = await openPage(browser);
  await setUp(page, server);
  await using client = startClient("127.0.0.1");
  const url = await authorizeUrl(server, client);
  const refused = page.waitForEvent("console", (message) => /frame-ancestors|X-Frame-Options/.test(message.text()));
  await page.goto(client.redirectUri.replace("/callback", "/other"));
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement("iframe"), { src: ${JSON.stringify(url)} }))`,
  );
  await refused;
});
