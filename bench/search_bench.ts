/**
 * `deno task bench search`: what an agent does with many files or large ones, asked of `main.ts stdio`, of the official
 * @modelcontextprotocol/server-filesystem and of the Unix tool that does the same, in turn. Everything runs on one core;
 * this program, which waits for the answers, on the other. Searches are then asked of `main.ts serve` on all cores, and of
 * ripgrep. Each answer is checked. A Unix tool's time holds its start; that of `true` shows how long a start takes.
 * BENCH_ROUNDS=n, BENCH_ONLY=words as elsewhere.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { serverFlags } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import { installOfficialFilesystem } from "./official_filesystem.ts";
import { endServer, makeToken, startServer } from "./measured_server.ts";
import { requestFor } from "./mcp_request.ts";
import { connectPlainly, type PlainClient } from "./plain_stdio.ts";
import { makeSearchedFiles, searchCases, type UnixTool } from "./search_cases.ts";
import { median, print } from "./table.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "15");
const warmUpRounds = 2; // an even number: every second round takes back what the one before changed
const only = process.env["BENCH_ONLY"] ?? "";
const allCores = ["taskset", "-c", `0-${navigator.hardwareConcurrency - 1}`];

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
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const token = await makeToken({ dataDir: `${base}/served` });
  const served = await startServer([...allCores, Deno.execPath(), "run", ...serverFlags, main, "serve"], {
    env: { ...env, DATA_DIR: `${base}/served`, PORT: "0" },
  });
  await using ours = await start([...cores.serverPrefix, Deno.execPath(), "run", ...serverFlags, main, "stdio"], env);
  const program = "missing" in installed ? null : installed.program;
  await using official = program === null ? null : await start([...cores.serverPrefix, "node", program, root], env);
  for (const each of searchCases(root)) {
    if (!each.name.includes(only)) continue;
    const { together = [], alone = [] } = Object.groupBy(each.unix, (tool) => tool.onAllCores ? "together" : "alone");
    const sides = [
      side("ours", each.proof, (round) => ask(ours, each.ours(round))),
      ...official === null || each.official === undefined
        ? []
        : [side("official", each.official.proof, (round) => ask(official, each.official?.call(round) ?? ["", {}]))],
      ...alone.map((tool) => side(tool.name, tool.proof, () => run(tool, cores.serverPrefix))),
    ];
    await compare(each.name, sides);
    if (together.length === 0 || cores.serverPrefix.length === 0) continue;
    await compare(`${each.name}, all cores`, [
      side("ours", each.proof, (round) => askServed(served.port, token, each.ours(round))),
      ...together.map((tool) => side(tool.name, tool.proof, () => run(tool, allCores))),
    ]);
  }
  await endServer(served);
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

async function askServed(
  port: number,
  token: string,
  [name, input]: readonly [string, Record<string, unknown>],
): Promise<string> {
  const { path, headers, body, check } = requestFor(
    { name, method: "tools/call", params: { name, arguments: input } },
    token,
  );
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
  const answer = await response.text();
  check(response.status, answer);
  return answer;
}

async function run({ command, exitCode = 0 }: UnixTool, prefix: readonly string[]): Promise<string> {
  const [program = "", ...args] = [...prefix, ...command];
  const { code, stdout } = await new Deno.Command(program, { args, stdin: "null", stderr: "null" }).output();
  if (code !== exitCode) throw new Error(`${command.join(" ")} ended with ${code}`);
  return new TextDecoder().decode(stdout);
}
