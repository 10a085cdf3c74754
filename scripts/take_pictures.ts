/**
 * `deno run -A --config deno.dev.json scripts/take_pictures.ts`: takes the pictures of the documentation anew, in light
 * and dark: the first five minutes of a new owner with a server as it is started. Needs Chromium (CHROMIUM_PATH).
 */
import { createHash, randomBytes } from "node:crypto";
import process from "node:process";
import type { Page } from "playwright-core";
import { launchChromium, missingBrowser } from "../tests/browser/chromium.ts";
import { postMcp, toolCall } from "../tests/fixtures/mcp_call.ts";
import { ownerPassphrase } from "../tests/fixtures/owner.ts";
import { makeServerPlace, startServer } from "../tests/fixtures/running_server.ts";
import { root } from "./bundle.ts";
import { toPalettePng } from "./palette_png.ts";

const directory = `${root}docs/pictures`;
const viewport = { width: 480, height: 700 };
const wideViewport = { width: 1080, height: 640 };
const maxBytes = 60_000;
const redirectUri = "http://localhost:8912/callback";
const codeVerifier = randomBytes(32).toString("base64url");

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

    const { url } = server;
    const clientId = await register(url, "Claude Code");
    await page.goto(authorizationUrl(url, clientId));
    await page.getByRole("button", { name: "Allow" }).waitFor();
    await keep(page, `consent-${colorScheme}`);
    const token = await allow(page, url, clientId);
    await Deno.mkdir(`${place.workspaceDir}/reports/2025`, { recursive: true });
    for (const name of ["january.md", "february.md"]) {
      await Deno.writeTextFile(`${place.workspaceDir}/reports/2025/${name}`, `# ${name}\n`);
    }
    await takeConsolePictures(page, { url, token, colorScheme });
  }
} finally {
  await browser.close();
}

async function register(url: string, name: string, more: Record<string, string> = {}): Promise<string> {
  const registered = await fetch(`${url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  return (await registered.json()).client_id;
}

/** Where a client sends its person. */
function authorizationUrl(url: string, clientId: string): string {
  return `${url}/oauth/authorize?${new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "files:read files:write llm:generate",
    code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
  })}`;
}

/** The person allows; the client gets its code, and a token for it. */
async function allow(page: Page, url: string, clientId: string): Promise<string> {
  const { promise: code, resolve } = Promise.withResolvers<string>();
  const { hostname, port } = new URL(redirectUri);
  const callback = Deno.serve({ hostname, port: Number(port), onListen: () => {} }, (request) => {
    resolve(new URL(request.url).searchParams.get("code") ?? "");
    return new Response("You can close this window.");
  });
  await page.getByRole("button", { name: "Allow" }).click();
  const answer = await fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code: await code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    }),
  });
  await page.waitForURL(`${redirectUri}*`);
  await callback.shutdown();
  return (await answer.json()).access_token;
}

interface Desk {
  readonly url: string;
  readonly token: string;
  readonly colorScheme: string;
}

/** Watches the first calls, sees an edit with its undo, holds a delete, denies it. */
async function takeConsolePictures(page: Page, { url, token, colorScheme }: Desk): Promise<void> {
  const call = async (tool: string, input: Record<string, unknown>): Promise<void> => {
    await (await postMcp(url, toolCall(tool, input), { token })).body?.cancel();
  };
  await page.setViewportSize(wideViewport);
  await page.goto(`${url}/console/activity`);
  await page.getByLabel("Passphrase").fill(ownerPassphrase);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Running now" }).waitFor();
  await call("file_write", { filename: "notes.md", content: "# Notes\n\nCall ada on Monday.\nOrder a new badge.\n" });
  await call("file_read", { filename: "notes.md" });
  await call("file_edit", { path: "notes.md", edits: [{ old_text: "Monday", new_text: "Tuesday" }] });
  await call("file_list", { path: "reports", depth: 2 });
  await page.getByText("file_list").first().waitFor();
  await keep(page, `console-live-${colorScheme}`);
  await page.goto(`${url}/console/connections`);
  await keep(page, `console-connections-${colorScheme}`);

  await page.goto(`${url}/console/rules`);
  await page.getByRole("button", { name: "Ask before anything is changed" }).click();
  await page.getByText("wait for approval now").waitFor();
  const deleting = call("file_delete", { path: "reports/2025", recursive: true });
  await page.goto(`${url}/console/decisions`);
  await page.getByRole("button", { name: "Deny" }).waitFor();
  await page.getByLabel("Message to the agent (optional)").fill("Keep the reports of last year.");
  await keep(page, `console-decision-${colorScheme}`);
  await page.getByRole("button", { name: "Deny" }).click();
  await deleting;

  await page.goto(`${url}/console/activity?tool=file_edit`);
  while (await page.getByRole("link", { name: "notes.md" }).count() === 0) await page.reload(); // stored a second later
  await page.getByRole("link", { name: "notes.md" }).click();
  await page.getByRole("button", { name: "Undo this change" }).waitFor();
  await keep(page, `console-change-${colorScheme}`);

  await tryInVain(page, url);
  await page.goto(`${url}/console/why`);
  await page.getByText("Stopped", { exact: true }).waitFor({ timeout: 30_000 });
  await keep(page, `console-why-${colorScheme}`, { fullPage: false });
}

/** A second client registers, and then asks to be answered at another address. */
async function tryInVain(page: Page, url: string): Promise<void> {
  const headers = { "user-agent": "Cursor/3.1", "content-type": "application/json" };
  await (await fetch(`${url}/mcp`, { method: "POST", headers, body: "{}" })).body?.cancel();
  await (await fetch(`${url}/.well-known/oauth-authorization-server`, { headers })).body?.cancel();
  const clientId = await register(url, "Cursor", headers);
  const wrong = new URL(authorizationUrl(url, clientId));
  wrong.searchParams.set("redirect_uri", "http://localhost:8912/other");
  await page.goto(wrong.href);
}

async function keep(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  const bytes = toPalettePng(await page.screenshot({ fullPage }));
  if (bytes.length > maxBytes) throw new Error(`${name}.png has ${bytes.length} bytes, more than ${maxBytes}`);
  await Deno.writeFile(`${directory}/${name}.png`, bytes);
  process.stdout.write(`${directory}/${name}.png  ${bytes.length} bytes\n`);
}
