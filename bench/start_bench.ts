/**
 * `deno task bench start [PROGRAM]`: how long a start takes until the first answer in MCP, the memory then and after
 * {@link calls} calls of a tool, and a minute later each time: from source, from the bundle, of the servers of {@link ./peer_programs.ts} and two of
 * the official ones, and of a bare Deno.serve; with PROGRAM, of that compiled one, and of SDK v2 compiled with the same
 * Deno and base binary (COMPILE_DENO, DENORT_BIN). Starts take turns, so that the machine's moods meet all of them;
 * medians are printed, with the ratios to the bare server.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundleProgram, programName, root } from "../scripts/bundle.ts";
import { runBundler } from "../scripts/bundler.ts";
import { compiledPermissions, unstableFlags } from "../scripts/compile.ts";
import { makeServerPlace, serverFlags } from "../tests/fixtures/running_server.ts";
import { pause } from "../src/lib/time.ts";
import { vitalsOf } from "../tests/soak/vitals.ts";
import { handshake, startProgram, type Subject } from "./asked_program.ts";
import { installPeers } from "./install_peers.ts";
import { makeToken } from "./measured_server.ts";
import { mcpLite, type PeerProgram, sdkV1Stateless, sdkV2, sdkV2OnNode, startPeerPackages } from "./peer_programs.ts";
import { cpuSeconds } from "./process_cpu.ts";

const starts = Number(process.env["BENCH_STARTS"] ?? "9");
const calls = Number(process.env["BENCH_CALLS"] ?? "1000");
/** V8 returns memory some half a minute after the last work. */
const restMs = 60_000;
const rests = 3;
const maxInstallSeconds = Number(process.env["BENCH_MAX_INSTALL_SECONDS"] ?? "90");
const bareName = "bare Deno.serve";

/** `NaN` where /proc does not tell (only Linux does). */
interface Start {
  readonly milliseconds: number;
  /** Processor time by then, which other programs on the machine swing less. */
  readonly cpuMilliseconds: number;
  readonly megabytes: number;
  readonly megabytesAfterCalls: number;
}

const scratch = await Deno.makeTempDir({ prefix: "portcullis-bench-" });
await using place = await makeServerPlace();
try {
  await bundleProgram(`${scratch}/bundle`, null);
  const subjects = [...await ownSubjects(Deno.args[0]), ...await peerSubjects(Deno.args[0] !== undefined)];
  const results = new Map<string, Start[]>(subjects.map(({ name }) => [name, []]));
  for (let round = -1; round < starts; round++) {
    for (const subject of subjects) {
      const start = await measure(subject);
      if (round >= 0) results.get(subject.name)?.push(start); // the first one fills the caches
    }
  }
  report(results);
  await reportRest(subjects);
} finally {
  await Deno.remove(scratch, { recursive: true });
}

async function ownSubjects(program: string | undefined): Promise<Subject[]> {
  const deno = Deno.execPath();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  const token = await makeToken(place);
  const own = {
    cwd: root,
    env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: "0", MCP_RATE_LIMIT: "1000000" },
    transport: "http" as const,
    token,
    call: { name: "file_list", arguments: {} },
  };
  const source = ["run", ...serverFlags, `${root}main.ts`];
  const bundle = ["run", "--no-config", ...unstableFlags, ...compiledPermissions(), `${scratch}/bundle/${programName}`];
  const bareResult = JSON.stringify({ content: [] });
  return [
    {
      ...own,
      name: bareName,
      command: deno,
      args: ["run", "--allow-all", fileURLToPath(new URL("bare_server.ts", import.meta.url))],
      env: { BARE_RESULT: bareResult },
    },
    { ...own, name: "from source", command: deno, args: [...source, "serve"] },
    { ...own, name: "from the bundle", command: deno, args: [...bundle, "serve"] },
    ...(program === undefined ? [] : [{ ...own, name: "compiled", command: program, args: ["serve"] }]),
    { ...own, name: "stdio, from source", command: deno, args: [...source, "stdio"], transport: "stdio" },
  ];
}

async function peerSubjects(isCompiledToo: boolean): Promise<Subject[]> {
  if (!await installPeers(scratch, startPeerPackages, maxInstallSeconds)) return [];
  const call = { name: "echo", arguments: { text: "hello" } };
  const sourceFile = async (name: string, { source }: PeerProgram): Promise<string> => {
    const file = `${name.replaceAll(/\W/g, "_")}.mjs`;
    await Deno.writeTextFile(`${scratch}/${file}`, source);
    return file;
  };
  const echo = async (name: string, peer: PeerProgram): Promise<Subject> => {
    const file = await sourceFile(name, peer);
    const [command, ...args] = peer.runtime === "node"
      ? ["node", file] as const
      : [Deno.execPath(), "run", "--allow-all", "--no-lock", file] as const;
    return { name, command, args, cwd: scratch, transport: "http", call };
  };
  /** As the compiled program is made: by the same Deno, with the same base binary, without a code cache. */
  const compiled = async (name: string, peer: PeerProgram, isBundled: boolean): Promise<Subject> => {
    const file = await sourceFile(name, peer);
    const bundled = `${file}.bundle.js`;
    if (isBundled) await runBundler(["--no-lock", "--output", bundled, file], scratch);
    const command = `${scratch}/${file}.compiled`;
    await compileScript(isBundled ? bundled : file, { output: command, directory: scratch });
    return { name, command, args: [], cwd: scratch, transport: "http", call };
  };
  const official = (name: string, args: readonly string[], call: Subject["call"]): Subject => ({
    name: `${name}, stdio`,
    command: "node",
    args: [`node_modules/@modelcontextprotocol/${name}/dist/index.js`, ...args],
    cwd: scratch,
    transport: "stdio",
    call,
  });
  return [
    await echo("mcp-lite on Deno", mcpLite),
    await echo("SDK v2 on Deno", sdkV2),
    ...(isCompiledToo
      ? [await compiled("SDK v2, compiled", sdkV2, false), await compiled("SDK v2, bundled and compiled", sdkV2, true)]
      : []),
    await echo("SDK v2 on Node", sdkV2OnNode),
    await echo("SDK v1 on Node", sdkV1Stateless),
    official("server-filesystem", [scratch], { name: "list_directory", arguments: { path: `${scratch}/bundle` } }),
    official("server-everything", ["stdio"], { name: "echo", arguments: { message: "hello" } }),
  ];
}

async function compileScript(script: string, { output, directory }: { output: string; directory: string }) {
  const { success, stderr } = await new Deno.Command(process.env["COMPILE_DENO"] || Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-check",
      "--no-lock",
      "--no-code-cache",
      "--allow-all",
      "--output",
      output,
      script,
    ],
    cwd: directory,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`deno compile: ${new TextDecoder().decode(stderr)}`);
}

async function measure(subject: Subject): Promise<Start> {
  const began = performance.now();
  const program = await startProgram(subject);
  try {
    await program.ask("initialize", handshake);
    const milliseconds = performance.now() - began;
    const cpu = cpuSeconds(program.pid);
    const megabytes = await megabytesOf(program.pid);
    for (let count = 0; count < calls; count++) await program.ask("tools/call", subject.call);
    return {
      milliseconds,
      cpuMilliseconds: cpu === null ? Number.NaN : cpu * 1_000,
      megabytes,
      megabytesAfterCalls: await megabytesOf(program.pid),
    };
  } finally {
    await program.stop();
  }
}

/** Of all of them at once: programs at rest do not disturb each other. */
async function reportRest(subjects: readonly Subject[]): Promise<void> {
  const rested = subjects.map(({ name }) => ({ name, started: [] as number[], called: [] as number[] }));
  for (let round = 0; round < rests; round++) {
    const programs = await Promise.all(subjects.map(startProgram));
    try {
      for (const program of programs) await program.ask("initialize", handshake);
      await pause(restMs);
      for (const [index, { pid }] of programs.entries()) rested[index]?.started.push(await megabytesOf(pid));
      for (const [index, program] of programs.entries()) {
        for (let count = 0; count < calls; count++) await program.ask("tools/call", subjects[index]?.call);
      }
      await pause(restMs);
      for (const [index, { pid }] of programs.entries()) rested[index]?.called.push(await megabytesOf(pid));
    } finally {
      await Promise.all(programs.map((program) => program.stop()));
    }
  }
  print(`\nMB after ${restMs / 1_000} s of rest, medians of ${rests} starts\n\n`);
  print(row("", ["after the answer", `after ${calls} calls`]));
  for (const { name, started, called } of rested) {
    print(row(name, [started, called].map((values) => median(values).toFixed(0))));
  }
}

async function megabytesOf(pid: number): Promise<number> {
  return (await vitalsOf(pid)).residentMegabytes ?? Number.NaN;
}

function report(results: ReadonlyMap<string, readonly Start[]>): void {
  const bare = results.get(bareName) ?? [];
  const columns: readonly (readonly [string, (start: Start) => number])[] = [
    ["ms to answer", (start) => start.milliseconds],
    ["CPU ms", (start) => start.cpuMilliseconds],
    ["MB then", (start) => start.megabytes],
    [`after ${calls} calls`, (start) => start.megabytesAfterCalls],
  ];
  print(`${starts} starts each, in turn; medians, and how many times the ${bareName}\n\n`);
  print(row("", columns.map(([title]) => title)));
  for (const [name, measured] of results) {
    print(row(
      name,
      columns.map(([, of]) => {
        const value = median(measured.map(of));
        return `${value.toFixed(0)} (${(value / median(bare.map(of))).toFixed(1)})`;
      }),
    ));
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(26)}${cells.map((cell) => cell.padStart(17)).join("")}\n`;
}

function print(text: string): void {
  process.stdout.write(text);
}
