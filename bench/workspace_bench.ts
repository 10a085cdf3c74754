/**
 * `deno task bench workspace`: the file tools of `main.ts stdio`, as a client starts it, beside the official
 * @modelcontextprotocol/server-filesystem, both over stdio with the official SDK's client; one call at a time, in turn.
 * npm installs that server into a temporary directory. 10 MB are read with a plain client instead: the SDK's copies what
 * has come with each piece, which takes it 17 s and us 0.2. Then where the time of a read goes, and what reading 10 MB takes.
 * BENCH_ONLY=words limits the operations to those whose names hold the words.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { serverFlags } from "../tests/fixtures/running_server.ts";
import { installOfficialFilesystem } from "./official_filesystem.ts";
import { cpuSeconds } from "./process_cpu.ts";
import { type Call, type Case, workspaceCases } from "./workspace_cases.ts";
import { makeFiles } from "./workspace_files.ts";
import { measureLargeReads, type Program } from "./workspace_large_reads.ts";
import { measureLayers } from "./workspace_layers.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "60");
const warmUpRounds = 2; // an even number: every second round takes back what the one before changed
const only = process.env["BENCH_ONLY"] ?? "";
/** What one answer may hold: 10 MB twice, as text for people and as data, escaped; the SDK ends the connection past it. */
const maxBufferSize = 64 * 1024 * 1024;

interface Connected {
  readonly client: Client;
  readonly pid: number;
}

/** One side of a comparison, with what it took in each round. */
interface Side {
  readonly run: (round: number) => unknown;
  /** Of the server whose processor time is counted. */
  readonly pid: number | null;
  readonly milliseconds: number[];
  cpuMilliseconds: number;
}

const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-bench-" }));
const root = `${base}/workspace`;
const env = {
  COMPATIBILITY: "structured",
  DATA_DIR: `${base}/data`,
  WORKSPACE_DIR: root,
  MCP_RATE_LIMIT: "1000000000",
};
try {
  Deno.mkdirSync(root);
  makeFiles(root);
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const ourProgram: Program = { command: Deno.execPath(), args: ["run", ...serverFlags, main, "stdio"], env };
  const installed = await installOfficialFilesystem(`${base}/official`);
  const officialProgram = "missing" in installed ? null : { command: "node", args: [installed.program, root], env };
  if ("missing" in installed) print(`without the official server: ${installed.missing}\n`);
  await compareCalls(ourProgram, officialProgram);
  await measureLayers(root, print);
  await measureLargeReads([
    { name: "ours", program: ourProgram, call: ["file_read", { filename: "1M" }] },
    ...officialProgram === null
      ? []
      : [{ name: "official", program: officialProgram, call: ["read_text_file", { path: `${root}/1M` }] } as const],
  ], print);
} finally {
  Deno.removeSync(base, { recursive: true });
}

async function compareCalls(ourProgram: Program, officialProgram: Program | null): Promise<void> {
  const ours = await connect(ourProgram);
  const official = officialProgram === null ? null : await connect(officialProgram);
  print(
    'medians in milliseconds; "ahead" is the official server\'s time in ours, CPU that of the servers for a call\n\n',
  );
  print(row("", "ours", "official", "ahead", "ours CPU", "offic. CPU", "bare", "to bare", ""));
  for (const each of workspaceCases(root)) if (each.name.includes(only)) await compare(each, ours, official);
  await Promise.all([ours.client.close(), official?.client.close()]);
}

async function compare(each: Case, ours: Connected, official: Connected | null): Promise<void> {
  const { official: theirs, bare: [bareName, runBare], proof, pages = 1, maxRounds = Infinity } = each;
  const mine = side(ours.pid, (round) => call(ours.client, each.ours(round), { proof, pages }));
  const other = official === null || theirs === null
    ? null
    : side(official.pid, (round) => call(official.client, theirs(round), { proof, pages: 1 }));
  const bare = side(null, runBare);
  const sides = other === null ? [mine, bare] : [mine, other, bare];
  const wanted = Math.min(rounds, maxRounds);
  for (let round = 0; round < warmUpRounds + wanted; round++) {
    // each goes first as often as the others: whoever follows finds the caches warm
    for (let turn = 0; turn < sides.length; turn++) {
      const one = sides[(round + turn) % sides.length];
      if (one !== undefined) await time(one, round, round >= warmUpRounds);
    }
  }
  const [own = NaN, theirOwn = NaN, alone = NaN] = [mine, other, bare].map((one) => median(one?.milliseconds ?? []));
  const [cpu = NaN, theirCpu = NaN] = [mine, other].map((one) => (one?.cpuMilliseconds ?? NaN) / wanted);
  print(row(each.name, own, theirOwn, theirOwn / own, cpu, theirCpu, alone, own / alone, `  ${bareName}`));
}

function side(pid: number | null, run: (round: number) => unknown): Side {
  return { run, pid, milliseconds: [], cpuMilliseconds: 0 };
}

async function time(one: Side, round: number, counts: boolean): Promise<void> {
  const cpuBefore = one.pid === null ? null : cpuSeconds(one.pid);
  const started = performance.now();
  await one.run(round);
  const took = performance.now() - started;
  const cpuAfter = one.pid === null ? null : cpuSeconds(one.pid);
  if (!counts) return;
  one.milliseconds.push(took);
  one.cpuMilliseconds += ((cpuAfter ?? NaN) - (cpuBefore ?? NaN)) * 1_000;
}

async function connect({ command, args, env }: Program): Promise<Connected> {
  const client = new Client({ name: "bench", version: "0" });
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: "ignore", maxBufferSize });
  await client.connect(transport);
  return { client, pid: transport.pid ?? NaN };
}

async function call(client: Client, request: Call, expected: { proof: string; pages: number }): Promise<void> {
  let cursor: unknown;
  for (let page = 0; page < expected.pages; page++) {
    const continued = cursor === undefined ? {} : { cursor };
    const result = await client.callTool({ name: request.name, arguments: { ...request.arguments, ...continued } });
    const text = textOf(result["content"]);
    if (result["isError"] === true || !text.includes(expected.proof)) {
      throw new Error(`${request.name} failed: ${text.slice(0, 300)}`);
    }
    cursor = Object(result["structuredContent"])["next_cursor"];
  }
  if (expected.pages > 1 && cursor !== undefined) throw new Error(`${request.name} has more than expected`);
}

function textOf(content: unknown): string {
  return Array.isArray(content) ? content.map((block) => String(Object(block).text)).join("\n") : "";
}

function median(milliseconds: readonly number[]): number {
  return milliseconds.toSorted((a, b) => a - b)[milliseconds.length >> 1] ?? NaN;
}

function row(name: string, ...figures: readonly (string | number)[]): string {
  const cells = figures.map((figure) =>
    typeof figure === "string"
      ? figure.padStart(11)
      : (Number.isNaN(figure) ? "-" : figure.toFixed(figure < 100 ? 2 : 0)).padStart(11)
  );
  return `${name.padEnd(38)}${cells.join("")}\n`;
}

function print(text: string): void {
  process.stdout.write(text);
}
