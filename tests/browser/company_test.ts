/** The story of the company's people with a certified provider, in Chromium, against the started server. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { verifier } from "../authorization_server/harness.ts";
import { type Staff, startCertifiedProvider } from "../fixtures/company_provider/certified.ts";
import { providerClient } from "../fixtures/company_provider/provider.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { startClient } from "./servers.ts";
import { authorizeUrl, openPage, passphrase, picture } from "./steps.ts";

async function startPlace(settings: Record<string, string>, staff: Staff) {
  const port = freePort();
  await using started = new AsyncDisposableStack();
  const place = started.use(await makeServerPlace());
  const provider = started.use(await startCertifiedProvider(`http://127.0.0.1:${port}/oauth/callback`, staff));
  const server = started.use(
    await startServer(place, {
      args: ["--port", String(port)],
      env: {
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: providerClient.id,
        OIDC_CLIENT_SECRET: providerClient.secret,
        OWNER_PASSWORD_HASH: await hashPassword(passphrase),
        ...settings,
      },
    }),
  );
  const kept = started.move();
  return { server, provider, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Signs in on the provider's own pages, which ask for consent of their own the first time. */
async function signInThere(page: Page, name: string, host: string): Promise<void> {
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.locator("input[name=login]").fill(name);
  assert.equal(new URL(page.url()).host, host);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  const more = page.getByRole("button", { name: "Continue" });
  await more.or(page.locator(".shell, h1")).first().waitFor();
  if (await more.isVisible()) await more.click();
}

chromiumTest(
  "company, certified provider: sign-in, consent, call, console, a group less, the provider down",
  async (browser) => {
    const staff: Staff = new Map([
      ["ada", { name: "Ada Lovelace", groups: ["mcp-users", "mcp-admins"] }],
      ["eve", { name: "Eve", groups: ["choir"] }],
    ]);
    await using place = await startPlace({
      OIDC_ALLOW: "group:mcp-users",
      OIDC_GROUPS: "mcp-users=files:read; mcp-admins=administrator",
    }, staff);
    const { server, provider } = place;
    const host = new URL(provider.issuer).host;

    await using client = startClient("127.0.0.1");
    const page = await openPage(browser);
    const url = await authorizeUrl({ issuer: server.url }, client);
    await page.goto(url);
    await assertFits(page);
    assert.deepEqual(await accessibilityProblems(page), []);
    await picture(page, "company-sign-in");
    await signInThere(page, "ada", host);
    await page.getByRole("heading", { name: /wants access/ }).waitFor();
    await page.getByText("Ada Lovelace").waitFor();
    await page.getByText("Your groups do not let you allow this").waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await picture(page, "company-consent");
    await page.getByRole("button", { name: "Allow" }).click();
    const code = (await client.answered).get("code") ?? "";
    const tokens = await fetch(`${server.url}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: new URL(url).searchParams.get("client_id") ?? "",
        redirect_uri: client.redirectUri,
        code,
        code_verifier: verifier,
      }),
    });
    const { access_token: token, scope } = await tokens.json();
    assert.equal(scope, "files:read");
    const listed = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
    const tools = await listed.text();
    assert.match(tools, /file_read/);
    assert.doesNotMatch(tools, /file_write/);

    // the console: on plain http the decision has ended the session
    await page.goto(`${server.url}/console/people`);
    await page.getByRole("link", { name: /Sign in/ }).click();
    await page.getByRole("region", { name: "People who may sign in" }).waitFor();
    await page.getByText(/Company account, in mcp-(users|admins), mcp-(users|admins)/).waitFor();
    await picture(page, "company-people");

    // someone whom no rule lets in
    const other = await openPage(browser);
    await other.goto(`${server.url}/console`);
    await signInThere(other, "eve", host);
    await other.getByRole("heading", { name: "Your company account may not use this server" }).waitFor();

    // a group less, at the next sign-in
    staff.set("ada", { name: "Ada Lovelace", groups: ["mcp-users"] });
    await page.context().clearCookies({ name: /portcullis-session$/ });
    await page.goto(`${server.url}/console/people`);
    await page.getByRole("link", { name: /Sign in/ }).click();
    await page.getByText("This page is for the owner and administrators.").waitFor();

    // the provider is down: the page says so, and the owner's passphrase works
    await place.provider[Symbol.asyncDispose]();
    const owner = await openPage(browser);
    await owner.goto(`${server.url}/console/people`);
    await owner.getByText("Use a passphrase").click();
    await owner.getByLabel("User name").fill("owner");
    await owner.getByLabel("Passphrase", { exact: true }).fill(passphrase);
    await owner.getByRole("button", { name: "Sign in" }).click();
    await owner.getByRole("region", { name: "People who may sign in" }).waitFor();
  },
);

chromiumTest("company, certified provider: the owner links an account, and signs in there anew", async (browser) => {
  const staff: Staff = new Map([["boss", { name: "The Boss", groups: [] }], ["ada", { name: "Ada", groups: [] }]]);
  await using place = await startPlace({}, staff);
  const { server, provider } = place;
  const host = new URL(provider.issuer).host;
  const page = await openPage(browser);
  await page.goto(`${server.url}/oauth/company/link`);
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("input[name=login]").fill("boss");
  assert.equal(new URL(page.url()).host, host);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("You are signed in with your company account.").waitFor();

  await page.context().clearCookies({ name: /portcullis-session$/ });
  await page.goto(`${server.url}/console/people`);
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.getByText("Company account").waitFor();

  // what a dangerous act leads to, some minutes after the sign-in: the password again, and the same person
  const again = `${server.url}/oauth/company?next=console/people&again=1`;
  await page.goto(again);
  await page.locator("input[name=login]").fill("boss");
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("region", { name: "People who may sign in" }).waitFor();
  await page.goto(again);
  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: /may not use this server|signed in as someone else/ }).waitFor();
});
