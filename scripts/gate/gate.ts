/**
 * `deno task ok [FILE...]`: the gate. Formatting, lint, types and documentation, then every test file, in one process more
 * at once than the machine has cores, as tests wait for a third of their time (DENO_JOBS for another number). It says what
 * ends as it ends, what was skipped, and closes with one line of counts. With FILES it runs these test files alone.
 */
import process from "node:process";
import { runTests } from "./run_tests.ts";
import { groupTests, testFiles } from "./test_groups.ts";

const mostJobs = 4;

const steps: readonly (readonly string[])[] = [
  ["fmt", "--check"],
  ["lint"],
  ["check", "--config", "deno.dev.json"],
  ["run", "--allow-run", "--allow-read=.", "scripts/doc_lint.ts"],
];

/** Runs one step with its output shown; ends the gate when it fails. */
async function runStep(args: readonly string[]): Promise<void> {
  process.stdout.write(`== deno ${args.join(" ")}\n`);
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args], stdin: "null" }).spawn().status;
  if (success) return;
  process.stdout.write(`\nFAILED: deno ${args.join(" ")}\n`);
  process.exit(1);
}

/** How many processes run at once. */
function chosenJobs(): number {
  const asked = Number(Deno.env.get("DENO_JOBS"));
  return Number.isInteger(asked) && asked > 0 ? asked : Math.min(navigator.hardwareConcurrency + 1, mostJobs);
}

const began = performance.now();
const named = Deno.args.map((file) => file.replace(/^\.\//, ""));
if (named.length === 0) { for (const step of steps) await runStep(step); }
const files = named.length === 0 ? testFiles() : named;
const jobs = chosenJobs();
process.stdout.write(`== tests: ${files.length} files, ${jobs} at once\n`);
const report = await runTests(groupTests(files), jobs, (line) => process.stdout.write(`${line}\n`));
const { passed, failed, failures, errors, skipped, problems } = report;
const lines = [
  ...(skipped.length === 0 ? [] : ["skipped:", ...skipped.map((name) => `  ${name}`)]),
  ...errors.map((text) => `\n${text}\n`),
  ...(failures.length === 0 ? [] : ["failed:", ...failures.map((name) => `  ${name}`)]),
  ...problems.map((problem) => `error: ${problem}`),
  "",
];
process.stdout.write(`\n${lines.join("\n")}`);
const isGreen = failed === 0 && problems.length === 0;
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
const counts = `${passed} passed | ${failed} failed | ${skipped.length} ignored (${minutes} min)`;
process.stdout.write(`${isGreen ? "ok" : "FAILED"} | ${counts}\n`);
process.exit(isGreen ? 0 : 1);
