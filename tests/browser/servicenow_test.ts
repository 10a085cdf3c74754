import assert from "node:assert/strict";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { startServicenowServer } from "../fixtures/servicenow/server.ts";
import { chromiumTest } from "./chromium.ts";

const passphrase = "correct horse battery";

chromiumTest(
  "an account is linked in Chromium, through an instance that sends people on to its single sign-on",
  async (browser) => {
    await using place = await startServicenowServer({
      SIGN_IN: "local",
      OWNER_PASSWORD_HASH: await hashPassword(passphrase),
    });
    const { server, instance } = place;
    const singleSignOn = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const back = new URL(request.url).searchParams.get("return") ?? "";
      return new Response(null, { status: 302, headers: { location: back } });
    });
    instance.oauth.habits.singleSignOn = `http://127.0.0.1:${singleSignOn.addr.port}/`;
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(`${server.url}/servicenow/link`);
      await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("Not linked").waitFor();
      await page.getByRole("button", { name: "Link" }).click();
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill("ada-secret");
      assert.equal(new URL(page.url()).origin, instance.origin);
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByText("Ada Lovelace (ada)").waitFor();
      assert.equal(page.url(), `${server.url}/servicenow/link`);
      await page.getByRole("button", { name: "Unlink" }).click();
      await page.getByText("Not linked").waitFor();
    } finally {
      await singleSignOn.shutdown();
    }
  },
);
