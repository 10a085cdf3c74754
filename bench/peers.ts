/**
 * `deno task bench peers`: what the same trivial tool and the read of a small file cost on Portcullis (token check, rate
 * limit, confinement and audit on), on the servers of {@link ./peer_programs.ts} (nothing of the kind), and on a bare
 * Deno.serve. All run side by side and are
 * loaded in turn, in rounds; every answer is compared with the one that was checked first. The figure is the server's own
 * CPU time. The peers are installed by npm into a temporary directory. Memory by stream and by session is measured by
 * `deno task bench streams`.
 */
import process from "node:process";
import { makeServerPlace } from "../tests/fixtures/running_server.ts";
import { separateCores } from "./cores.ts";
import type { LoadRequest } from "./http_load.ts";
import { installPeers } from "./install_peers.ts";
import { post, resultIn } from "./mcp_request.ts";
import {
  connections,
  denoScript,
  endServer,
  makeToken,
  measure,
  type MeasuredServer,
  serverEnvironment,
  startServer,
} from "./measured_server.ts";
import { residentMegabytes } from "./process_memory.ts";
import { median, print, row } from "./table.ts";
import { mcpLite, peerPackages, type PeerProgram, sdkV1Stateful, sdkV1Stateless, sdkV2 } from "./peer_programs.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "3");
const secondsPerRound = Number(process.env["BENCH_SECONDS"] ?? "2");
const maxSeconds = Number(process.env["BENCH_MAX_SECONDS"] ?? "140"); // for the rounds
const maxInstallSeconds = Number(process.env["BENCH_MAX_INSTALL_SECONDS"] ?? "30");
const legacyVersion = "2025-11-25";
const modernVersion = "2026-07-28";

const _meta = {
  "io.modelcontextprotocol/protocolVersion": modernVersion,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Contender {
  readonly name: string;
  readonly server: MeasuredServer;
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry {
  readonly name: string;
  readonly server: MeasuredServer;
  readonly request: LoadRequest;
  readonly answer: string;
  readonly cpuMicroseconds: number[];
}

interface Method {
  readonly name: string;
  /** What is called, where the name does not tell. */
  readonly shows?: string;
  readonly params: Record<string, unknown>;
  readonly isRight: (result: Record<string, unknown>) => boolean;
}

const fileName = "1k.txt";
const fileText = "0123456789abcde\n".repeat(64);

const methods: readonly Method[] = [
  {
    name: "tools/call",
    shows: "echo",
    params: { name: "echo", arguments: { text: "hello" } },
    isRight: ({ content, isError }) =>
      isError !== true && JSON.stringify(content) === '[{"type":"text","text":"hello"}]',
  },
  {
    name: "tools/list",
    params: {},
    isRight: ({ tools }) => Array.isArray(tools) && tools.some(({ name }) => name === "echo"),
  },
  {
    name: "tools/call",
    shows: "file_read 1 kB",
    params: { name: "file_read", arguments: { filename: fileName } },
    isRight: ({ content, isError }) => isError !== true && JSON.stringify(content).includes(JSON.stringify(fileText)),
  },
];

const servers: MeasuredServer[] = [];
const directory = await Deno.makeTempDir({ prefix: "portcullis-peers-" });
await using place = await makeServerPlace();
try {
  const installed = await installPeers(directory, peerPackages, maxInstallSeconds);
  const token = await makeToken(place);
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  const workspaceFile = `${place.workspaceDir}/${fileName}`;
  await Deno.writeTextFile(workspaceFile, fileText);
  const cores = await separateCores();
  print(`${cores.note}\n${connections} connections, ${rounds} rounds of ${secondsPerRound} s each, in turn; medians\n`);
  const start = async (command: readonly string[], options?: Parameters<typeof startServer>[1]) => {
    const server = await startServer([...cores.serverPrefix, ...command], options);
    servers.push(server);
    return server;
  };
  const startPeer = async (
    file: string,
    { runtime, source }: PeerProgram,
    env: Record<string, string>,
  ): Promise<MeasuredServer> => {
    await Deno.writeTextFile(`${directory}/${file}`, source);
    const command = runtime === "node" ? ["node", file] : [Deno.execPath(), "run", "--allow-all", "--no-lock", file];
    return await start(command, { cwd: directory, env: { PEER_FILE: workspaceFile, ...env } });
  };
  const startPeers = async (env: Record<string, string>): Promise<readonly Contender[]> => {
    const lite = await startPeer("lite.mjs", mcpLite, env);
    const stateless = await startPeer("stateless.mjs", sdkV1Stateless, env);
    const stateful = await startPeer("stateful.mjs", sdkV1Stateful, env);
    const v2 = await startPeer("v2.mjs", sdkV2, env);
    const session = { "Mcp-Session-Id": await openSession(stateful) };
    return [
      { name: "mcp-lite on Deno", server: lite, version: "2025-06-18", headers: {} }, // the newest that it knows
      { name: "SDK v1 on Node, stateless", server: stateless, version: legacyVersion, headers: {} },
      { name: "SDK v1 on Node, stateful", server: stateful, version: legacyVersion, headers: session },
      { name: `SDK v2 on Deno, ${legacyVersion}`, server: v2, version: legacyVersion, headers: {} },
      { name: `SDK v2 on Deno, ${modernVersion}`, server: v2, version: modernVersion, headers: {} },
    ];
  };

  const ours = await start(denoScript("server.ts"), { env: serverEnvironment(place) });
  const authorization = { "Authorization": `Bearer ${token}` };
  const own: readonly Contender[] = [
    { name: `Portcullis, ${legacyVersion}`, server: ours, version: legacyVersion, headers: authorization },
    { name: `Portcullis, ${modernVersion}`, server: ours, version: modernVersion, headers: authorization },
  ];
  const plain = installed ? await startPeers({}) : [];
  // Apart: the SDKs register all tools for each request, which is no part of a call.
  const listing = installed ? await startPeers({ PEER_TOOLS: await writeToolList(ours, authorization) }) : [];
  const deadline = performance.now() + maxSeconds * 1_000;
  for (const [index, method] of methods.entries()) {
    const entries: Entry[] = [];
    const waits = method.shows === "file_read 1 kB";
    // The load repeats one id, which a session of SDK v1 tells its concurrent calls apart by, once they wait for anything.
    const peers = method.name === "tools/list" ? listing : plain;
    const able = [...own, ...peers].filter(({ headers }) => !(waits && "Mcp-Session-Id" in headers));
    for (const contender of able) entries.push(await enter(contender, method));
    const bare = async (name: string, like: Entry | undefined): Promise<void> => {
      if (like === undefined) return;
      const result = JSON.stringify(resultIn(like.answer));
      const env = { BARE_RESULT: result, ...(waits ? { BARE_DIRECTORY: place.workspaceDir } : {}) };
      const server = await start(denoScript("bare_server.ts"), { env });
      entries.unshift(await enter({ name, server, version: legacyVersion, headers: {} }, method));
    };
    // Our reads and our list tell more: each has a bare server that answers as much.
    if (installed && method.shows !== "echo") await bare("bare Deno.serve, Portcullis' answer", entries[0]);
    await bare("bare Deno.serve", entries.find(({ name }) => name.startsWith("mcp-lite")) ?? entries[0]);
    const left = (deadline - performance.now()) / (methods.length - index);
    await runRounds(entries, performance.now() + left);
    report(method, entries);
  }
  print("\nresident memory after the load, MB\n");
  for (const { name, server } of [...own, ...plain]) print(row(name, residentMegabytes(server.child.pid)));
} finally {
  await Promise.all(servers.map(endServer));
  await Deno.remove(directory, { recursive: true });
}

/** Writes the tools of our list into a file, and names that. */
async function writeToolList(ours: MeasuredServer, headers: Readonly<Record<string, string>>): Promise<string> {
  const all = { ...headersFor(legacyVersion, "tools/list", {}), ...headers };
  const response = await post(ours.port, all, { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const file = `${directory}/tools.json`;
  await Deno.writeTextFile(file, JSON.stringify(resultIn(await response.text())?.["tools"]));
  return file;
}

async function openSession({ port }: MeasuredServer): Promise<string> {
  const response = await post(port, headersFor(legacyVersion, "initialize", {}), {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: legacyVersion, capabilities: {}, clientInfo: { name: "bench", version: "1" } },
  });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

/** Asks once, judges the answer, and makes it the one that every later answer must equal. */
async function enter({ name, server, version, headers }: Contender, method: Method): Promise<Entry> {
  const params = version === modernVersion ? { ...method.params, _meta } : method.params;
  const body = { jsonrpc: "2.0", id: 7, method: method.name, params };
  const allHeaders = { ...headersFor(version, method.name, method.params), ...headers };
  const response = await post(server.port, allHeaders, body);
  const answer = await response.text();
  const result = response.status === 200 ? resultIn(answer) : undefined;
  if (result === undefined || !method.isRight(result)) {
    throw new Error(`wrong answer from ${name}: ${response.status} ${answer.slice(0, 300)}`);
  }
  const check = (status: number, text: string): void => {
    if (status !== 200 || text !== answer) {
      throw new Error(`wrong answer from ${name}: ${status} ${text.slice(0, 300)}`);
    }
  };
  const request = { path: "/mcp", headers: allHeaders, body: JSON.stringify(body), check };
  return { name, server, request, answer, cpuMicroseconds: [] };
}

async function runRounds(entries: readonly Entry[], deadline: number): Promise<void> {
  for (const { server, request } of entries) await measure(server, request, 1);
  for (let round = 0; round < rounds; round++) {
    if (round > 0 && performance.now() + entries.length * secondsPerRound * 1_000 > deadline) {
      return print(`stopped after ${round} rounds: BENCH_MAX_SECONDS=${maxSeconds} allows no more\n`);
    }
    for (const { server, request, cpuMicroseconds } of entries) {
      cpuMicroseconds.push((await measure(server, request, secondsPerRound)).cpuMicroseconds ?? Number.NaN);
    }
  }
}

function report({ name, shows }: Method, entries: readonly Entry[]): void {
  const bare = entries.find((entry) => entry.name === "bare Deno.serve");
  const ours = entries.find((entry) => entry.name.startsWith("Portcullis"));
  print(
    `\n${row(`${name}${shows === undefined ? "" : ` ${shows}`}: CPU time`, "us", "to bare", "to Portcullis", "bytes")}`,
  );
  for (const entry of entries) {
    const own = median(entry.cpuMicroseconds);
    print(row(entry.name, own, ratioOf(entry, bare), ratioOf(entry, ours), String(entry.answer.length)));
  }
}

function headersFor(version: string, method: string, params: Record<string, unknown>): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": version,
    ...(version === modernVersion ? { "Mcp-Method": method } : {}),
    ...(version === modernVersion && typeof params["name"] === "string" ? { "Mcp-Name": params["name"] } : {}),
  };
}

/** The median of the rounds' ratios, with the least and the greatest. */
function ratioOf(entry: Entry, base: Entry | undefined): string {
  const ratios = entry.cpuMicroseconds.map((own, round) => own / (base?.cpuMicroseconds[round] ?? Number.NaN));
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
  return `${median(ratios).toFixed(2)} (${short(least)}-${short(most)})`;
}

function short(ratio: number): string {
  return ratio.toFixed(ratio < 10 ? 1 : 0);
}
