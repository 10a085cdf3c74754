/**
 * Sends the dearest calls of every tool, alone and many at once, while another principal pings and reads, and says how
 * long that one waited.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { startServicenowServer } from "../../fixtures/servicenow/server.ts";
import { processorSeconds, startOllamaProcess } from "../run_hostile_load.ts";
import { dearCalls, dearRequests, dearValue, encodeRequest, untriedMethods } from "./dear_calls.ts";
import { plantFiles, undone } from "./planted_files.ts";
import type { WaitingOrder, Waits } from "./waiting_caller.ts";

/** How much is tried. */
export interface FreezeOptions {
  /** How many of each call are sent at once; each number is a round. */
  readonly atOnce: readonly number[];
  /** After so long, those that are not answered are given up. */
  readonly milliseconds: number;
  readonly say: (line: string) => void;
  /** Only rows whose name holds it. */
  readonly only?: string;
}

/** One row of the table. */
export interface FreezeRow {
  readonly name: string;
  readonly atOnce: number;
  /** The longest wait of the innocent caller, in milliseconds, had the server a processor whenever it wanted one. */
  readonly worst: number;
  /** By how much others on the machine stretched it. */
  readonly stretch: number;
  /** The longest wait for a process that does nothing else. */
  readonly control: number;
  /** What the server took above what it had before the calls, in mebibytes; `null` where the system does not tell. */
  readonly peak: number | null;
  readonly wrong: readonly string[];
}

/** What was seen. */
export interface FreezeReport {
  readonly rows: readonly FreezeRow[];
  /** Of the same caller, while nothing else was asked. */
  readonly idle: number;
  /** The most that calls of one kind took; `null` where the system does not tell. */
  readonly peakMebibytes: number | null;
  /** Tools and methods for which there is no call. */
  readonly untried: readonly string[];
}

/** So long the work of callers who have gone is waited for. */
const maxLingeringMs = 60_000;
const scope = "files:read files:write llm:generate servicenow:read servicenow:write";

/** Tries them all. */
export async function runFreezes({ atOnce, milliseconds, say, only = "" }: FreezeOptions): Promise<FreezeReport> {
  await using ollama = await startOllamaProcess();
  await using place = await startServicenowServer({
    ...{ MCP_RATE_LIMIT: "10000000", LLM_RATE_LIMIT: "1000000", LOG_FORMAT: "json" },
    ...{ OLLAMA_HOST: ollama.url },
  });
  const { url, pid, workspaceDir } = place.server;
  const [hostile, innocent] = [await place.signIn("ada", scope), await place.signIn("ben", scope)];
  await Deno.mkdir(workspaceDir, { recursive: true });
  await plantFiles(workspaceDir);
  await Deno.writeTextFile(join(workspaceDir, "innocent.txt"), "nothing to see\n".repeat(20));
  await Deno.writeTextFile(join(workspaceDir, "undo.txt"), undone.before);
  const post = ({ body, headers = {} }: Sent, signal: AbortSignal): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${hostile}`,
        ...headers,
      },
      body,
      signal,
    });
  const ask = async (method: string, params?: unknown): Promise<string> => {
    const response = await post({ body: rpc(method, params) }, AbortSignal.timeout(60_000));
    return await response.text();
  };
  const { tools } = JSON.parse(jsonOf(await ask("tools/list"))).result;
  const { old: _, ...edit } = { old: 0, path: "undo.txt", old_text: undone.oldText, new_text: undone.newText };
  await ask("tools/call", { name: "file_edit", arguments: edit });
  await Deno.writeTextFile(join(workspaceDir, "undo.txt"), undone.later);

  using caller = startWaiting({
    url,
    token: innocent,
    filename: "innocent.txt",
    controlUrl: `${ollama.url}/api/version`,
  });
  await wait(500);
  await caller.report();
  await wait(1_500);
  const calm = processorSeconds(pid).ran;
  await wait(1_000);
  const idleShare = processorSeconds(pid).ran - calm;
  const { worst: idle } = await caller.report();
  const rest = memoryOf(pid, "VmRSS");
  clearPeak(pid);
  say(`idle: ${idle.toFixed(0)} ms, ${rest?.toFixed(0) ?? "?"} MiB`);
  const rows: FreezeRow[] = [];
  for (const [name, sentAs, unreadMs] of requests(tools)) {
    if (!name.includes(only)) continue;
    for (const times of atOnce) {
      const before = processorSeconds(pid);
      const had = memoryOf(pid, "VmRSS");
      const leaving = new AbortController();
      const timer = setTimeout(() => leaving.abort(), Math.min(milliseconds, unreadMs ?? Infinity));
      const sent = Array.from({ length: times }, async (_, time) => {
        try {
          const response = await post(sentAs(time), leaving.signal);
          if (unreadMs === undefined) await response.text();
          else await new Promise((_, reject) => leaving.signal.addEventListener("abort", reject));
        } catch {
          // given up
        }
      });
      await Promise.all(sent);
      clearTimeout(timer);
      const { worst: waited, control, wrong } = await caller.report();
      const after = processorSeconds(pid);
      const stretch = 1 + Math.max(0, after.waited - before.waited) / Math.max(0.001, after.ran - before.ran);
      const worst = waited / stretch;
      const most = memoryOf(pid, "VmHWM");
      const peak = most === null || had === null ? null : most - had;
      clearPeak(pid);
      rows.push({ name, atOnce: times, worst, stretch, control, peak, wrong });
      say(
        `${(peak?.toFixed(0) ?? "?").padStart(4)} MiB ${worst.toFixed(0).padStart(7)} ms  (x ${
          stretch.toFixed(1)
        })  control ${control.toFixed(0).padStart(4)} ms  ${String(times).padStart(2)} x ${name}`,
      );
      const lingered = await untilCalm(pid, idleShare);
      if (lingered > 500) say(`     it went on for ${lingered.toFixed(0)} ms after its callers had gone`);
      await caller.report(); // what was given up may still end
    }
  }
  const peaks = rows.flatMap(({ peak }) => peak ?? []);
  return { rows, idle, peakMebibytes: peaks.length === 0 ? null : Math.max(...peaks), untried: untried(tools) };
}

interface ListedTool {
  readonly name: string;
  readonly inputSchema: { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

interface Sent {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Of the revision whose calls are cancelled when their caller leaves: what was given up does not go on for minutes. */
function sentCall(name: string, given: Readonly<Record<string, unknown>>): Sent {
  return encodeRequest({ method: "tools/call", params: { name, arguments: given }, isModern: true });
}

function* requests(
  tools: readonly ListedTool[],
): Generator<readonly [name: string, sentAs: (time: number) => Sent, unreadMs?: number | undefined]> {
  for (const { name, inputSchema: { properties } } of tools) {
    for (const [what, argumentsOf] of Object.entries(dearCalls[name] ?? {})) {
      yield [`${name}: ${what}`, (time) => sentCall(name, argumentsOf(time))];
    }
    const large = Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, dearValue(schema)]));
    const keys = Object.keys(properties);
    // each parameter by itself, beside the usual ones of a call
    yield [`${name}: each parameter as large as a body`, (time) => {
      const usual = Object.values(dearCalls[name] ?? {})[0]?.(time) ?? {};
      const key = keys[time % keys.length] ?? "";
      return sentCall(name, { ...usual, [key]: large[key] });
    }];
  }
  for (const [what, request] of Object.entries(dearRequests)) {
    const sent = encodeRequest(request);
    yield [what, () => sent, request.unreadMs];
  }
}

function untried(tools: readonly ListedTool[]): readonly string[] {
  return [...tools.map(({ name }) => name).filter((name) => dearCalls[name] === undefined), ...untriedMethods()];
}

function rpc(method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) });
}

/** The message of an answer, which may be an event stream. */
function jsonOf(text: string): string {
  return text.startsWith("{") ? text : /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
}

function startWaiting(order: WaitingOrder): Disposable & { report(): Promise<Waits> } {
  const worker = new Worker(new URL("waiting_caller.ts", import.meta.url), { type: "module" });
  worker.onerror = (event) => assert.fail(event.message);
  worker.postMessage(order);
  return {
    report() {
      const { promise, resolve } = Promise.withResolvers<Waits>();
      worker.onmessage = ({ data }) => resolve(data);
      worker.postMessage("report");
      return promise;
    },
    [Symbol.dispose]: () => worker.terminate(),
  };
}

/** Waits until the server works no more than for the innocent caller alone; gives how long that took, in milliseconds. */
async function untilCalm(pid: number, idleShare: number): Promise<number> {
  const started = performance.now();
  const step = 100;
  for (let before = processorSeconds(pid).ran; performance.now() - started < maxLingeringMs;) {
    await wait(step);
    const { ran } = processorSeconds(pid);
    if (ran - before < (idleShare * 1.5 + 0.1) * step / 1_000) break;
    before = ran;
  }
  return performance.now() - started;
}

/** Lets the kernel count the peak anew (proc(5), `clear_refs`). */
function clearPeak(pid: number): void {
  if (Deno.build.os === "linux") Deno.writeTextFileSync(`/proc/${pid}/clear_refs`, "5");
}

function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number | null {
  if (Deno.build.os !== "linux") return null;
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
