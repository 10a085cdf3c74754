/** What reading 1 MB takes of a server, without the weight of the SDK's client: time, processor, memory. */
import { connectPlainly } from "./plain_stdio.ts";
import { cpuSeconds } from "./process_cpu.ts";

const reads = 7;

/** How a server over stdio is started. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
}

/** A server and the call that reads the file. */
export interface LargeReader {
  readonly name: string;
  readonly program: Program;
  readonly call: readonly [tool: string, input: Record<string, unknown>];
}

/** Starts each server, reads with it one time and then some, and prints a line for each. */
export async function measureLargeReads(readers: readonly LargeReader[], print: (text: string) => void): Promise<void> {
  print(
    "\nreading 1 MB, to a client that only waits for the end of the answer; memory is the peak of what is resident\n\n",
  );
  print(row("", ["ms", "CPU ms", "MB at first", "after one", `after ${reads + 1}`]));
  for (const { name, program, call } of readers) {
    await using client = await connectPlainly(program.command, program.args, program.env);
    const peaks = [await peakMegabytes(client.pid)];
    await client.call(...call);
    peaks.push(await peakMegabytes(client.pid));
    const cpuBefore = cpuSeconds(client.pid);
    const times: number[] = [];
    for (let time = 0; time < reads; time++) {
      const started = performance.now();
      await client.call(...call);
      times.push(performance.now() - started);
    }
    const cpu = ((cpuSeconds(client.pid) ?? NaN) - (cpuBefore ?? NaN)) * 1_000 / reads;
    peaks.push(await peakMegabytes(client.pid));
    const median = times.toSorted((a, b) => a - b)[reads >> 1] ?? NaN;
    print(row(name, [median, cpu, ...peaks].map((figure) => figure.toFixed(0))));
  }
}

async function peakMegabytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(12)}${cells.map((cell) => cell.padStart(14)).join("")}\n`;
}
