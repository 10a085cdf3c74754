/**
 * `deno task end-to-end FORM... [--core] [--program PATH]`: runs the end-to-end suite on ways to run Portcullis (start,
 * bundle, binary, deploy, fleet, container, or all); --core runs the tests of sign-in, SDKs, files, models, ServiceNow
 * and revocation alone. A form that cannot be had on this machine is skipped by name. PORTCULLIS_IMAGE=local builds the
 * container without a registry.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "./bundle.ts";
import { type FormName, formNames, prepareForm, whyMissing } from "../tests/fixtures/forms/prepare_form.ts";

/** The tests that the gate runs on every form. */
export const coreTests: readonly string[] = [
  "official_sdks_test.ts",
  "oauth4webapi_test.ts",
  "servicenow_test.ts",
  "servicenow_rights_test.ts",
  "stored_workspace_test.ts",
  "kill_test.ts",
].map((name) => `tests/end_to_end/${name}`);

/** Files of the suite that start servers in a way of their own, which is that of one machine: why others skip them. */
const ownWays: Readonly<Record<string, string>> = {
  "calls_as_sent_test.ts": "it reads and writes in the workspace's directory",
  "directories_test.ts": "it has several directories",
  "documents_test.ts": "it puts documents into the workspace's directory",
  "extreme_workspaces_test.ts": "it makes directories that no tool can",
  "fleet_test.ts": "it has a fleet of its own",
  "full_disk_test.ts": "it mounts disks for one process",
  "hostile_cases_test.ts": "it makes links and devices in the workspace",
  "limited_token_test.ts": "it has several directories",
  "mounted_workspace_test.ts": "it mounts file systems for one process",
  "other_names_test.ts": "it mounts a file system for one process",
  "shared_limits_test.ts": "it starts instances of its own",
};
const onOneMachine: readonly FormName[] = ["start", "bundle", "binary"];

/** The files of the whole suite that a form runs, and those that it skips with the reason. */
export function suiteOf(name: FormName): { readonly tests: readonly string[]; readonly skipped: readonly string[] } {
  const files = Array.from(Deno.readDirSync(`${root}tests/end_to_end`), (entry) => entry.name)
    .filter((file) => file.endsWith("_test.ts")).sort();
  const isSkipped = (file: string): boolean => file in ownWays && !onOneMachine.includes(name);
  return {
    tests: files.filter((file) => !isSkipped(file)).map((file) => `tests/end_to_end/${file}`),
    skipped: files.filter(isSkipped).map((file) => `${file}: ${ownWays[file]}`),
  };
}

/** What came of a form; `null` when it is missing here. */
export interface FormOutcome {
  readonly missing: string | null;
  readonly success: boolean;
  readonly output: string;
}

/** Runs tests on a form, with their output shown as it comes or given back. */
export async function runOnForm(
  name: FormName,
  tests: readonly string[],
  options: { readonly isShown: boolean; readonly program?: string | undefined },
): Promise<FormOutcome> {
  const missing = options.program === undefined ? whyMissing(name) : null;
  if (missing !== null) return { missing, success: true, output: "" };
  await using form = await prepareForm(name, options.program);
  const stdio = options.isShown ? "inherit" : "piped";
  const run = options.isShown ? tests : ["scripts/gate/one_isolate.ts", "--", ...tests];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--config", "deno.dev.json", "--allow-all", "--no-check", ...run],
    cwd: root,
    env: { NO_COLOR: "1", ...form.env },
    stdout: stdio,
    stderr: stdio,
  }).spawn();
  if (options.isShown) return { missing: null, success: (await child.status).success, output: "" };
  const { success, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { missing: null, success, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { core: { type: "boolean", default: false }, program: { type: "string" } },
  });
  const known = new Set<string>(["all", ...formNames]);
  const asked = formNames.filter((name) => positionals.includes(name) || positionals.includes("all"));
  if (asked.length === 0 || positionals.some((word) => !known.has(word))) {
    process.stderr.write(`error: name forms: all, or some of ${formNames.join(", ")}\n`);
    process.exit(2);
  }
  const results: string[] = [];
  let isWell = true;
  for (const name of asked) {
    process.stdout.write(`\n== ${name}\n`);
    const { tests, skipped } = values.core ? { tests: coreTests, skipped: [] } : suiteOf(name);
    process.stdout.write(skipped.map((reason) => `SKIPPED ${reason}\n`).join(""));
    const { missing, success } = await runOnForm(name, tests, { isShown: true, program: values.program });
    isWell &&= success;
    results.push(missing === null ? `${name}: ${success ? "passed" : "FAILED"}` : `${name}: SKIPPED, ${missing}`);
  }
  process.stdout.write(`\n${results.join("\n")}\n`);
  process.exit(isWell ? 0 : 1);
}
