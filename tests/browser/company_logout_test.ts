/** Who signs out at a certified provider, in Chromium, is signed out here at once (back-channel logout). */
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { startCertifiedProvider } from "../fixtures/company_provider/certified.ts";
import { providerClient } from "../fixtures/company_provider/provider.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { chromiumTest } from "./chromium.ts";
import { openPage, passphrase } from "./steps.ts";

chromiumTest("company, certified provider: signing out there ends the console's session here", async (browser) => {
  const port = freePort();
  const staff = new Map([["ada", { name: "Ada Lovelace", groups: [] }]]);
  await using provider = await startCertifiedProvider(`http://127.0.0.1:${port}/oauth/callback`, staff);
  await using place = await makeServerPlace();
  await using server = await startServer(place, {
    args: ["--port", String(port)],
    env: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: providerClient.id,
      OIDC_CLIENT_SECRET: providerClient.secret,
      OIDC_ALLOW: "sub:ada",
      OWNER_PASSWORD_HASH: await hashPassword(passphrase),
    },
  });
  const page = await openPage(browser);
  await page.goto(`${server.url}/console`);
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();

  const there = await page.context().newPage();
  await there.goto(`${provider.issuer}/session/end`);
  await there.getByRole("button", { name: /Yes, sign me out/ }).click();
  await until("the session to end", async () => {
    await page.goto(`${server.url}/console`);
    return await page.getByRole("link", { name: /Sign in with your company account/ }).isVisible();
  });
});
