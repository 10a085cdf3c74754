/**
 * The file tools beside @modelcontextprotocol/server-filesystem, both over stdio with the official client, one call at
 * a time, in turn: `deno run -A bench/workspace_bench.ts PATH/TO/server-filesystem/dist/index.js` (it is installed
 * elsewhere; without it only ours are measured). Prints medians, the ratios, and the bare Deno call's time. The largest
 * file has 4 MB: both answers hold it twice, and the SDK ends a connection over stdio past 10 MB.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert/strict";
import process from "node:process";

const rounds = Number(Deno.env.get("BENCH_ROUNDS") ?? 30);
const [officialPath] = Deno.args;

interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

interface Case {
  readonly name: string;
  readonly ours: Call;
  readonly official: Call | null;
  readonly bare: () => unknown;
  readonly bareName: string;
  /** What the answer's text must hold. */
  readonly proof: string;
  readonly rounds?: number;
}

const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-bench-" }));
const root = `${base}/ws`;
const at = (name: string): string => `${root}/${name}`;
makeFiles();

const readCases: readonly Case[] = ([["1k", 1], ["100k", 100], ["4M", 4096]] as const).map(([name, kilobytes]) => ({
  name: `read ${name}`,
  ours: { name: "file_read", arguments: { filename: name } },
  official: { name: "read_text_file", arguments: { path: at(name) } },
  bare: () => Deno.readTextFileSync(at(name)),
  bareName: "Deno.readTextFileSync",
  proof: "0123456789",
  ...kilobytes > 1000 ? { rounds: 5 } : {},
}));
const cases: readonly Case[] = [
  ...readCases,
  {
    name: "write 1k (ours with fdatasync)",
    ours: { name: "file_write", arguments: { filename: "w", content: "x".repeat(1000) } },
    official: { name: "write_file", arguments: { path: at("w"), content: "x".repeat(1000) } },
    bare: () => Deno.writeTextFileSync(at("w"), "x".repeat(1000)),
    bareName: "Deno.writeTextFileSync",
    proof: "w",
  },
  {
    name: "list 1,000 of 10,000 (the official server gives all)",
    ours: { name: "file_list", arguments: { path: "many" } },
    official: { name: "list_directory", arguments: { path: at("many") } },
    bare: () => Array.from(Deno.readDirSync(at("many"))),
    bareName: "Deno.readDirSync",
    proof: "file-1",
    rounds: 10,
  },
  {
    name: "search 10,000 files for a line",
    ours: { name: "file_search", arguments: { path: "tree", query: "needle" } },
    official: null,
    bare: () => new Deno.Command("grep", { args: ["-rn", "needle", at("tree")] }).outputSync(),
    bareName: "grep -rn",
    proof: "needle",
    rounds: 5,
  },
  {
    name: "find 10,000 files by name",
    ours: { name: "file_list", arguments: { path: "tree", pattern: "**/*77.txt" } },
    official: { name: "search_files", arguments: { path: at("tree"), pattern: "**/*77.txt" } },
    bare: () => new Deno.Command("find", { args: [at("tree"), "-name", "*77.txt"] }).outputSync(),
    bareName: "find",
    proof: "77.txt",
    rounds: 5,
  },
];

try {
  const ours = await connect(Deno.execPath(), ["run", "-A", "--no-check", scriptPath("workspace_stdio.ts"), root]);
  const official = officialPath === undefined ? null : await connect("node", [officialPath, root]);
  process.stdout.write("medians in milliseconds, over stdio\n");
  for (const each of cases) await compare(each, ours, official);
  await Promise.all([ours.close(), official?.close()]);
} finally {
  Deno.removeSync(base, { recursive: true });
}

async function compare(each: Case, ours: Client, official: Client | null): Promise<void> {
  const times: { ours: number[]; official: number[]; bare: number[] } = { ours: [], official: [], bare: [] };
  for (let round = 0; round < (each.rounds ?? rounds); round++) {
    times.ours.push(await timeOf(() => call(ours, each.ours, each.proof)));
    if (official !== null && each.official !== null) {
      const { official: theirs } = each;
      times.official.push(await timeOf(() => call(official, theirs, each.proof)));
    }
    times.bare.push(await timeOf(each.bare));
  }
  const [mine, theirs, bare] = [median(times.ours), median(times.official), median(times.bare)];
  const ratio = times.official.length === 0
    ? ""
    : `official ${theirs.toFixed(2)} (${(theirs / mine).toFixed(1)} times ours), `;
  process.stdout.write(`${each.name}: ours ${mine.toFixed(2)}, ${ratio}${each.bareName} ${bare.toFixed(2)}\n`);
}

async function connect(command: string, args: string[]): Promise<Client> {
  const client = new Client({ name: "bench", version: "0" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  return client;
}

async function call(client: Client, request: Call, proof: string): Promise<void> {
  const result = await client.callTool(request);
  assert.ok(result.isError !== true && JSON.stringify(result.content).includes(proof), `${request.name} failed`);
}

async function timeOf(task: () => unknown): Promise<number> {
  const started = performance.now();
  await task();
  return performance.now() - started;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function scriptPath(name: string): string {
  return new URL(name, import.meta.url).pathname;
}

function makeFiles(): void {
  Deno.mkdirSync(at("many"), { recursive: true });
  for (const [name, kilobytes] of [["1k", 1], ["100k", 100], ["4M", 4096]] as const) {
    Deno.writeTextFileSync(at(name), "0123456789abcde\n".repeat(64 * kilobytes));
  }
  for (let n = 0; n < 10_000; n++) {
    Deno.writeTextFileSync(at(`many/file-${n}`), "");
    const directory = at(`tree/d${n % 100}`);
    if (n < 100) Deno.mkdirSync(directory, { recursive: true });
    Deno.writeTextFileSync(
      `${directory}/${n}.txt`,
      `line\n${n % 1000 === 0 ? "a needle\n" : ""}${"text\n".repeat(40)}`,
    );
  }
}
