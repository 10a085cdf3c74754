/** What a person does in a real browser, step by step. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { challenge } from "../authorization_server/harness.ts";
import { chromiumTest } from "./chromium.ts";
import { type RunningServer, startServer, type WaitingClient } from "./servers.ts";

export const passphrase = "correct horse battery";
const screenshots = Deno.env.get("SCREENSHOTS");

/** A test with a browser and a server of its own; without Chromium it is skipped by name. */
export function browserTest(name: string, run: (browser: Browser, server: RunningServer) => Promise<void>): void {
  chromiumTest(name, async (browser) => {
    await using server = await startServer();
    await run(browser, server);
  });
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60_000);
  return page;
}

export async function picture(page: Page, name: string): Promise<void> {
  if (screenshots !== undefined) await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
}

export async function setUp(page: Page, { server }: RunningServer): Promise<void> {
  await page.goto(await server.issueSetUpLink() ?? "");
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("Repeat the passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Set passphrase" }).click();
  await page.getByRole("heading", { name: "This server is ready" }).waitFor();
  await forgetSession(page);
}

/** Set-up has signed in: without its session, the next page asks for the passphrase. */
export async function forgetSession(page: Page): Promise<void> {
  await page.context().clearCookies({ name: /portcullis-session$/ });
}

/** Types into the field that the page itself gave the focus, a moment after loading, and sends the form. */
export async function typePassphrase(page: Page): Promise<void> {
  await page.locator("input:focus").waitFor();
  await page.keyboard.type(passphrase);
  await page.keyboard.press("Enter");
}

export async function authorizeUrl(
  { issuer }: Pick<RunningServer, "issuer">,
  client: Pick<WaitingClient, "redirectUri">,
): Promise<string> {
  const response = await fetch(`${issuer}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Claude Code",
      redirect_uris: [client.redirectUri],
      token_endpoint_auth_method: "none",
    }),
  });
  const { client_id } = await response.json();
  return authorizeUrlOf(issuer, client_id, client);
}

/** The same for a client that is registered. */
export function authorizeUrlOf(
  issuer: string,
  clientId: string,
  { redirectUri }: Pick<WaitingClient, "redirectUri">,
): string {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "s",
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  return `${issuer}/oauth/authorize?${query}`;
}

export async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: /wants access/ }).waitFor();
}
