/** Memory of another process, from the operating system's own accounting. */

/** What it holds of the machine's memory, in MB; `NaN` where /proc does not tell (only Linux does). */
export function residentMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1]) / 1_024;
  } catch {
    return Number.NaN;
  }
}
