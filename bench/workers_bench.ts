/**
 * `deno task bench:workers`: what more workers (`serve --workers N`) give and cost, as ratios to one: calls a second,
 * CPU time a call, memory. The load comes from this process, which takes a core of its own while it runs: on a machine
 * of N cores, N workers cannot be N times as fast, and CPU time says more than calls a second. Linux only.
 */
import process from "node:process";
import { makeServerPlace, serverFlags } from "../tests/fixtures/running_server.ts";
import {
  connections,
  endServer,
  makeToken,
  type Measure,
  measure,
  type MeasuredServer,
  serverEnvironment,
  startServer,
} from "./measured_server.ts";
import { type Case, requestFor } from "./mcp_request.ts";
import { median, print, row } from "./table.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "3");
const secondsPerRound = Number(process.env["BENCH_SECONDS"] ?? "4");
const workerCounts = (process.env["BENCH_WORKERS"] ?? `1,2,${navigator.hardwareConcurrency}`).split(",").map(Number);
const main = new URL("../main.ts", import.meta.url).pathname;

const cases: readonly Case[] = [
  { name: "tools/list", method: "tools/list", params: {} },
  {
    name: "tools/call file_read 1 kB",
    method: "tools/call",
    params: { name: "file_read", arguments: { filename: "1k.txt" } },
  },
  {
    name: "tools/call file_search in 1 MB",
    method: "tools/call",
    params: { name: "file_search", arguments: { pattern: "nowhere", path: "searched" } },
  },
];

await using place = await makeServerPlace();
const token = await makeToken(place);
await Deno.mkdir(`${place.workspaceDir}/searched`, { recursive: true });
await Deno.writeTextFile(`${place.workspaceDir}/1k.txt`, "0123456789abcde\n".repeat(64));
for (let file = 0; file < 16; file++) {
  await Deno.writeTextFile(`${place.workspaceDir}/searched/${file}.txt`, "0123456789abcde\n".repeat(4_096));
}

const cores = navigator.hardwareConcurrency;
print(`${cores} cores, ${connections} connections, ${rounds} rounds of ${secondsPerRound} s each; medians\n\n`);
print(row("", "requests/s", "CPU us/request", "p50 ms", "p99 ms", "cores in use", "memory MB"));
for (const each of cases) {
  const figures = new Map<number, Figures>();
  for (const count of new Set(workerCounts)) figures.set(count, await figuresOf(each, count));
  const base = figures.get(Math.min(...figures.keys()));
  if (base === undefined) throw new Error("BENCH_WORKERS names no number");
  for (const [count, found] of figures) {
    print(row(`${each.name}, ${count} worker${count === 1 ? "" : "s"}`, ...found));
    if (found !== base) print(row("  ratio", ...found.map((figure, index) => figure / (base[index] ?? Number.NaN))));
  }
}

type Figures = readonly number[];

async function figuresOf(each: Case, workers: number): Promise<Figures> {
  const server = await startServer([Deno.execPath(), "run", ...serverFlags, main, "serve"], {
    env: { ...serverEnvironment(place), WORKERS: String(workers) },
  });
  try {
    const request = requestFor(each, token);
    await measure(server, request, 1);
    const measures: Measure[] = [];
    for (let round = 0; round < rounds; round++) measures.push(await measure(server, request, secondsPerRound));
    const of = (pick: (measure: Measure) => number): number => median(measures.map(pick));
    return [
      of(({ requests, seconds }) => requests / seconds),
      of(({ cpuMicroseconds }) => cpuMicroseconds ?? Number.NaN),
      of(({ p50 }) => p50),
      of(({ p99 }) => p99),
      of(({ requests, seconds, cpuMicroseconds }) => (cpuMicroseconds ?? Number.NaN) * requests / seconds / 1e6),
      await residentMegabytes(server),
    ];
  } finally {
    await endServer(server);
  }
}

/** proc(5): resident memory of the whole process, all workers included. */
async function residentMegabytes({ child }: MeasuredServer): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${child.pid}/status`).catch(() => "");
  return Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1_024;
}
