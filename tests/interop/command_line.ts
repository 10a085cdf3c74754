/**
 * `deno task interop [--form FORM]... [--program PATH] [NAME...]`: clients that are no part of the gate, fetched from npm and PyPI at
 * exact versions when this runs, each in a process of its own with a time limit, against the server from source or in
 * another form (bundle, binary, container). Clients that cannot be installed are skipped by name, with the reason. Ends
 * with status 1 when one of them fails.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { formNames, prepareForm, whyMissing } from "../fixtures/forms/prepare_form.ts";
import { clients, skippedStatus } from "./clients.ts";

const clientSeconds = 600; // agents start anew for each call, slowly on a busy machine
const killAfterSeconds = 10;
const timedOutStatus = 124; // of timeout(1)
const shownCharacters = 4_000;

const config = fileURLToPath(new URL("../../deno.dev.json", import.meta.url));
const program = fileURLToPath(new URL("one_client.ts", import.meta.url));

/** Tells one client's story; gives what is to be printed. */
async function tell(name: string, formEnv: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("timeout", {
    args: [
      ...["--kill-after", String(killAfterSeconds), String(clientSeconds), Deno.execPath()],
      ...["run", "--quiet", "-A", "--no-lock", "--config", config, program, name],
    ],
    env: { NO_COLOR: "1", ...formEnv },
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

function refuse(problem: string, known: readonly string[]): never {
  process.stderr.write(`error: ${problem}\nhint: ${known.join(", ")}\n`);
  process.exit(2);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { form: { type: "string", multiple: true, default: ["start"] }, program: { type: "string" } },
});
const names = clients.map(({ name }) => name);
const unknownForm = values.form.find((name) => !formNames.some((known) => known === name));
if (unknownForm !== undefined) refuse(`no form ${unknownForm}`, formNames);
const unknownClient = positionals.find((name) => !names.includes(name));
if (unknownClient !== undefined) refuse(`no client ${unknownClient}`, names);
for (const formName of formNames.filter((name) => values.form.includes(name))) {
  const missing = values.program === undefined ? whyMissing(formName) : null;
  if (missing !== null) {
    process.stdout.write(`${formName}: skipped, ${missing}\n`);
    continue;
  }
  await using form = await prepareForm(formName, values.program);
  for (const name of positionals.length === 0 ? names : names.filter((each) => positionals.includes(each))) {
    process.stdout.write(`${formName}, ${name}: ${await tell(name, form.env)}\n`);
  }
}
