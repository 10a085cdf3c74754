/**
 * `deno task bench:growth`: what a request costs a server that has 100, 10,000 and 100,000 sessions, tokens, clients or
 * files, beside the same server with one of them. Both are loaded in turn, in rounds; requests ask for all of them, one
 * after the other, and every answer is checked. The figure is the server's own CPU time. BENCH_ONLY=words picks some,
 * BENCH_MOST=n stops earlier.
 */
import process from "node:process";
import { makeServerPlace } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import type { Grown, Subject } from "./growth_subjects.ts";
import { subjects } from "./growth_subjects.ts";
import type { LoadRequest } from "./http_load.ts";
import { denoScript, endServer, makeToken, measure, serverEnvironment, startServer } from "./measured_server.ts";
import { residentMegabytes } from "./process_memory.ts";
import { median, print, row } from "./table.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5");
const secondsPerRound = Number(process.env["BENCH_SECONDS"] ?? "2");
const only = process.env["BENCH_ONLY"] ?? "";
const most = Number(process.env["BENCH_MOST"] ?? "100000");
const warmUpRequests = 2_000; // fewer than are sent in the time, so that each is
const warmUpSeconds = 0.5;
const sizes = [100, 10_000, 100_000].filter((size) => size <= most);

const { serverPrefix, note } = await separateCores();
print(
  `${note}\n${rounds} rounds of ${secondsPerRound} s each, in turn; the least, its ratio, and those of the rounds\n\n`,
);
print(row("", "how many", "CPU us", "with one", "times", "median", "lowest", "highest", "MB more"));
for (const subject of subjects) if (subject.name.includes(only)) await compare(subject);

async function compare(subject: Subject): Promise<void> {
  await using small = await startFilled();
  await using large = await startFilled();
  const one = await subject.grow(small, 0, 1);
  const all: LoadRequest[] = [];
  await measure(small, one, 1);
  for (const size of sizes) {
    const before = residentMegabytes(large.child.pid);
    all.push(...await subject.grow(large, all.length, size - all.length));
    await warmUp(large, all);
    const costs = { one: [] as number[], all: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      costs.one.push((await measure(small, one, secondsPerRound)).cpuMicroseconds ?? Number.NaN);
      costs.all.push((await measure(large, all, secondsPerRound)).cpuMicroseconds ?? Number.NaN);
    }
    const ratios = costs.all.map((cost, round) => cost / (costs.one[round] ?? Number.NaN));
    const more = residentMegabytes(large.child.pid) - before;
    const [least, leastOfOne] = [Math.min(...costs.all), Math.min(...costs.one)];
    const spread = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
    print(row(subject.name, String(size), least, leastOfOne, least / leastOfOne, ...spread, more));
  }
}

/** Asks for each at least once: what the first request of each costs is not what is compared. */
async function warmUp(
  server: Grown & Awaited<ReturnType<typeof startServer>>,
  all: readonly LoadRequest[],
): Promise<void> {
  for (let at = 0; at < all.length; at += warmUpRequests) {
    const part = all.slice(at, at + warmUpRequests);
    for (let asked = 0; asked < part.length;) asked += (await measure(server, part, warmUpSeconds)).requests;
  }
}

async function startFilled(): Promise<Grown & AsyncDisposable & Awaited<ReturnType<typeof startServer>>> {
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
