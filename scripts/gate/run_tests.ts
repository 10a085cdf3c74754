/** Runs the test files, several processes of `deno test` at a time, and counts what they report. */
import { settings } from "../../src/app/config/settings.ts";
import { createProgress } from "./progress.ts";
import { sumOf, type TestGroups } from "./test_groups.ts";

/** What came of all files. */
export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  /** The names of failed tests, each with its file and line. */
  readonly failures: readonly string[];
  /** What `deno test` printed of them; of a process that broke off, its last lines. */
  readonly errors: readonly string[];
  /** The names of tests that were left out, with their reasons. */
  readonly skipped: readonly string[];
  /** The number of tests in each file that ran. */
  readonly suites: ReadonlyMap<string, number>;
  /** What is wrong beside failed tests: a process that broke off, a test that was skipped without a reason. */
  readonly problems: readonly string[];
}

const shownOfBroken = 40;
/** Runs several files, and says of each how many tests it has. */
const oneIsolate = "scripts/gate/one_isolate.ts";
/** After so long without a line, the gate says what runs. */
const quietMs = 20_000;
const leastMs = 1_200_000;
const msPerSecond = 60_000;

/** A process that takes longer hangs, on however busy a machine: it is ended, so that the gate can say where. */
function mostMsOf(files: readonly string[]): number {
  return Math.max(leastMs, sumOf(files) * msPerSecond);
}

/** The machine's variables, without those that are settings of the program under test: some CI sets HOST or PORT. */
function testEnvironment(): Record<string, string> {
  const own = new Set(settings.map(({ env }) => env));
  return {
    ...Object.fromEntries(Object.entries(Deno.env.toObject()).filter(([name]) => !own.has(name))),
    NO_COLOR: "1",
  };
}

/** Counts what processes of `deno test` printed. */
export function readReports(
  outputs: readonly { readonly files: readonly string[]; readonly text: string }[],
): TestReport {
  let [passed, failed] = [0, 0];
  const [failures, errors]: [string[], string[]] = [[], []];
  const skipped: string[] = [];
  const suites = new Map<string, number>();
  const problems: string[] = [];
  for (const { files, text } of outputs) {
    // For example: ok | 412 passed (9 steps) | 0 failed | 2 ignored (1m3s)
    const summary = Array.from(text.matchAll(/^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed/gm)).at(-1);
    if (summary === undefined) {
      problems.push(`the tests broke off: ${files.join(" ")}`);
      errors.push(text.trimEnd().split("\n").slice(-shownOfBroken).join("\n"));
    }
    if (summary?.[0].startsWith("FAILED")) {
      const [said = "", names = ""] = text.slice(0, summary.index).split(/^ (?:ERRORS|FAILURES) $/m).slice(-2);
      errors.push(said.trim());
      failures.push(...names.trim().split("\n"));
    }
    passed += Number(summary?.[1] ?? 0);
    failed += Number(summary?.[2] ?? 0);
    for (const [, count, file = ""] of text.matchAll(/^running (\d+) tests? from (?:\.\/)?(.*)$/gm)) {
      if (file !== oneIsolate) suites.set(file, (suites.get(file) ?? 0) + Number(count));
    }
    for (const [, name = ""] of text.matchAll(/^(.*) \.\.\. ignored \(\S+\)$/gm)) {
      skipped.push(name);
      // Elsewhere than on Linux, where the gate runs, some say nothing.
      if (Deno.build.os === "linux" && !/^SKIPPED |\(skipped: /.test(name)) {
        problems.push(`skipped without a reason: ${name}`);
      }
    }
    for (const file of files) if (!suites.has(file)) problems.push(`did not run: ${file}`);
  }
  return { passed, failed, failures, errors, skipped, suites, problems };
}

/**
 * Runs every group. `write` is given a line for each file that ends, and one now and then while none does. A process that
 * takes more than `mostMs` is killed: by a signal that it hears, Playwright closes the browser of a test, which then fails.
 * `beside` is what else runs on the machine: the groups that run alone wait for its end.
 */
export async function runTests(
  groups: TestGroups,
  jobs: number,
  write: (line: string) => void,
  { mostMs = mostMsOf, beside }: { readonly mostMs?: typeof mostMsOf; readonly beside?: Promise<unknown> | undefined } =
    {},
): Promise<TestReport> {
  const outputs: { files: readonly string[]; text: string }[] = [];
  let lastWritten = performance.now();
  const progress = createProgress([...groups.together, ...groups.alone].flat(), {
    write(line) {
      lastWritten = performance.now();
      write(line);
    },
    now: () => performance.now(),
  });
  const reminder = setInterval(() => {
    if (performance.now() - lastWritten > quietMs) progress.remind();
  }, quietMs / 2);
  const runOne = async (files: readonly string[]): Promise<void> => {
    const run = files.length === 1 ? files : [oneIsolate, "--", ...files];
    const child = new Deno.Command(Deno.execPath(), {
      args: ["test", "--config", "deno.dev.json", "--allow-all", "--no-check", ...run],
      clearEnv: true,
      env: testEnvironment(),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let late = "";
    const limit = mostMs(files);
    const timer = setTimeout(() => {
      late = `killed: it took more than ${Math.round(limit / 60_000)} minutes\n`;
      child.kill("SIGKILL");
    }, limit);
    const followed = progress.follow();
    const [said, complained] = await Promise.all([
      collect(child.stdout, (line) => followed.line(line)),
      collect(child.stderr, () => {}),
      child.status,
    ]);
    clearTimeout(timer);
    followed.end();
    outputs.push({ files, text: said + complained + late });
  };
  const runAll = async (waiting: (readonly string[])[], count: number): Promise<void> => {
    const worker = async (): Promise<void> => {
      for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) await runOne(files);
    };
    await Promise.all(Array.from({ length: count }, worker));
  };
  try {
    await runAll([...groups.together], jobs);
    await beside;
    await runAll([...groups.alone], 1);
  } finally {
    clearInterval(reminder);
  }
  return readReports(outputs);
}

/** The whole text of a stream, of which each line is shown as it comes. */
async function collect(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<string> {
  let [text, rest] = ["", ""];
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
  return text;
}
