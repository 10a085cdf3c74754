/** The story of the company's people with a certified provider, in Chromium, against the started server. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Bounds } from "../../src/app/installation.ts";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { verifier } from "../authorization_server/harness.ts";
import { type Staff, startCertifiedProvider } from "../fixtures/company_provider/certified.ts";
import { providerClient } from "../fixtures/company_provider/provider.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { startClient } from "./servers.ts";
import { authorizeUrl, openPage, passphrase, picture } from "./steps.ts";

async function startPlace(settings: Record<string, string>, staff: Staff, bounds?: Bounds) {
  const port = freePort();
  await using started = new AsyncDisposableStack();
  const place = started.use(await makeServerPlace());
  const provider = started.use(await startCertifiedProvider(`http://127.0.0.1:${port}/oauth/callback`, staff));
  const server = started.use(
    await startServer(place, {
      ...bounds === undefined ? { args: ["--port", String(port)] } : { bounds },
      env: {
        ...bounds && { PORT: String(port) },
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: providerClient.id,
        OIDC_CLIENT_SECRET: providerClient.secret,
        OWNER_PASSWORD_HASH: await hashPassword(passphrase),
        ...settings,
      },
    }),
  );
  const kept = started.move();
  return { server, provider, workspaceDir: place.workspaceDir, [Symbol.asyncDispose]: () => kept.disposeAsync() };
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

/** The token for the code that a client got. */
async function redeem(
  server: RunningServer,
  { url, code, redirectUri }: { readonly url: string; readonly code: string; readonly redirectUri: string },
): Promise<{ readonly token: string; readonly scope: string }> {
  const tokens = await fetch(`${server.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: new URL(url).searchParams.get("client_id") ?? "",
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    }),
  });
  const { access_token: token, scope } = await tokens.json();
  return { token, scope };
}

/** What a request of a client is answered with, as it is on the wire. */
async function ask(server: RunningServer, token: string, method: string, params: unknown): Promise<string> {
  const answer = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return await answer.text();
}

/** Types a name on the provider's page. */
async function typeNameThere(page: Page, name: string): Promise<void> {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
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
    const { token, scope } = await redeem(server, { url, code, redirectUri: client.redirectUri });
    assert.equal(scope, "files:read");
    const tools = await ask(server, token, "tools/list", {});
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
  await typeNameThere(page, "boss");
  await page.getByRole("region", { name: "People who may sign in" }).waitFor();
  await page.goto(again);
  await typeNameThere(page, "ada");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: /may not use this server|signed in as someone else/ }).waitFor();
});

chromiumTest("company, certified provider: a lasting approval asks for a new sign-in there", async (browser) => {
  const groups = ["mcp-users", "mcp-admins"];
  const staff: Staff = new Map([["ada", { name: "Ada Lovelace", groups }], ["eve", { name: "Eve", groups }]]);
  const signInCountsMs = 20_000;
  const settings = { OIDC_ALLOW: "group:mcp-users", OIDC_GROUPS: "mcp-users=files:write; mcp-admins=administrator" };
  await using place = await startPlace(settings, staff, { approval: { patienceMs: 500, signInCountsMs } });
  const { server, provider } = place;
  const host = new URL(provider.issuer).host;
  await using client = startClient("127.0.0.1");
  const page = await openPage(browser);
  const url = `${await authorizeUrl({ issuer: server.url }, client)}&scope=files:read+files:write`;
  await page.goto(url);
  await signInThere(page, "ada", host);
  await page.getByRole("button", { name: "Allow" }).click();
  const code = (await client.answered).get("code") ?? "";
  const { token } = await redeem(server, { url, code, redirectUri: client.redirectUri });
  const write = () =>
    ask(server, token, "tools/call", { name: "file_write", arguments: { filename: "a.txt", content: "a" } });

  /** What the way to the provider asks for. */
  const signInAgain = async (name: string): Promise<void> => {
    const sent = page.waitForRequest((request) => request.url().startsWith(`${provider.issuer}/auth?`));
    await page.getByRole("link", { name: "Sign in again" }).click();
    const asked = new URL((await sent).url()).searchParams;
    assert.deepEqual([asked.get("prompt")?.split(" ").includes("login"), asked.get("max_age")], [true, "0"]);
    await typeNameThere(page, name);
    const more = page.getByRole("button", { name: "Continue" });
    await more.or(page.locator(".shell, h1")).first().waitFor();
    if (await more.isVisible()) await more.click();
  };
  const askBeforeChanges = () => page.getByRole("button", { name: "Ask before anything is changed" }).click();
  await page.goto(`${server.url}/console/rules`);
  await page.getByRole("link", { name: /Sign in/ }).click(); // single sign-on, which confirms nothing
  await askBeforeChanges();
  await signInAgain("ada");
  await askBeforeChanges();
  await page.getByText("The rule was added.").waitFor();
  assert.match(await write(), /"isError":true/);
  await new Promise((resolve) => setTimeout(resolve, signInCountsMs)); // the sign-in is older now

  const approveForAnHour = async (): Promise<void> => {
    await page.goto(`${server.url}/console/decisions`);
    await page.getByLabel(/for an hour/).check();
    await page.getByRole("button", { name: "Approve" }).click();
  };
  await approveForAnHour();
  await page.getByText("Nothing was changed yet").waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await picture(page, "company-step-up");
  assert.match(await write(), /"isError":true/, "nothing is decided yet");

  await signInAgain("ada");
  await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
  await approveForAnHour();
  await page.getByText("Approved: ").first().waitFor();
  assert.match(await write(), /"isError":false/);

  // someone else's sign-in there decides nothing, though they may administer this server, too
  const remove = () => ask(server, token, "tools/call", { name: "file_delete", arguments: { path: "a.txt" } });
  assert.match(await remove(), /"isError":true/);
  await new Promise((resolve) => setTimeout(resolve, signInCountsMs));
  await approveForAnHour();
  await page.getByText("Nothing was changed yet").waitFor();
  await signInAgain("eve");
  await page.getByRole("heading", { name: "You signed in as someone else" }).waitFor();
  // this provider has signed Ada out, since someone else came to her browser
  assert.doesNotMatch(await remove(), /"isError":false/);
  assert.equal(await Deno.readTextFile(`${place.workspaceDir}/a.txt`), "a");
});
