/** The story of the company's people with Debian's glewlwyd, in Chromium, against the started server: who leaves is out. */
import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { verifier } from "../authorization_server/harness.ts";
import { type Glewlwyd, startGlewlwyd } from "../fixtures/company_provider/glewlwyd.ts";
import { providerClient } from "../fixtures/company_provider/provider.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { launchChromium, missingBrowser } from "./chromium.ts";
import { type RunningServer, startClient, startServer } from "./servers.ts";
import { authorizeUrl, openPage, passphrase } from "./steps.ts";

const password = "her password there";

/** With a server here, which asks the provider again at every use. */
async function startPlace() {
  const rules = parseAllow("group:mcp-users; group:mcp-readers");
  const rights = parseGroups("mcp-users=files:read files:write; mcp-readers=files:read");
  assert.ok(rules.ok && rights.ok);
  await using started = new AsyncDisposableStack();
  const provider = started.use(await startGlewlwyd());
  const server = started.use(
    await startServer({
      ownerPasswordHash: await hashPassword(passphrase),
      company: {
        issuer: provider.issuer,
        clientId: providerClient.id,
        clientSecret: providerClient.secret,
        allow: rules.value,
        groups: rights.value,
        groupsClaim: "groups",
        recheckMs: 1,
        assertions: false,
        fetch,
      },
    }),
  );
  await provider.addClient(server.issuer);
  await provider.employ("ada", password, ["mcp-users", "choir"]);
  const kept = started.move();
  return { server, provider, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Signs in on glewlwyd's own pages, wherever they are at the moment. */
async function signInThere(page: Page, { origin }: Glewlwyd): Promise<void> {
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.locator("input#username").fill("ada");
  assert.equal(new URL(page.url()).origin, origin);
  await page.locator("input#password").fill(password);
  await page.locator("#loginbut").click();
  await passConsent(page, origin);
}

/** Its own consent, which it asks for once, and its page in between. */
async function passConsent(page: Page, origin: string): Promise<void> {
  const grant = page.getByRole("button", { name: "Grant access", exact: true });
  const go = page.getByRole("button", { name: "Continue" });
  await until("the browser to come back", async () => {
    if (new URL(page.url()).origin !== origin) return true;
    for (const button of [grant, go]) {
      if (await button.isVisible() && await button.isEnabled()) await button.click({ timeout: 1_000 }).catch(() => {});
    }
    return false;
  });
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

/** Signs in there, consents here, and redeems the code. */
async function connect(browser: Browser, { server, provider }: Awaited<ReturnType<typeof startPlace>>) {
  await using client = startClient("127.0.0.1");
  const page = await openPage(browser);
  const url = await authorizeUrl(server, client);
  await page.goto(url);
  await signInThere(page, provider);
  await page.getByRole("heading", { name: /wants access/ }).waitFor();
  await page.getByRole("button", { name: "Allow" }).click();
  const clientId = new URL(url).searchParams.get("client_id") ?? "";
  const ask = async (form: Record<string, string>): Promise<Tokens> => {
    const body = new URLSearchParams({ client_id: clientId, ...form });
    return await (await fetch(`${server.issuer}/oauth/token`, { method: "POST", body })).json();
  };
  const code = (await client.answered).get("code") ?? "";
  const tokens = await ask({
    grant_type: "authorization_code",
    redirect_uri: client.redirectUri,
    code,
    code_verifier: verifier,
  });
  return { page, tokens, ask };
}

/** What a token is good for now; `null` when it has ended. */
async function scopesNow({ server }: RunningServer, { access_token: token }: Tokens): Promise<string | null> {
  const verified = await server.verifier.verify(token);
  return verified.ok ? [...verified.value.scopes].sort().join(" ") : null;
}

function story(name: string, run: (browser: Browser) => Promise<void>): void {
  const missing = missingBrowser ?? (hasProgram("glewlwyd") ? null : "there is no glewlwyd");
  Deno.test({
    ...skippedUnless(missing === null, missing ?? "", name),
    fn: async () => {
      const browser = await launchChromium();
      try {
        await run(browser);
      } finally {
        await browser.close();
      }
    },
  });
}

story("company, glewlwyd: sign-in, consent, a group less, and a person deleted there is out", async (browser) => {
  await using place = await startPlace();
  const { server, provider } = place;
  const { page, tokens, ask } = await connect(browser, place);
  assert.equal(tokens.scope, "files:read files:write");
  assert.equal(await scopesNow(server, tokens), "files:read files:write");
  await provider.alter("ada", { groups: ["mcp-readers"] });
  assert.equal(await scopesNow(server, tokens), "files:read");
  const renewed = await ask({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
  assert.equal(renewed.scope, "files:read");
  await page.goto(`${server.issuer}/oauth/grants`);
  await page.getByRole("link", { name: /Sign in/ }).click(); // there she is still signed in
  await passConsent(page, provider.origin);
  await page.getByText("Sign out").waitFor();
  // For people who are disabled, glewlwyd 2.7 goes on refreshing.
  await provider.change("DELETE", "/user/ada", undefined);
  assert.equal(await scopesNow(server, renewed), null);
  await page.goto(`${server.issuer}/oauth/grants`);
  await page.getByRole("link", { name: /Sign in/ }).waitFor();
});
