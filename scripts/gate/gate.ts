/**
 * `deno task ok [FILE...]`: the gate. Formatting, lint, types and documentation beside the test files, in two processes more
 * at once than the machine has cores, as tests wait for a third of their time (DENO_JOBS for another number). It says what
 * ends as it ends, what was skipped, and closes with one line of counts. With FILES it runs these test files alone.
 *
 * `deno task ok --long`: the gate's second part, the test files that take long, and the README's commands on a bare machine
 * beside the first of them.
 * `deno task ok --full`: the third, a part of `deno task full`.
 */
import process from "node:process";
import { type PartCounts, runPart } from "./run_part.ts";
import { runTests } from "./run_tests.ts";
import { groupTests, partOf, testFiles } from "./test_groups.ts";

const mostJobs = 6;

/** They run one after another, beside the first tests. */
const checks: readonly (readonly string[])[] = [
  ["check", "--config", "deno.dev.json"],
  ["lint"],
  ["fmt", "--check"],
  ["run", "--allow-run", "--allow-read=.", "scripts/doc_lint.ts"],
];

/** The README's commands where there is nothing but Node; it says itself why it is skipped. */
const bareMachine: readonly string[] = ["bash", "scripts/gate/bare_machine.sh", "--short"];

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const minutesSince = (began: number): string => `${((performance.now() - began) / 60_000).toFixed(1)} min`;

/** What fails of the checks, each said with its output when it ends. */
async function runChecks(): Promise<string[]> {
  const problems: string[] = [];
  for (const args of checks) {
    const began = performance.now();
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...args],
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const name = `deno ${args.join(" ")}`;
    write(`${success ? "passed" : "FAILED"}: ${name} (${minutesSince(began)})`);
    if (success) continue;
    const decoder = new TextDecoder();
    write(`${decoder.decode(stdout)}${decoder.decode(stderr)}`);
    problems.push(`failed: ${name}`);
  }
  return problems;
}

/** Runs them one file at a time, beside the tests; what they print is for the end. */
async function runBareMachine(): Promise<PartCounts & { readonly text: string }> {
  let text = "";
  const counts = await runPart(bareMachine, { env: { DENO_JOBS: "1" }, show: (chunk) => void (text += chunk) });
  return { ...counts, text };
}

/** How many processes run at once. */
function chosenJobs(): number {
  const asked = Number(Deno.env.get("DENO_JOBS"));
  return Number.isInteger(asked) && asked > 0 ? asked : Math.min(navigator.hardwareConcurrency + 2, mostJobs);
}

const began = performance.now();
const part = (["long", "full"] as const).find((name) => Deno.args.includes(`--${name}`)) ?? "first";
const named = Deno.args.filter((word) => !/^--(long|full)$/.test(word)).map((file) => file.replace(/^\.\//, ""));
const isWhole = named.length === 0;
const files = isWhole ? testFiles().filter((file) => partOf(file) === part) : named;
const jobs = chosenJobs();
write(`== tests${part === "first" ? "" : " that take long"}: ${files.length} files, ${jobs} at once`);
const madeOnce = Deno.makeTempDirSync({ prefix: "portcullis-gate-" });
Deno.chmodSync(madeOnce, 0o755); // some tests start what is in it as another user
Deno.env.set("PORTCULLIS_MADE_ONCE", madeOnce);
const beside = isWhole && part === "long" ? runBareMachine() : undefined;
const [checkProblems, report, bare] = await Promise.all([
  isWhole && part === "first" ? runChecks() : [],
  runTests(groupTests(files), jobs, write, { beside }),
  beside,
]).finally(() => Deno.removeSync(madeOnce, { recursive: true }));
const { failures, errors, skipped } = report;
const problems = [...checkProblems, ...report.problems];
let { passed, failed } = report;
let ignored = skipped.length;
if (bare !== undefined) {
  write(`== the README's commands on a bare machine\n${bare.text.trimEnd()}`);
  [passed, failed, ignored] = [passed + bare.passed, failed + bare.failed, ignored + bare.ignored];
  if (bare.failed > 0) problems.push("failed: the README's commands on a bare machine, see above");
}
const lines = [
  ...(skipped.length === 0 ? [] : ["skipped:", ...skipped.map((name) => `  ${name}`)]),
  ...errors.map((text) => `\n${text}\n`),
  ...(failures.length === 0 ? [] : ["failed:", ...failures.map((name) => `  ${name}`)]),
  ...problems.map((problem) => `error: ${problem}`),
  "",
];
write(`\n${lines.join("\n")}`);
const isGreen = failed === 0 && problems.length === 0;
write(
  `${isGreen ? "ok" : "FAILED"} | ${passed} passed | ${failed} failed | ${ignored} ignored (${minutesSince(began)})`,
);
process.exit(isGreen ? 0 : 1);
