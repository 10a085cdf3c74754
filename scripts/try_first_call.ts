/**
 * From a typed line to a signed-in tool call, as a newcomer goes (tests/browser/first_call.ts): runs a command in an
 * empty home, prints the seconds and the words of each step, and puts a picture and the text of each into a directory.
 *
 *   deno run --config deno.dev.json -A scripts/try_first_call.ts PICTURES COMMAND [ARGUMENT...]
 */
import process from "node:process";
import { tryFirstCall } from "../tests/browser/first_call.ts";

const [pictures = "", command = "", ...args] = Deno.args;
if (command === "") throw new Error("name a directory for the pictures and a command");
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
const own = { DENO_TLS_CA_STORE: "system" };
await tryFirstCall([command, ...args].join(" "), { command, args, env: { ...env, ...own }, pictures });
