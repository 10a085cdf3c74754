/**
 * `deno task interop [NAME...]`: clients that are no part of the gate, fetched from npm and PyPI at exact versions when
 * this runs, each in a process of its own with a time limit. Clients that cannot be installed are skipped by name, with
 * the reason. Ends with status 1 when one of them fails.
 */
import process from "node:process";
import { clients, skippedStatus } from "./clients.ts";

const clientSeconds = 600; // agents start anew for each call, slowly on a busy machine
const killAfterSeconds = 10;
const timedOutStatus = 124; // of timeout(1)
const shownCharacters = 4_000;

const config = new URL("../../deno.dev.json", import.meta.url).pathname;
const program = new URL("one_client.ts", import.meta.url).pathname;

/** Tells one client's story; gives what is to be printed. */
async function tell(name: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("timeout", {
    args: [
      ...["--kill-after", String(killAfterSeconds), String(clientSeconds), Deno.execPath()],
      ...["run", "--quiet", "-A", "--no-lock", "--config", config, program, name],
    ],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  const said = `${decoder.decode(stdout)}${decoder.decode(stderr)}`.trim();
  if (code === 0) return "ok";
  if (code === skippedStatus) return `skipped, ${said}`;
  process.exitCode = 1;
  const outcome = code === timedOutStatus ? `ended after ${clientSeconds} s` : "failed";
  return `${outcome}\n${said.slice(-shownCharacters)}`;
}

const asked = Deno.args;
for (const name of asked) {
  if (!clients.some((client) => client.name === name)) {
    process.stderr.write(`error: no client ${name}\nhint: ${clients.map((client) => client.name).join(", ")}\n`);
    process.exit(2);
  }
}
for (const { name } of clients) {
  if (asked.length === 0 || asked.includes(name)) process.stdout.write(`${name}: ${await tell(name)}\n`);
}
