/**
 * From a typed line to a signed-in tool call, as a newcomer goes (tests/browser/first_call.ts): runs a command in an
 * empty home, prints the seconds and the words of each step, and puts a picture and the text of each into a directory.
 *
 *   deno run --config deno.dev.json -A scripts/try_first_call.ts PICTURES COMMAND [ARGUMENT...]
 */
import process from "node:process";
import { walkToFirstCall, wordsOf } from "../tests/browser/first_call.ts";
import { launchChromium } from "../tests/browser/chromium.ts";

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
const browser = await launchChromium(); // a newcomer's is open already
try {
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  const own = { HOME: home, DENO_TLS_CA_STORE: "system" };
  const steps = await walkToFirstCall({ command, args, env: { ...env, ...own }, page, pictures });
  const lines = steps.map(({ name, seconds, text }) =>
    `  ${seconds.toFixed(1).padStart(6)} s  ${name}: ${wordsOf(text)} words\n`
  );
  const total = steps.reduce((sum, { text }) => sum + wordsOf(text), 0);
  process.stdout.write(`${[command, ...args].join(" ")}\n${lines.join("")}  ${total} words in all\n`);
} finally {
  await browser.close();
  await Deno.remove(home, { recursive: true });
}
