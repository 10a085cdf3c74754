/**
 * `deno run --allow-all bench/start_bench.ts [PROGRAM]`: how long a start takes until the first answer, and the memory
 * then: from source, from the bundle, of a compiled PROGRAM when one is named, and of a bare Deno.serve. Starts take
 * turns, so that the machine's moods meet all of them; medians are printed, with the ratio to the bare server.
 */
import process from "node:process";
import { bundleProgram, programName, root } from "../scripts/bundle.ts";
import { compiledPermissions, unstableFlags } from "../scripts/compile.ts";
import { cpuSeconds } from "./process_cpu.ts";
import { makeServerPlace, serverFlags } from "../tests/fixtures/running_server.ts";

const starts = Number(process.env["BENCH_STARTS"] ?? "9");

interface Subject {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

interface Start {
  readonly milliseconds: number;
  /** Processor time by then, which other programs on the machine swing less; `null` where /proc does not tell. */
  readonly cpuMilliseconds: number | null;
  /** Resident memory after the first answer; `null` where /proc does not tell. */
  readonly megabytes: number | null;
}

const scratch = await Deno.makeTempDir({ prefix: "portcullis-bench-" });
const bundle = `${scratch}/bundle/${programName}`;
await bundleProgram(`${scratch}/bundle`, null);
const bare = `${scratch}/bare.ts`;
await Deno.writeTextFile(
  bare,
  'const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => Response.json({}));\n' +
    "console.log(`listening on http://127.0.0.1:${server.addr.port}`);\n",
);

const deno = Deno.execPath();
const program = Deno.args[0];
const subjects: readonly Subject[] = [
  { name: "bare Deno.serve", command: deno, args: ["run", "--no-config", "--allow-net", bare] },
  { name: "from source", command: deno, args: ["run", ...serverFlags, `${root}main.ts`, "serve"] },
  {
    name: "from the bundle",
    command: deno,
    args: ["run", "--no-config", ...unstableFlags, ...compiledPermissions(), bundle, "serve"],
  },
  ...(program === undefined ? [] : [{ name: "compiled", command: program, args: ["serve"] }]),
];

const results = new Map<string, Start[]>(subjects.map(({ name }) => [name, []]));
for (let round = -1; round < starts; round++) {
  for (const subject of subjects) {
    const start = await measure(subject);
    if (round >= 0) results.get(subject.name)?.push(start); // the first one fills the caches
  }
}
await Deno.remove(scratch, { recursive: true });

const base = median(results.get("bare Deno.serve")?.map(({ milliseconds }) => milliseconds) ?? []);
process.stdout.write(
  `${starts} starts each, in turn; medians\n\n${row("", "ms to answer", "ratio", "CPU ms", "MB resident")}`,
);
for (const [name, measured] of results) {
  const milliseconds = median(measured.map((start) => start.milliseconds));
  const cpu = median(measured.map((start) => start.cpuMilliseconds ?? Number.NaN));
  const megabytes = median(measured.map((start) => start.megabytes ?? Number.NaN));
  process.stdout.write(
    row(name, milliseconds.toFixed(0), (milliseconds / base).toFixed(1), cpu.toFixed(0), megabytes.toFixed(0)),
  );
}

async function measure({ command, args }: Subject): Promise<Start> {
  await using place = await makeServerPlace();
  const began = performance.now();
  const child = new Deno.Command(command, {
    args: [...args],
    cwd: root,
    env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: "0" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let url: string | undefined;
  for (let text = ""; url === undefined;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${command} ${args.join(" ")} did not start`);
    url = /listening on (\S+)\n/.exec(text += value)?.[1];
  }
  const answer = await fetch(`${url}/health`);
  await answer.body?.cancel();
  const milliseconds = performance.now() - began;
  const cpu = await cpuSeconds(child.pid);
  const megabytes = await residentMegabytes(child.pid);
  child.kill("SIGTERM");
  await child.status;
  await reader.cancel();
  return { milliseconds, cpuMilliseconds: cpu === null ? null : cpu * 1_000, megabytes };
}

async function residentMegabytes(pid: number): Promise<number | null> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function row(name: string, ...cells: readonly string[]): string {
  return `${name.padEnd(20)}${cells.map((cell) => cell.padStart(14)).join("")}\n`;
}
