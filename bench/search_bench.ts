/**
 * `deno task bench:search`: what an agent does with many files or large ones, asked of `main.ts stdio`, of the official
 * @modelcontextprotocol/server-filesystem and of the Unix tool that does the same, in turn. Everything runs on one core,
 * ripgrep on two as well; this program, which waits for the answers, on the other. Each answer is checked. A Unix tool's
 * time holds its start; that of `true` shows how long a start takes. BENCH_ROUNDS=n, BENCH_ONLY=words as elsewhere.
 */
import process from "node:process";
import { serverFlags } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import { installOfficialFilesystem } from "./official_filesystem.ts";
import { connectPlainly, type PlainClient } from "./plain_stdio.ts";
import { makeSearchedFiles, searchCases, type UnixTool } from "./search_cases.ts";
import { median, print } from "./table.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "15");
const warmUpRounds = 2; // an even number: every second round takes back what the one before changed
const only = process.env["BENCH_ONLY"] ?? "";

/** One way to do the same. */
interface Side {
  readonly name: string;
  run(round: number): Promise<string>;
  readonly proof: string;
  readonly milliseconds: number[];
}

const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-bench-" }));
const root = `${base}/workspace`;
try {
  makeSearchedFiles(root);
  const cores = await separateCores();
  const installed = await installOfficialFilesystem(`${base}/official`);
  print(`${cores.note}${"missing" in installed ? `\nwithout the official server: ${installed.missing}` : ""}\n`);
  print("medians in milliseconds; how many times the other's time ours is, round by round: median (quartiles)\n\n");
  const env = { DATA_DIR: `${base}/data`, WORKSPACE_DIR: root, MCP_RATE_LIMIT: "1000000000" };
  const main = new URL("../main.ts", import.meta.url).pathname;
  await using ours = await start([...cores.serverPrefix, Deno.execPath(), "run", ...serverFlags, main, "stdio"], env);
  const program = "missing" in installed ? null : installed.program;
  await using official = program === null ? null : await start([...cores.serverPrefix, "node", program, root], env);
  for (const each of searchCases(root)) {
    if (!each.name.includes(only)) continue;
    const sides = [
      side("ours", each.proof, (round) => ask(ours, each.ours(round))),
      ...official === null || each.official === undefined
        ? []
        : [side("official", each.official.proof, (round) => ask(official, each.official?.call(round) ?? ["", {}]))],
      ...each.unix.map((tool) => side(tool.name, tool.proof, () => run(tool, cores.serverPrefix))),
    ];
    await compare(each.name, sides);
  }
} finally {
  Deno.removeSync(base, { recursive: true });
}

function side(name: string, proof: string, run: Side["run"]): Side {
  return { name, proof, run, milliseconds: [] };
}

async function compare(name: string, sides: readonly Side[]): Promise<void> {
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    // each goes first as often as the others: the one that follows finds the caches warm
    for (let turn = 0; turn < sides.length; turn++) {
      const one = sides[(round + turn) % sides.length];
      if (one === undefined) continue;
      const started = performance.now();
      const answer = await one.run(round);
      const took = performance.now() - started;
      if (!answer.includes(one.proof)) throw new Error(`${name}, ${one.name}: ${answer.slice(0, 300)}`);
      if (round >= warmUpRounds) one.milliseconds.push(took);
    }
  }
  const [ours, ...others] = sides;
  if (ours === undefined) return;
  const cells = others.map((other) => {
    const ratios = ours.milliseconds.map((own, round) => own / (other.milliseconds[round] ?? NaN)).sort((a, b) =>
      a - b
    );
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => ratios[Math.floor(ratios.length * part)] ?? NaN);
    const spread = `${middle?.toFixed(2)} (${low?.toFixed(2)} to ${high?.toFixed(2)})`;
    return `${other.name} ${median(other.milliseconds).toFixed(1)}: ${spread}`;
  });
  print(`${name.padEnd(44)}${median(ours.milliseconds).toFixed(1).padStart(8)}   ${cells.join("   ")}\n`);
}

async function start(command: readonly string[], env: Record<string, string>): Promise<PlainClient> {
  const [program = "", ...args] = command;
  return await connectPlainly(program, args, env);
}

async function ask(client: PlainClient, [name, input]: readonly [string, Record<string, unknown>]): Promise<string> {
  const pieces = await client.call(name, input);
  return await new Blob(pieces.map((piece) => new Uint8Array(piece))).text();
}

async function run(
  { command, exitCode = 0, onAllCores = false }: UnixTool,
  prefix: readonly string[],
): Promise<string> {
  const allCores = ["taskset", "-c", `0-${navigator.hardwareConcurrency - 1}`];
  const [program = "", ...args] = [...prefix.length === 0 ? [] : onAllCores ? allCores : prefix, ...command];
  const { code, stdout } = await new Deno.Command(program, { args, stdin: "null", stderr: "null" }).output();
  if (code !== exitCode) throw new Error(`${command.join(" ")} ended with ${code}`);
  return new TextDecoder().decode(stdout);
}
