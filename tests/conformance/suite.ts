/** Runs the official suite as a child process and reads what it found out of the files that it leaves. */
import { join } from "node:path";

/** What a run found. */
export interface SuiteOutcome {
  readonly scenarios: number;
  /** Scenarios with a check that failed. */
  readonly failed: readonly string[];
  /** Checks that failed or warned, with the suite's words. */
  readonly complaints: readonly string[];
  readonly checks: number;
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** Runs one version of the suite; `onOutput` sees what it prints as it comes. */
export async function runSuite(
  version: string,
  args: readonly string[],
  onOutput: (text: string) => void = () => {},
): Promise<SuiteOutcome> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-conformance-" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-lock", `npm:@modelcontextprotocol/conformance@${version}`, ...args, "-o", directory],
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) onOutput(text);
    const { code } = await child.status;
    const outcome = await readOutcome(directory);
    if (code !== 0 && outcome.failed.length === 0) throw new Error(`the suite ended with status ${code}`);
    return outcome;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function readOutcome(directory: string): Promise<SuiteOutcome> {
  const failed: string[] = [];
  const complaints: string[] = [];
  let scenarios = 0;
  let checks = 0;
  for (const path of await checkFiles(directory)) {
    const scenario = path.slice(directory.length + 1).replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const found: readonly Check[] = JSON.parse(await Deno.readTextFile(path));
    scenarios += 1;
    checks += found.filter(({ status }) => status === "SUCCESS").length;
    if (found.some(({ status }) => status === "FAILURE")) failed.push(scenario);
    for (const { id, status, errorMessage } of found) {
      if (status === "FAILURE" || status === "WARNING") {
        complaints.push(`${scenario}: ${status} ${id}: ${errorMessage}`);
      }
    }
  }
  return { scenarios, failed, complaints, checks };
}

async function checkFiles(directory: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory) paths.push(...await checkFiles(path));
    else if (entry.name === "checks.json") paths.push(path);
  }
  return paths.sort();
}
