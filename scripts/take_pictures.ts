/**
 * `deno task pictures`: takes the README's pictures of the pages anew, in light and dark, of a server as it is started.
 * Needs Chromium (CHROMIUM_PATH).
 */
import { randomBytes } from "node:crypto";
import process from "node:process";
import type { Page } from "playwright-core";
import { launchChromium, missingBrowser } from "../tests/browser/chromium.ts";
import { ownerPassphrase } from "../tests/fixtures/owner.ts";
import { makeServerPlace, startServer } from "../tests/fixtures/running_server.ts";
import { root } from "./bundle.ts";
import { toPalettePng } from "./palette_png.ts";

const directory = `${root}docs/pictures`;
const viewport = { width: 480, height: 700 };
const maxBytes = 60_000;

if (missingBrowser !== null) {
  process.stderr.write(`error: ${missingBrowser}\n`);
  process.exit(1);
}
await Deno.mkdir(directory, { recursive: true });
const browser = await launchChromium();
try {
  for (const colorScheme of ["light", "dark"] as const) {
    await using place = await makeServerPlace();
    await using server = await startServer(place, { args: ["--port", "3000"] });
    const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
    await page.goto(server.setUpLink ?? "");
    await keep(page, `set-up-${colorScheme}`);
    await page.getByLabel("Passphrase", { exact: true }).fill(ownerPassphrase);
    await page.getByLabel("Repeat the passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Set passphrase" }).click();
    await page.getByRole("heading", { name: "This server is ready" }).waitFor();

    await page.goto(await authorizationUrl(server.url));
    await page.getByLabel("Passphrase").fill(ownerPassphrase);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Allow" }).waitFor();
    await keep(page, `consent-${colorScheme}`);
  }
} finally {
  await browser.close();
}

/** Where a client sends its person. */
async function authorizationUrl(url: string): Promise<string> {
  const redirectUri = "http://localhost:8912/callback";
  const registered = await fetch(`${url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Claude Code",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
    }),
  });
  const { client_id: clientId } = await registered.json();
  return `${url}/oauth/authorize?${new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "files:read files:write llm:generate",
    code_challenge: randomBytes(32).toString("base64url"),
    code_challenge_method: "S256",
  })}`;
}

async function keep(page: Page, name: string): Promise<void> {
  const bytes = toPalettePng(await page.screenshot({ fullPage: true }));
  if (bytes.length > maxBytes) throw new Error(`${name}.png has ${bytes.length} bytes, more than ${maxBytes}`);
  await Deno.writeFile(`${directory}/${name}.png`, bytes);
  process.stdout.write(`${directory}/${name}.png  ${bytes.length} bytes\n`);
}
