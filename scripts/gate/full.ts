/**
 * `deno task full [WORD...]`: everything that is tested before a release. The gate's three parts, then what takes still
 * longer or needs more of the machine: every form of the program with the whole end-to-end suite, the platform's Deno, real
 * clients, the protocol's conformance suite, soaks, hostile load. A part whose needs are missing is skipped by name. Words
 * choose the parts whose names contain one of them. It closes with the counts of all parts as one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "../bundle.ts";
import { type PartCounts, runPart } from "./run_part.ts";

/** The Deno that Deno Deploy has, as its documentation says. */
const platformDenoVersion = "2.5.7";

interface Part {
  readonly name: string;
  readonly command: readonly string[];
  /** Why it cannot run here, or `null`. */
  readonly missing?: string | null;
  readonly env?: Readonly<Record<string, string>>;
  /** Its command runs one suite after another, each with a line of counts. */
  readonly isEvery?: boolean;
}

/** What came of a part. */
interface Outcome {
  readonly name: string;
  readonly counts: PartCounts;
  readonly said: string;
}

function isInstalled(program: string): boolean {
  return new Deno.Command("sh", { args: ["-c", `command -v ${program}`], stdout: "null" }).outputSync().success;
}

/** Installs the platform's Deno from npm; `null` where that fails. */
async function installPlatformDeno(): Promise<string | null> {
  const directory = join(root, "dist", `deno-${platformDenoVersion}`);
  const program = join(directory, "node_modules", "deno", "deno");
  if (existsSync(program) || !isInstalled("npm")) return existsSync(program) ? program : null;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(join(directory, "package.json"), '{"private":true}\n');
  const install = ["install", "--silent", "--no-audit", "--no-fund", `deno@${platformDenoVersion}`];
  await new Deno.Command("npm", { args: install, cwd: directory }).spawn().status;
  if (!existsSync(program)) {
    await new Deno.Command("node", { args: ["node_modules/deno/install.cjs"], cwd: directory }).output();
  }
  return existsSync(program) ? program : null;
}

async function parts(): Promise<readonly Part[]> {
  const platformDeno = await installPlatformDeno();
  const noKernel = Deno.build.os === "linux" ? null : "it needs Linux";
  const noContainer = process.getuid?.() !== 0
    ? "it needs root"
    : isInstalled("buildah")
    ? null
    : "there is no buildah";
  const forImage = ["buildah", "skopeo", "mmdebstrap", "docker-registry"].filter((program) => !isInstalled(program));
  const noImage = process.getuid?.() !== 0
    ? "it needs root"
    : forImage.length > 0
    ? `there is no ${forImage.join(", no ")}`
    : null;
  const task = (name: string, ...args: readonly string[]): readonly string[] => ["deno", "task", name, ...args];
  return [
    { name: "the gate", command: task("ok") },
    { name: "the gate's second part", command: task("ok", "--long") },
    { name: "the gate's third part", command: task("ok", "--full") },
    {
      name: "a racing writer, a million tries",
      command: task("bench", "race-long"),
      missing: noKernel,
    },
    {
      name: "the workspace's properties and kills, more of them",
      command: task(
        "test",
        "tests/workspace/kill_test.ts",
        "tests/workspace/disk_confinement_test.ts",
        "tests/workspace/model_test.ts",
        "tests/workspace/one_winner_test.ts",
        "tests/workspace/path_test.ts",
        "tests/workspace/resolution_test.ts",
        "tests/workspace/shown_names_test.ts",
      ),
      env: { PROPERTY_RUNS: "20000", KILL_ROUNDS: "2000" },
    },
    {
      name: "every form, end to end",
      command: task("end-to-end", "start", "bundle", "binary", "deploy", "fleet"),
      isEvery: true,
    },
    { name: "the container, end to end", command: task("end-to-end", "container"), missing: noContainer },
    { name: "the container, by hand", command: ["bash", "scripts/try_container.sh"], missing: noContainer },
    {
      name: "a release's image, without a network",
      command: ["bash", "scripts/try_release_image.sh"],
      missing: noImage,
    },
    {
      name: "Deno Deploy's Deno",
      command: task("test", "tests/deploy/platform_deno_test.ts"),
      missing: platformDeno === null ? "it cannot be installed from npm" : null,
      env: { PLATFORM_DENO: platformDeno ?? "" },
    },
    {
      name: "real clients",
      command: task("interop", "--form", "start", "--form", "binary", "--form", "container"),
      missing: isInstalled("npm") ? null : "there is no npm",
    },
    {
      name: "clients of npm, configured by connect --write",
      command: ["deno", "run", "--config", "deno.dev.json", "-A", "scripts/try_clients.ts"],
      missing: isInstalled("npm") ? null : "there is no npm",
    },
    {
      name: "an agent's jobs in a large workspace",
      command: task("test", "tests/end_to_end/agent_jobs_test.ts"),
      env: { AGENT_JOBS: "large" },
    },
    {
      name: "ten thousand calls of fifty people with ServiceNow accounts",
      command: task("test", "tests/servicenow/many_people_test.ts"),
      env: { MANY_PEOPLE_CALLS: "10000" },
    },
    {
      name: "the console in Chromium, every act in every way, and a day's load",
      command: task("test", "tests/browser/console_acts_test.ts", "tests/browser/console_load_test.ts"),
      env: { CONSOLE_VISITS: "all" },
    },
    { name: "conformance", command: task("conformance"), missing: isInstalled("npm") ? null : "there is no npm" },
    { name: "soak", command: task("soak", "--minutes", "10") },
    { name: "soak of a simulated fleet", command: task("soak", "fleet", "--seeds", "500", "--minutes", "10") },
    { name: "hostile load", command: task("soak", "hostile", "--minutes", "5") },
  ];
}

async function runShown(part: Part, place: string): Promise<Outcome> {
  const { name, command, missing = null, env = {}, isEvery = false } = part;
  process.stdout.write(`\n==== ${place}: ${name}: ${command.join(" ")}\n`);
  if (missing !== null) {
    return { name, counts: { passed: 0, failed: 0, ignored: 1 }, said: `SKIPPED, ${missing}` };
  }
  const began = performance.now();
  const counts = await runPart(command, { env, isEvery });
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const { passed, failed, ignored } = counts;
  const said = `${failed === 0 ? "passed" : "FAILED"}, ${passed} passed, ${failed} failed, ${ignored} skipped`;
  return { name, counts, said: `${said} (${minutes} min)` };
}

const began = performance.now();
const chosen = (await parts()).filter(({ name }) =>
  Deno.args.length === 0 || Deno.args.some((word) => name.includes(word))
);
if (chosen.length === 0) {
  process.stderr.write("error: no part has that name\nhint: deno task full, without words, runs all and names them\n");
  process.exit(2);
}
const outcomes: Outcome[] = [];
for (const part of chosen) outcomes.push(await runShown(part, `${outcomes.length + 1} of ${chosen.length}`));
process.stdout.write("\nparts:\n");
for (const { name, said } of outcomes) process.stdout.write(`  ${name}: ${said}\n`);
const sum = (of: keyof PartCounts): number => outcomes.reduce((total, { counts }) => total + counts[of], 0);
const [passed, failed, ignored] = [sum("passed"), sum("failed"), sum("ignored")];
const counts = `${passed} passed | ${failed} failed | ${ignored} ignored`;
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
process.stdout.write(`${failed === 0 ? "ok" : "FAILED"} | ${counts} (${minutes} min)\n`);
process.exit(failed === 0 ? 0 : 1);
