/** From a typed line to a signed-in tool call, as a newcomer goes: what they read on the way, and how long it takes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { verifier } from "../authorization_server/harness.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openTerminal } from "../fixtures/terminal.ts";
import { until } from "../fixtures/until.ts";
import { launchChromium } from "./chromium.ts";
import { startClient } from "./servers.ts";
import { authorizeUrl, authorizeUrlOf, openPage, passphrase } from "./steps.ts";

/** Terminal and pages together. */
const maxWordsToRead = 150;

interface Step {
  readonly name: string;
  /** Since the line was typed. */
  readonly seconds: number;
  readonly text: string;
}

type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** What a newcomer types, and what is about their machine. */
interface FirstCall {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Called once the link is printed, for a server whose certificate the machine does not trust. */
  readonly fetching?: () => Promise<Fetch>;
  /** Gives a client's id, where none registers by itself. */
  readonly register?: (redirectUri: string) => Promise<string>;
  /** A directory for a picture and the text of each step. */
  readonly pictures?: string | undefined;
}

/**
 * Goes the whole way in an empty home, with a browser that runs already. Prints the seconds and words of each step;
 * throws where there are more words than {@link maxWordsToRead}. Gives the terminal's text.
 */
export async function tryFirstCall(
  name: string,
  { env, chromium = [], pictures = picturesOf(name), ...call }: FirstCall & { readonly chromium?: readonly string[] },
): Promise<string> {
  const home = await Deno.makeTempDir({ prefix: "portcullis-newcomer-" });
  const browser = await launchChromium(...chromium);
  try {
    const page = await openPage(browser, { ignoreHTTPSErrors: true });
    if (pictures !== undefined) await Deno.mkdir(pictures, { recursive: true });
    const steps = await walk({ ...call, env: { HOME: home, ...env }, pictures, page });
    const lines = steps.map((step) =>
      `  ${step.seconds.toFixed(1).padStart(6)} s  ${step.name}: ${wordsOf(step.text)} words`
    );
    const total = steps.reduce((sum, { text }) => sum + wordsOf(text), 0);
    const report = [name, ...lines, `  ${total} words in all`].join("\n");
    if (pictures !== undefined) process.stdout.write(`${report}\n`);
    assert.ok(total <= maxWordsToRead, report);
    return steps.at(-1)?.text ?? "";
  } finally {
    await browser.close();
    await Deno.remove(home, { recursive: true });
  }
}

/** SCREENSHOTS names a directory for those of tests. */
function picturesOf(name: string): string | undefined {
  const directory = process.env["SCREENSHOTS"];
  return directory === undefined ? undefined : join(directory, name);
}

/** Words that a person reads: the launcher's own lines are about its downloads, and a number by itself is no word. */
function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /[a-z]/i.test(word)).length;
}

/** The steps; the last has the terminal's whole text. Ends the server with Ctrl-C. */
async function walk(
  { command, args, env, page, fetching, register, pictures }: FirstCall & { readonly page: Page },
): Promise<readonly Step[]> {
  const began = performance.now();
  const steps: Step[] = [];
  const step = async (name: string, text: string): Promise<void> => {
    steps.push({ name, seconds: (performance.now() - began) / 1_000, text });
    if (pictures !== undefined) await Deno.writeTextFile(join(pictures, `${name.replaceAll(" ", "_")}.txt`), text);
  };
  const look = async (name: string): Promise<void> => {
    if (pictures !== undefined) {
      await page.screenshot({ path: join(pictures, `${name.replaceAll(" ", "_")}.png`), fullPage: true });
    }
    await step(name, await page.locator("body").innerText());
  };
  await using terminal = openTerminal([command, ...args], env);
  await until("the first lines", () => /connection…|listening on/.test(terminal.text()) || terminal.hasEnded());
  const link = /https?:\S+\/setup\?code=\S+/.exec(terminal.text())?.[0] ?? assert.fail(terminal.text());
  await step("the link is printed", "");
  const ask = await fetching?.() ?? fetch;

  await page.goto(link);
  await look("the page asks for a passphrase");
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("Repeat the passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Set passphrase" }).click();
  await page.getByRole("heading", { name: "This server is ready" }).waitFor();
  await look("the server is ready");

  const issuer = new URL(link).origin;
  await using client = startClient("127.0.0.1");
  const clientId = await register?.(client.redirectUri);
  const address = clientId === undefined
    ? await authorizeUrl({ issuer }, client)
    : authorizeUrlOf(issuer, clientId, client);
  await page.goto(address);
  await page.getByRole("heading", { name: /wants access/ }).waitFor();
  await look("the client asks for access");
  await page.getByRole("button", { name: "Allow" }).click();
  const code = (await client.answered).get("code") ?? assert.fail("no code");
  const answer = await ask(`${issuer}/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
      client_id: new URL(address).searchParams.get("client_id") ?? "",
    }),
  });
  const { access_token: token } = await answer.json();
  const initialize = {
    ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "claude-code", version: "2.0" } },
  };
  await (await postMcp(issuer, initialize, { token, fetch: ask })).body?.cancel();
  const call = toolCall("file_write", { path: "hello.txt", content: "hello\n" });
  const called = JSON.parse(JSON.stringify(await (await postMcp(issuer, call, { token, fetch: ask })).json()));
  assert.ok(called.error === undefined && called.result?.isError !== true, JSON.stringify(called));
  await until("the terminal's second sentence", () => terminal.text().includes("Claude Code is connected."));
  await step("a tool is called", terminal.text());
  return steps;
}
