/**
 * `deno task bench`: what a call costs the server, as a ratio to a bare Deno.serve that parses a request, reads the file
 * if the call reads one, and answers with the same JSON. Both are loaded in turn, in rounds, over loopback; every answer
 * is checked. CPU time is the server's own, as the operating system counts it: requests per second swing with the
 * machine, CPU time much less. A second Portcullis stores no audit (AUDIT_MAX_BYTES=0): the difference is what the
 * stored audit costs, most of it in the background.
 */
import process from "node:process";
import { makeServerPlace, type ServerPlace } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import type { LoadRequest } from "./http_load.ts";
import { type Case, requestFor } from "./mcp_request.ts";
import { median, print, row } from "./table.ts";
import {
  connections,
  denoScript,
  endServer,
  makeToken,
  type Measure,
  measure,
  serverEnvironment,
  startServer,
} from "./measured_server.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "3");
const secondsPerRound = Number(process.env["BENCH_SECONDS"] ?? "4");

/** A case, and whether a bare server has to read a file for it too. */
const cases: readonly (Case & { readonly reads?: true })[] = [
  { name: "tools/list", method: "tools/list", params: {} },
  { name: "tools/call echo", method: "tools/call", params: { name: "echo", arguments: { text: "hello" } } },
  {
    name: "tools/call file_read 1 kB",
    method: "tools/call",
    params: { name: "file_read", arguments: { filename: "1k.txt" } },
    reads: true,
  },
];

await using place = await makeServerPlace();
await using unstoredPlace = await makeServerPlace();
const token = await prepare(place);
const unstoredToken = await prepare(unstoredPlace);
const { serverPrefix, note } = await separateCores();
const start = (script: string, env: Record<string, string>) =>
  startServer([...serverPrefix, ...denoScript(script)], { env });
const ours = await start("server.ts", serverEnvironment(place));
const unstored = await start("server.ts", { ...serverEnvironment(unstoredPlace), AUDIT_MAX_BYTES: "0" });
try {
  print(`${note}\n`);
  print(`${connections} connections, ${rounds} rounds of ${secondsPerRound} s each, in turn; medians\n\n`);
  print(row("", "CPU us/request", "requests/s", "p50 ms", "p99 ms"));
  for (const each of cases) await compare(each);
} finally {
  await endServer(ours);
  await endServer(unstored);
}

/** Gives the token of a caller. */
async function prepare(prepared: ServerPlace): Promise<string> {
  await Deno.mkdir(prepared.workspaceDir, { recursive: true });
  await Deno.writeTextFile(`${prepared.workspaceDir}/1k.txt`, "0123456789abcde\n".repeat(64));
  return await makeToken(prepared);
}

async function compare(each: (typeof cases)[number]): Promise<void> {
  const request = requestFor(each, token);
  const result = await answerOf(ours.port, request);
  const bare = await start("bare_server.ts", {
    BARE_RESULT: JSON.stringify(result),
    ...(each.reads === undefined ? {} : { BARE_DIRECTORY: place.workspaceDir }),
  });
  try {
    const unstoredRequest = requestFor(each, unstoredToken);
    const measures: Record<"bare" | "ours" | "unstored", Measure[]> = { bare: [], ours: [], unstored: [] };
    await measure(bare, request, 1);
    await measure(ours, request, 1);
    await measure(unstored, unstoredRequest, 1);
    for (let round = 0; round < rounds; round++) {
      measures.bare.push(await measure(bare, request, secondsPerRound));
      measures.ours.push(await measure(ours, request, secondsPerRound));
      measures.unstored.push(await measure(unstored, unstoredRequest, secondsPerRound));
    }
    const [base, mine] = [medians(measures.bare), medians(measures.ours)];
    const cpuOf = (round?: Measure): number => round?.cpuMicroseconds ?? Number.NaN;
    const storing = median(measures.ours.map((round, at) => cpuOf(round) - cpuOf(measures.unstored[at])));
    print(
      row(
        `bare${each.reads === undefined ? "" : ", reading"}: ${each.name}`,
        base.cpuMicroseconds,
        base.requestsPerSecond,
        base.p50,
        base.p99,
      ),
    );
    print(row(`portcullis: ${each.name}`, mine.cpuMicroseconds, mine.requestsPerSecond, mine.p50, mine.p99));
    const ratios = measures.ours.map((round, at) => cpuOf(round) / cpuOf(measures.bare[at]));
    print(
      row(
        `  ratio (CPU ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
        mine.cpuMicroseconds / base.cpuMicroseconds,
        mine.requestsPerSecond / base.requestsPerSecond,
        mine.p50 / base.p50,
        mine.p99 / base.p99,
      ),
    );
    print(
      `  of it, to store the audit: ${storing.toFixed(2)} us, ${
        (storing / base.cpuMicroseconds).toFixed(2)
      } of the ratio\n`,
    );
  } finally {
    await endServer(bare);
  }
}

async function answerOf(port: number, { path, headers, body }: LoadRequest): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
  const { result } = await response.json();
  if (result === undefined) throw new Error(`no result: ${response.status}`);
  return result;
}

function medians(
  measures: readonly Measure[],
): Record<"cpuMicroseconds" | "requestsPerSecond" | "p50" | "p99", number> {
  return {
    cpuMicroseconds: median(measures.map(({ cpuMicroseconds }) => cpuMicroseconds ?? Number.NaN)),
    requestsPerSecond: median(measures.map(({ requests, seconds }) => requests / seconds)),
    p50: median(measures.map(({ p50 }) => p50)),
    p99: median(measures.map(({ p99 }) => p99)),
  };
}
