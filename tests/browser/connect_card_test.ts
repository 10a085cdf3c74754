/** The connect card by keyboard, for a screen reader, in a narrow dark window, and live while its session has ended. */
import assert from "node:assert/strict";
import { ownerPassphrase } from "../fixtures/owner.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { chromiumTest } from "./chromium.ts";
import { accessibilityProblems, assertFits } from "./page_checks.ts";

chromiumTest(
  "the connect card works by keyboard, fits, and turns live when a client has its token",
  async (browser) => {
    await using place = await makeServerPlace();
    await using server = await startServer(place);
    const context = await browser.newContext({ viewport: { width: 375, height: 800 }, colorScheme: "dark" });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(server.setUpLink ?? "");
    await page.fill("#passphrase", ownerPassphrase);
    await page.fill("#confirmation", ownerPassphrase);
    await page.click("button[type=submit]");
    await page.getByText("Waiting for your first connection…").waitFor();
    for (const path of ["/", "/console", "/setup?ready"]) {
      await page.goto(`${server.url}${path}`);
      await page.focus("input[value=claude-code]");
      await page.keyboard.press("ArrowRight");
      assert.match(await page.locator(".panel:visible pre").innerText(), /mcpServers/);
      await assertFits(page);
      assert.deepEqual(await accessibilityProblems(page), [], path);
    }
    const callback = "http://127.0.0.1:9/callback";
    const registered = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "Claude <Code>",
        redirect_uris: [callback],
        token_endpoint_auth_method: "none",
      }),
    });
    const { client_id } = await registered.json();
    const code_verifier = "a".repeat(50);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(code_verifier)));
    const code_challenge = digest.toBase64({ alphabet: "base64url", omitPadding: true });
    const asked = {
      response_type: "code",
      client_id,
      redirect_uri: callback,
      code_challenge,
      code_challenge_method: "S256",
    };
    const consent = await context.newPage();
    await consent.goto(`${server.url}/oauth/authorize?${new URLSearchParams(asked)}`);
    const sentBack = consent.waitForRequest(/127\.0\.0\.1:9\/callback/);
    await consent.click("button[value=allow]");
    const code = new URL((await sentBack).url()).searchParams.get("code") ?? "";
    const grant = { grant_type: "authorization_code", code, client_id, redirect_uri: callback, code_verifier };
    const token = await fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams(grant) });
    assert.equal(token.status, 200, await token.text());
    await page.getByText("Claude <Code> is connected.").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  },
);
