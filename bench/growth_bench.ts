/**
 * `deno task bench growth`: what a request costs a server that has 1, 100, 10,000 and 100,000 sessions, tokens, clients
 * or files, beside the same server with one of them. Requests ask for all of them, one after the other, and every answer
 * is checked. Both servers get as many requests, in many short slices that alternate, so that what else the machine does
 * meets both alike. The figure is all of the server's own CPU time, work in the background included. The row of one
 * shows what the bench itself cannot tell apart. Where files are read, two bare servers read the same files in the same
 * rounds. BENCH_ONLY=words picks some, BENCH_MOST=n stops earlier, BENCH_PAIRS=n takes more slices.
 */
import process from "node:process";
import { makeServerPlace } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import type { Grown, Subject } from "./growth_subjects.ts";
import { subjects } from "./growth_subjects.ts";
import { load, type LoadRequest } from "./http_load.ts";
import {
  connections,
  denoScript,
  endServer,
  makeToken,
  type MeasuredServer,
  serverEnvironment,
  startServer,
} from "./measured_server.ts";
import { post, resultIn } from "./mcp_request.ts";
import { cpuSeconds } from "./process_cpu.ts";
import { residentMegabytes } from "./process_memory.ts";
import { print, row } from "./table.ts";

type Side = Grown & MeasuredServer;

/** A server that has one of them, a server that has all, and what the slices cost each, in seconds. */
interface Pair {
  readonly name: string;
  readonly small: MeasuredServer;
  readonly large: MeasuredServer;
  /** Where the next slice begins. */
  turn: number;
  costs: { readonly one: number; readonly all: number }[];
}

const rounds = Number(process.env["BENCH_PAIRS"] ?? "20");
const only = process.env["BENCH_ONLY"] ?? "";
const most = Number(process.env["BENCH_MOST"] ?? "100000");
const warmUpSlices = 5; // until V8 has compiled what is hot, again where making more of them changed it
const sizes = [1, 100, 10_000, 100_000].filter((size) => size <= most);

const { serverPrefix, note } = await separateCores();
print(
  `${note}\n${rounds} pairs of slices; "times": of all their CPU time; ` +
    `"per 10": for each 10 times as many; median, from and to: of the pairs, half of which are between\n\n`,
);
print(row("", "how many", "CPU us", "with one", "times", "per 10", "median", "from", "to", "MB more"));
for (const subject of subjects) if (subject.name.includes(only)) await compare(subject);

async function compare(subject: Subject): Promise<void> {
  await using small = await startFilled();
  await using large = await startFilled();
  const { requestsPerSlice, remembersEach } = subject;
  const one = await subject.grow(small, 0, 1);
  const all: LoadRequest[] = [];
  const ours: Pair = { name: subject.name, small, large, turn: 0, costs: [] };
  await using bare = subject.reads ? await startBare(small, large, one) : null;
  const pairs = bare === null ? [ours] : [ours, bare];
  for (const size of sizes) {
    const from = all.length; // the new ones first: what the first request of each costs is not what is compared
    all.push(...await subject.grow(large, from, size - from));
    for (const pair of pairs) {
      Object.assign(pair, { turn: from, costs: [] });
      const warmUp = Math.max(warmUpSlices * requestsPerSlice, remembersEach && pair === ours ? size - from : 0);
      await load(pair.small.port, one, { connections, requests: warmUp });
      await loadNext(pair, all, warmUp);
    }
    for (let round = 0; round < rounds; round++) {
      for (const pair of pairs) {
        const before = [cpuOf(pair.small), cpuOf(pair.large)] as const;
        const slices = [
          () => load(pair.small.port, one, { connections, requests: requestsPerSlice }),
          () => loadNext(pair, all, requestsPerSlice),
        ];
        for (const slice of round % 2 === 0 ? slices : slices.toReversed()) await slice();
        pair.costs.push({ one: cpuOf(pair.small) - before[0], all: cpuOf(pair.large) - before[1] });
      }
    }
    for (const pair of pairs) report(pair, size, requestsPerSlice);
  }
}

/** Goes on with those that the last slice did not come to. */
async function loadNext(pair: Pair, all: readonly LoadRequest[], requests: number): Promise<void> {
  const next = Array.from({ length: Math.min(requests, all.length) }, () => all[pair.turn++ % all.length] ?? []).flat();
  await load(pair.large.port, next, { connections, requests });
}

function report({ name, small, large, costs }: Pair, size: number, requestsPerSlice: number): void {
  const ofOne = costs.reduce((sum, { one }) => sum + one, 0);
  const ofAll = costs.reduce((sum, { all }) => sum + all, 0);
  const ratios = costs.map(({ one, all }) => all / one).sort((a, b) => a - b);
  const spread = [0.5, 0.25, 0.75].map((share) => ratios[Math.floor(ratios.length * share)] ?? NaN);
  const microseconds = [ofAll, ofOne].map((seconds) => seconds / costs.length / requestsPerSlice * 1e6);
  const perTen = size === 1 ? "" : (ofAll / ofOne) ** (1 / Math.log10(size));
  const more = residentMegabytes(large.child.pid) - residentMegabytes(small.child.pid);
  print(row(name, String(size), ...microseconds, ofAll / ofOne, perTen, ...spread, more));
}

/** Two that answer as the small server does, and read the files of the large one. */
async function startBare({ port }: Side, { place }: Side, [request]: LoadRequest[]): Promise<Pair & AsyncDisposable> {
  if (request === undefined) throw new Error("no request");
  const response = await post(port, request.headers, JSON.parse(request.body));
  const env = { BARE_RESULT: JSON.stringify(resultIn(await response.text())), BARE_DIRECTORY: place.workspaceDir };
  const command = [...serverPrefix, ...denoScript("bare_server.ts")];
  const [small, large] = [await startServer(command, { env }), await startServer(command, { env })];
  return {
    ...{ name: "  the same, bare Deno.serve", small, large, turn: 0, costs: [] },
    async [Symbol.asyncDispose]() {
      await endServer(small);
      await endServer(large);
    },
  };
}

function cpuOf({ child }: MeasuredServer): number {
  return cpuSeconds(child.pid) ?? NaN;
}

async function startFilled(): Promise<Side & AsyncDisposable> {
  const place = await makeServerPlace();
  const token = await makeToken(place);
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  const env = { ...serverEnvironment(place), OAUTH_RATE_LIMIT: "1000000000" };
  const server = await startServer([...serverPrefix, ...denoScript("server.ts")], { env });
  return {
    ...server,
    place,
    token,
    async [Symbol.asyncDispose]() {
      await endServer(server);
      await place[Symbol.asyncDispose]();
    },
  };
}
