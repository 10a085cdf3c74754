/** Sends what rows ask for, while another principal pings and reads, and says how long that one waited. */
import assert from "node:assert/strict";
import { processorSeconds } from "../run_hostile_load.ts";
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
  /** What is too slow once is measured again, at once: a server freezes again, a machine that stood still does not. */
  readonly isTooSlow?: (row: FreezeRow, idle: number) => boolean;
}

/** What is asked for, once or many times at once. */
export interface AskedRow {
  readonly name: string;
  /**
   * One of them; `time` says which. It is over when it is answered, or throws when it is given up. An `Error` that is of
   * no kind says that something else came than was asked for.
   */
  readonly ask: (time: number, leaving: AbortSignal) => Promise<unknown>;
  /** Given up after so long, if that is sooner than the others. */
  readonly leaveAfterMs?: number | undefined;
  /** Undoes what it left, so that the next round begins as this one did. */
  readonly afterwards?: () => Promise<void>;
  /** Instead of the rounds of the others. */
  readonly atOnce?: readonly number[];
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
  /** Of the innocent caller, and of what was asked for. */
  readonly wrong: readonly string[];
}

/** What was seen. */
export interface Measured {
  readonly rows: readonly FreezeRow[];
  /** Of the same caller, while nothing else was asked. */
  readonly idle: number;
  /** The most that calls of one kind took; `null` where the system does not tell. */
  readonly peakMebibytes: number | null;
}

/** So long the work of callers who have gone is waited for. */
const maxLingeringMs = 60_000;

/** Measures the rows one after another, at the server of that process. */
export async function measureRows(
  asked: Iterable<AskedRow>,
  { pid, ...order }: WaitingOrder & { readonly pid: number },
  { atOnce, milliseconds, say, only = "", isTooSlow = () => false }: FreezeOptions,
): Promise<Measured> {
  using caller = startWaiting(order);
  await wait(500);
  await caller.report();
  const calm = processorSeconds(pid).ran;
  await wait(1_000);
  const idleShare = processorSeconds(pid).ran - calm;
  const { worst: idle } = await caller.report();
  const rest = memoryOf(pid, "VmRSS");
  say(`idle: ${idle.toFixed(0)} ms, ${rest?.toFixed(0) ?? "?"} MiB`);
  const rows: FreezeRow[] = [];
  for (const { name, ask, leaveAfterMs, afterwards, atOnce: rounds = atOnce } of asked) {
    if (!name.includes(only)) continue;
    const measure = async (times: number): Promise<FreezeRow> => {
      const before = processorSeconds(pid);
      const had = memoryOf(pid, "VmRSS");
      clearPeak(pid); // what the row before left to do is no part of this one
      const leaving = new AbortController();
      const timer = setTimeout(() => leaving.abort(), Math.min(milliseconds, leaveAfterMs ?? Infinity));
      const settled = await Promise.allSettled(Array.from({ length: times }, (_, time) => ask(time, leaving.signal)));
      clearTimeout(timer);
      const { worst: waited, control, wrong: notServed } = await caller.report();
      const failures = settled.flatMap((each) => each.status === "rejected" ? [each.reason] : [])
        .filter(({ constructor, name }) => constructor === Error || name === "TimeoutError");
      const wrong = [...notServed, ...new Set(failures.map(String))];
      const after = processorSeconds(pid);
      const stretch = 1 + Math.max(0, after.waited - before.waited) / Math.max(0.001, after.ran - before.ran);
      const worst = waited / stretch;
      const most = memoryOf(pid, "VmHWM");
      const peak = most === null || had === null ? null : most - had;
      say(
        `${(peak?.toFixed(0) ?? "?").padStart(4)} MiB ${worst.toFixed(0).padStart(7)} ms  (x ${
          stretch.toFixed(1)
        })  control ${control.toFixed(0).padStart(4)} ms  ${String(times).padStart(2)} x ${name}`,
      );
      const lingered = await untilCalm(pid, idleShare);
      if (lingered > 500) say(`     it went on for ${lingered.toFixed(0)} ms after its callers had gone`);
      await afterwards?.();
      await caller.report(); // what was given up may still end
      return { name, atOnce: times, worst, stretch, control, peak, wrong };
    };
    for (const times of rounds) {
      const row = await measure(times);
      rows.push(isTooSlow(row, idle) && row.wrong.length === 0 ? await measure(times) : row);
    }
  }
  const peaks = rows.flatMap(({ peak }) => peak ?? []);
  return { rows, idle, peakMebibytes: peaks.length === 0 ? null : Math.max(...peaks) };
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
  const step = 50;
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

/** Reads nothing of an answer until the caller leaves. */
export function untilLeft(leaving: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (leaving.aborted) resolve();
    else leaving.addEventListener("abort", () => resolve());
  });
}
