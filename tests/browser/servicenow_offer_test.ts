import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";
import { openPage } from "./steps.ts";

const passphrase = "correct horse battery";

async function reachConsent(page: Page, authorize: string): Promise<void> {
  await page.goto(authorize);
  const sign = page.getByRole("button", { name: "Sign in" });
  await sign.or(page.getByRole("button", { name: "Allow" })).waitFor();
  if (await sign.isVisible()) {
    await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
    await sign.click();
  }
  await page.getByRole("heading", { name: "Desk wants access" }).waitFor();
}

chromiumTest(
  "on the consent page in Chromium, an account is linked or left for later, and the application gets its code",
  async (browser) => {
    await using place = await startServicenowServer({
      SIGN_IN: "local",
      OWNER_PASSWORD_HASH: await hashPassword(passphrase),
    });
    const { server, instance } = place;
    // The way to the instance and the way to the application both go through redirects to other origins.
    const elsewhere = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const { pathname, searchParams, search, port } = new URL(request.url);
      const back = searchParams.get("return");
      if (back !== null) return new Response(null, { status: 302, headers: { location: back } });
      if (pathname === "/done") return new Response("connected", { headers: { "content-type": "text/plain" } });
      return new Response(null, {
        status: 302,
        headers: { location: `http://localhost:${port}/done${search}` },
      });
    });
    const origin = `http://127.0.0.1:${elsewhere.addr.port}`;
    instance.oauth.habits.singleSignOn = `${origin}/`;
    const registered = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "Desk", redirect_uris: [`${origin}/callback`] }),
    });
    const { client_id: clientId } = await registered.json();
    const authorize = `${server.url}/oauth/authorize?${new URLSearchParams({
      ...{ response_type: "code", client_id: clientId, redirect_uri: `${origin}/callback`, state: "s" },
      ...{ scope: "servicenow:read", code_challenge: "c".repeat(43), code_challenge_method: "S256" },
    })}`;
    try {
      const page = await openPage(browser, { bypassCSP: false, viewport: { width: 320, height: 800 } });
      await reachConsent(page, authorize);
      await assertFits(page);
      assert.deepEqual(await accessibilityProblems(page), []);
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("connected").waitFor();
      assert.ok(new URL(page.url()).searchParams.has("code"));

      await reachConsent(page, authorize);
      await page.getByRole("button", { name: "Link your ServiceNow account first" }).click();
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill("ada-secret");
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("Ada Lovelace (ada)").waitFor();
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("connected").waitFor();
      assert.ok(new URL(page.url()).searchParams.has("code"));
    } finally {
      await elsewhere.shutdown();
    }
  },
);
