/**
 * From a typed line to a signed-in tool call, as a newcomer goes: runs a command in an empty home, opens the link that it
 * prints in Chromium, sets a passphrase, lets a client in, writes a file. Prints the words that were to be read and the
 * seconds of each step, and puts a picture of each page into a directory.
 *
 *   deno run --config deno.dev.json -A scripts/try_first_call.ts PICTURES COMMAND [ARGUMENT...]
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { postMcp } from "../tests/fixtures/mcp_call.ts";
import { verifier } from "../tests/authorization_server/harness.ts";
import { launchChromium } from "../tests/browser/chromium.ts";
import { startClient } from "../tests/browser/servers.ts";
import { authorizeUrl, passphrase } from "../tests/browser/steps.ts";

const [pictures = "", command = "", ...args] = Deno.args;
if (command === "") throw new Error("name a directory for the pictures and a command");
await Deno.mkdir(pictures, { recursive: true });
const home = await Deno.makeTempDir({ prefix: "portcullis-newcomer-" });
const kept = [
  "PATH",
  "PORT",
  "DENO_DIR",
  "npm_config_registry",
  "npm_config_cafile",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
];
const env = Object.fromEntries(kept.flatMap((name) => {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value]];
}));

const began = performance.now();
const steps: { readonly name: string; readonly seconds: number; readonly words: number }[] = [];
const step = (name: string, text: string): void => {
  const words = text.split(/\s+/).filter((word) => /[a-z]/i.test(word)).length;
  steps.push({ name, seconds: (performance.now() - began) / 1000, words });
};

const browser = await launchChromium(); // a newcomer's is open already
const child = new Deno.Command(command, {
  args,
  env: { ...env, HOME: home, NO_COLOR: "1", DENO_TLS_CA_STORE: "system" },
  clearEnv: true,
  stdin: "null",
  stdout: "piped",
  stderr: "piped",
}).spawn();
let printed = "";
const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) printed += text;
};
const gathered = Promise.all([gather(child.stdout), gather(child.stderr)]);
let ended = false;
const status = child.status.finally(() => ended = true);
try {
  let link: string | undefined;
  while ((link = /https?:\S+\/setup\?code=\S+/.exec(printed)?.[0]) === undefined || !/listening on/.test(printed)) {
    if (ended) throw new Error(`the command ended:\n${printed}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const said = printed.split("\n").filter((line) => !/^(\{|Download|Task|Initialize|Install|npm )/.test(line)).join(
    "\n",
  );
  step("the link is printed", said);

  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  const look = async (name: string): Promise<void> => {
    await page.screenshot({ path: join(pictures, `${name.replaceAll(" ", "_")}.png`), fullPage: true });
    step(name, await page.locator("body").innerText());
  };
  await page.goto(link);
  await look("the page asks for a passphrase");
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("Repeat the passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Set passphrase" }).click();
  await page.getByRole("heading", { name: "This server is ready" }).waitFor();
  await look("the server is ready");

  const issuer = new URL(link).origin;
  await using client = startClient("127.0.0.1");
  const address = await authorizeUrl({ issuer }, client);
  await page.goto(address);
  await page.getByRole("heading", { name: /wants access/ }).waitFor();
  await look("the client asks for access");
  await page.getByRole("button", { name: "Allow" }).click();
  const code = (await client.answered).get("code") ?? assert.fail("no code");
  const answer = await fetch(`${issuer}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
      client_id: new URL(address).searchParams.get("client_id") ?? "",
    }),
  });
  const { access_token: token } = await answer.json();
  const call = { name: "file_write", arguments: { path: "hello.txt", content: "hello\n" } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };
  const called = await (await postMcp(issuer, message, { token })).json();
  assert.ok(called.result?.isError !== true && called.error === undefined, JSON.stringify(called));
  step("a tool is called", "");
} finally {
  if (!ended) child.kill("SIGTERM");
  await status;
  await gathered;
  await browser.close();
  await Deno.remove(home, { recursive: true });
}
const lines = steps.map(({ name, seconds, words }) =>
  `  ${seconds.toFixed(1).padStart(6)} s  ${name}: ${words} words\n`
);
const total = steps.reduce((sum, { words }) => sum + words, 0);
process.stdout.write(`${[command, ...args].join(" ")}\n${lines.join("")}  ${total} words in all\n`);
