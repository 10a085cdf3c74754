/**
 * `deno task bench streams`: 1,000 idle streams and 10,000 legacy sessions at one server, with calls going on. Prints the
 * server's memory for each stream and session, beside a bare `Deno.serve` that holds as many streams and beside peers,
 * and what a call takes with and without them. Linux only: memory is read from /proc.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installPeers } from "./install_peers.ts";
import { peerPackages } from "./peer_programs.ts";
import { residentMegabytes } from "./process_memory.ts";
import { sessionPeers } from "./session_peers.ts";

const streams = 1_000;
const sessions = 10_000;
const calls = 500;
const maxInstallSeconds = 90;
const version = "2026-07-28";
const _meta = {
  "io.modelcontextprotocol/protocolVersion": version,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const bareServer = `
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log("listening on http://127.0.0.1:" + port) }, async (request) => {
  const { id, method } = await request.json();
  if (method !== "subscriptions/listen") return Response.json({ jsonrpc: "2.0", id, result: {} });
  let first = true;
  return new Response(new ReadableStream({
    pull(controller) {
      if (!first) return new Promise(() => {});
      first = false;
      controller.enqueue(new TextEncoder().encode("data: {}\\n\\n"));
    },
  }, { highWaterMark: 0 }), { headers: { "content-type": "text/event-stream" } });
});
setInterval(() => globalThis.gc(), 500);
`;
const ourServer = `
import { startConformanceServer } from ${
  JSON.stringify(new URL("../tests/conformance/server.ts", import.meta.url).href)
};
console.log("listening on " + startConformanceServer().url);
setInterval(() => globalThis.gc(), 500);
`;

interface ServerProcess {
  readonly url: string;
  /** Resident memory in kB, after garbage collection. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

/** `packages`: the directory where npm installed what the source imports; ours has its own. */
async function start(source: string, packages?: string): Promise<ServerProcess> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-bench-", ...packages && { dir: packages } });
  await Deno.writeTextFile(`${directory}/server.ts`, source);
  const config = packages === undefined
    ? ["--config", fileURLToPath(new URL("../deno.json", import.meta.url))]
    : ["--no-lock"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--v8-flags=--expose-gc", ...config, `${directory}/server.ts`],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /listening on (\S+)/.exec(value)?.[1];
  if (url === undefined) throw new Error(`the server did not start: ${value}`);
  return {
    url,
    async memory() {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return residentMegabytes(child.pid) * 1_024;
    },
    async stop() {
      child.kill();
      await reader.cancel();
      await child.status;
      await Deno.remove(directory, { recursive: true });
    },
  };
}

function post(url: string, method: string, params: Record<string, unknown>, name?: string): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
}

/** Calls a trivial tool, one call after the other, and gives the microseconds of each. */
async function callTime(url: string): Promise<number> {
  const started = performance.now();
  for (let call = 0; call < calls; call += 1) {
    const response = await post(url, "tools/call", { name: "test_simple_text", arguments: {} }, "test_simple_text");
    if (!(await response.text()).includes('"result"')) throw new Error("a call failed");
  }
  return (performance.now() - started) * 1_000 / calls;
}

/** Opens the streams and gives them with the memory that each took. */
async function openStreams({ url, memory }: ServerProcess): Promise<{ open: Response[]; each: number }> {
  const before = await memory();
  const open: Response[] = [];
  for (let stream = 0; stream < streams; stream += 1) {
    open.push(await post(url, "subscriptions/listen", { notifications: { toolsListChanged: true } }));
  }
  if (open.some(({ status }) => status !== 200)) throw new Error("a stream was refused");
  return { open, each: (await memory() - before) / streams };
}

const legacyHeaders = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2025-06-18", // known to every one of them
};

/** Opens sessions, uses each once, and gives their ids. */
async function openSessions(url: string): Promise<string[]> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const ids: string[] = [];
  for (let session = 0; session < sessions; session += 1) {
    const opened = await fetch(url, {
      method: "POST",
      headers: legacyHeaders,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    await opened.text();
    const id = opened.headers.get("mcp-session-id") ?? "";
    const used = await fetch(url, {
      method: "POST",
      headers: { ...legacyHeaders, "mcp-session-id": id },
      body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }),
    });
    if (!(await used.text()).includes('"result"')) throw new Error("a session was refused");
    ids.push(id);
  }
  return ids;
}

/** What a session takes, and the stream of one. Ends the server. */
async function measureSessions(name: string, { url, memory, stop }: ServerProcess): Promise<string> {
  const before = await memory();
  const ids = await openSessions(url);
  const withSessions = await memory();
  const open: Response[] = [];
  for (const id of ids.slice(0, streams)) {
    open.push(await fetch(url, { headers: { ...legacyHeaders, "mcp-session-id": id } }));
  }
  if (open.some(({ status }) => status !== 200)) throw new Error(`a stream was refused by ${name}`);
  const withStreams = await memory();
  await Promise.all(open.map(({ body }) => body?.cancel()));
  await stop();
  const [stream, session] = [(withStreams - withSessions) / streams, (withSessions - before) / sessions];
  return `${name}: idle stream of a session ${stream.toFixed(1)} kB, session ${session.toFixed(1)} kB\n`;
}

async function measurePeers(): Promise<string> {
  const packages = await Deno.makeTempDir({ prefix: "portcullis-bench-" });
  let lines = "";
  if (await installPeers(packages, peerPackages, maxInstallSeconds)) {
    for (const [name, source] of Object.entries(sessionPeers)) {
      lines += await measureSessions(name, await start(source, packages));
    }
  }
  await Deno.remove(packages, { recursive: true });
  return lines;
}

const bare = await start(bareServer);
await callTime(bare.url);
const bareStreams = await openStreams(bare);
await Promise.all(bareStreams.open.map(({ body }) => body?.cancel()));
await bare.stop();

const ours = await start(ourServer);
await callTime(ours.url);
const alone = await callTime(ours.url);
const { open, each } = await openStreams(ours);
const withStreams = await callTime(ours.url);
await openSessions(ours.url);
const withAll = await callTime(ours.url);
await Promise.all(open.map(({ body }) => body?.cancel()));
await ours.stop();

const ofSessions = await measureSessions("Portcullis", await start(ourServer)) + await measurePeers();

const us = (time: number): string => `${time.toFixed(0)} us`;
process.stdout.write(`\
idle stream: ${each.toFixed(1)} kB (bare Deno.serve: ${bareStreams.each.toFixed(1)} kB), ${streams} open
one call after the other: ${us(alone)} alone, ${us(withStreams)} with the streams, ${
  us(withAll)
} with ${sessions} sessions too
${ofSessions}`);
process.exit(0);
