/**
 * `deno task bench workers`: what more workers (`serve --workers N`) give and cost, as ratios to one: calls a second,
 * CPU time a call, memory. The load comes from this process, which takes a core of its own while it runs: on a machine
 * of N cores, N workers cannot be N times as fast, and CPU time says more than calls a second. Linux only.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { makeServerPlace, serverFlags, type ServerPlace } from "../tests/fixtures/running_server.ts";
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
const main = fileURLToPath(new URL("../main.ts", import.meta.url));

const cases: readonly Case[] = [
  { name: "tools/list", method: "tools/list", params: {} },
  {
    name: "tools/call file_read 1 kB",
    method: "tools/call",
    params: { name: "file_read", arguments: { filename: "1k.txt" } },
  },
  {
    name: "tools/call file_search in 64 kB",
    method: "tools/call",
    params: { name: "file_search", arguments: { query: "nowhere", path: "searched" } },
  },
];

type Figures = readonly number[];

/** A server of so many workers, with files and a database of its own. */
interface Contender {
  readonly workers: number;
  readonly server: MeasuredServer;
  readonly token: string;
  readonly place: ServerPlace;
}

const cores = navigator.hardwareConcurrency;
print(
  `${cores} cores, ${connections} connections, ${rounds} rounds of ${secondsPerRound} s each, in turn; medians\n\n`,
);
print(row("", "requests/s", "CPU us/request", "p50 ms", "p99 ms", "cores in use", "memory MB"));
const contenders: Contender[] = [];
for (const workers of new Set(workerCounts)) contenders.push(await startContender(workers));
try {
  for (const each of cases) await compare(each);
} finally {
  for (const { server, place } of contenders) {
    await endServer(server);
    await place[Symbol.asyncDispose]();
  }
}

async function startContender(workers: number): Promise<Contender> {
  const place = await makeServerPlace();
  const token = await makeToken(place);
  await Deno.mkdir(`${place.workspaceDir}/searched`, { recursive: true });
  await Deno.writeTextFile(`${place.workspaceDir}/1k.txt`, "0123456789abcde\n".repeat(64));
  for (let file = 0; file < 4; file++) {
    await Deno.writeTextFile(`${place.workspaceDir}/searched/${file}.txt`, "0123456789abcde\n".repeat(1_024));
  }
  const server = await startServer([Deno.execPath(), "run", ...serverFlags, main, "serve"], {
    env: { ...serverEnvironment(place), WORKERS: String(workers) },
  });
  return { workers, server, token, place };
}

/** Loads each in turn, round after round, so that what else the machine does falls on all of them. */
async function compare(each: Case): Promise<void> {
  const measures = new Map<Contender, Measure[]>(contenders.map((contender) => [contender, []]));
  for (const { server, token } of contenders) await measure(server, requestFor(each, token), 1);
  for (let round = 0; round < rounds; round++) {
    for (const [{ server, token }, found] of measures) {
      found.push(await measure(server, requestFor(each, token), secondsPerRound));
    }
  }
  let base: Figures | undefined;
  for (const [{ workers, server }, found] of measures) {
    const figures = [...figuresOf(found), await residentMegabytes(server)];
    print(row(`${each.name}, ${workers} worker${workers === 1 ? "" : "s"}`, ...figures));
    if (base === undefined) base = figures;
    else print(row("  ratio", ...figures.map((figure, index) => figure / (base?.[index] ?? Number.NaN))));
  }
}

function figuresOf(measures: readonly Measure[]): Figures {
  const of = (pick: (measure: Measure) => number): number => median(measures.map(pick));
  return [
    of(({ requests, seconds }) => requests / seconds),
    of(({ cpuMicroseconds }) => cpuMicroseconds ?? Number.NaN),
    of(({ p50 }) => p50),
    of(({ p99 }) => p99),
    of(({ requests, seconds, cpuMicroseconds }) => (cpuMicroseconds ?? Number.NaN) * requests / seconds / 1e6),
  ];
}

/** proc(5): resident memory of the whole process, all workers included. */
async function residentMegabytes({ child }: MeasuredServer): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${child.pid}/status`).catch(() => "");
  return Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1_024;
}
