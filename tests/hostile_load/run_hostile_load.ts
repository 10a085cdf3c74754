/**
 * Hostile but valid calls of every kind against the started server, in a small heap, while an innocent caller goes on
 * calling. The same seed sends the same requests.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../fixtures/free_port.ts";
import { heapFlag } from "../../src/lib/start_flags.ts";
import { makeServerPlace, runCommand, serverFlags, startServer } from "../fixtures/running_server.ts";
import { seeded } from "../soak/random.ts";
import type { Attacks } from "./attack.ts";
import { endpointAttacks } from "./endpoint_attacks.ts";
import { fileAttacks } from "./file_attacks.ts";
import { sendHostile } from "./hostile_caller.ts";
import type { InnocentOrder, InnocentReport } from "./innocent_caller.ts";
import { modelAttacks } from "./model_attacks.ts";
import { protocolAttacks } from "./protocol_attacks.ts";

/** How a hostile load goes. */
export interface HostileLoadOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly say: (line: string) => void;
}

/** What a hostile load saw. What it found broken, it throws. */
export interface HostileLoadReport {
  /** Answers by attack. */
  readonly counts: ReadonlyMap<string, number>;
  readonly largestAnswer: { readonly attack: string; readonly bytes: number };
  readonly innocent: InnocentReport;
  readonly heapAtRestMebibytes: number;
  /** Above the memory at rest; `null` where the system does not tell. */
  readonly peakMebibytes: number | null;
}

const mebibyte = 1024 * 1024;
const heapAboveRestMebibytes = 64;
const hostileCallers = 6;
const attacks: Attacks = { ...fileAttacks, ...modelAttacks, ...protocolAttacks, ...endpointAttacks };
const scopes = "files:read files:write llm:generate";
const limits = {
  MCP_RATE_LIMIT: "1000000",
  OAUTH_RATE_LIMIT: "1000000",
  TRUST_PROXY: "1",
  LOG_FORMAT: "json",
};

/** Runs a hostile load to its end. */
export async function runHostileLoad({ seed, seconds, say }: HostileLoadOptions): Promise<HostileLoadReport> {
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeTextFile(join(place.workspaceDir, "innocent.txt"), "nothing to see\n".repeat(20));
  const tokens = [await createToken(place.dataDir), await createToken(place.dataDir)] as const;
  await using ollama = await startOllamaProcess();
  const metricsPort = freePort();
  const env = {
    ...limits,
    OLLAMA_HOST: ollama.url,
    METRICS_PORT: String(metricsPort),
  };
  const order = (url: string): InnocentOrder => ({
    url,
    token: tokens[1],
    filename: "innocent.txt",
    idleUrl: `${ollama.url}/api/version`,
  });
  let heapAtRest = 0;
  {
    await using calm = await startServer(place, { env });
    using innocent = startInnocent(order(calm.url));
    await wait(1_000);
    await innocent.stop();
    heapAtRest = await heapBytes(metricsPort) / mebibyte;
  }
  const heap = Math.ceil(heapAtRest) + heapAboveRestMebibytes;
  say(
    `seed ${seed}, ${seconds} s, a heap of ${heap} MiB: ${heapAtRest.toFixed(1)} at rest and ${heapAboveRestMebibytes}`,
  );
  const flags = serverFlags.map((flag) => flag === heapFlag ? `${heapFlag},--max-old-space-size=${heap}` : flag);
  await using server = await startServer(place, { env, flags });
  using innocent = startInnocent(order(server.url));
  await wait(1_000);
  const restMebibytes = memoryOf(server.pid, "VmRSS");
  const counts = new Map<string, number>();
  const findings = new Map<string, string>();
  let largestAnswer = { attack: "", bytes: 0 };
  const inFlight = new Map<number, string>();
  let isOver = false;
  const until = performance.now() + seconds * 1_000;
  const callers = Array.from({ length: hostileCallers }, async (_, number) => {
    const random = seeded(seed, `caller ${number}`);
    while (performance.now() < until && !isOver) {
      const attack = random.pick(Object.keys(attacks));
      const request = attacks[attack]?.(random);
      if (request === undefined) continue;
      inFlight.set(number, `${attack} ${JSON.stringify(request.body)?.slice(0, 300)}`);
      const { bytes, finding } = await sendHostile(server.url, tokens[0], request);
      counts.set(attack, (counts.get(attack) ?? 0) + 1);
      if (finding !== null) findings.set(attack, finding);
      if (bytes > largestAnswer.bytes) largestAnswer = { attack, bytes };
      if (finding === null) inFlight.delete(number);
      if (finding !== null && !isOver) say(`${attack}: ${finding}`);
      if (finding !== null && (findings.size > 20 || !isAlive(server.pid))) isOver = true;
    }
  });
  await Promise.all(callers);
  if (!isAlive(server.pid)) {
    throw new Error(`the server ended during\n${[...inFlight.values()].join("\n")}\n${server.stderr().slice(-1_000)}`);
  }
  const report = await innocent.stop();
  const peak = memoryOf(server.pid, "VmHWM");
  const { ran, waited } = processorSeconds(server.pid);
  say(`the server ran for ${ran.toFixed(1)} s, and waited ${waited.toFixed(1)} s for a processor`);
  const { code } = await server.stop("SIGTERM");
  const errors = server.stderr().split("\n").filter((line) => line.includes('"level":"error"')).slice(0, 5);
  assert.deepEqual(Object.fromEntries(findings), {}, "every answer is an honest one");
  assert.deepEqual(errors, [], "nothing is logged as an error");
  assert.equal(code, 0, `the server lives, and stops in good order: ${server.stderr().slice(-2_000)}`);
  const peakMebibytes = peak === null || restMebibytes === null ? null : peak - restMebibytes;
  return { counts, largestAnswer, innocent: report, heapAtRestMebibytes: heapAtRest, peakMebibytes };
}

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT"); // does nothing to a process that runs
    return memoryOf(pid, "VmRSS") !== Number.NaN;
  } catch {
    return false;
  }
}

async function createToken(dataDir: string): Promise<string> {
  const words = ["token", "create", "--scope", scopes, "--ttl", "86400", "--data-dir", dataDir];
  const { code, stdout, stderr } = await runCommand(words);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

function startInnocent(order: InnocentOrder): Disposable & { readonly stop: () => Promise<InnocentReport> } {
  const worker = new Worker(new URL("innocent_caller.ts", import.meta.url), { type: "module" });
  const { promise, resolve, reject } = Promise.withResolvers<InnocentReport>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => reject(new Error(event.message));
  worker.postMessage(order);
  return {
    stop() {
      worker.postMessage("stop");
      return promise;
    },
    [Symbol.dispose]: () => worker.terminate(),
  };
}

/** The stand-in in a process of its own: its work is no part of what is measured. */
export async function startOllamaProcess(): Promise<AsyncDisposable & { readonly url: string }> {
  const script = fileURLToPath(new URL("../fixtures/ollama.ts", import.meta.url));
  const models = ["--model", "tinyllama", "--model", "phi3"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, "--port", "0", "--token-ms", "5", ...models],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stand-in ended: ${text}`);
    text += value;
  }
  const url = /http:\S+/.exec(text)?.[0] ?? "";
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}

async function heapBytes(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^portcullis_heap_used_bytes (\S+)$/m.exec(text)?.[1]);
}

function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number | null {
  if (Deno.build.os !== "linux") return null;
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

/** What its threads ran, and what they waited while others had the processors; nothing where the system does not tell. */
export function processorSeconds(pid: number): { readonly ran: number; readonly waited: number } {
  let [ran, waited] = [0, 0];
  if (Deno.build.os === "linux") {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const [run = 0, wait = 0] = Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`).split(" ").map(Number);
      ran += run / 1e9;
      waited += wait / 1e9;
    }
  }
  return { ran, waited };
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
