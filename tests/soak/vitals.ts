/** What a process holds: memory and descriptors, from the operating system's own accounting. */

/** One look; the fields are `null` where /proc does not tell (only Linux does). */
export interface Vitals {
  readonly residentMegabytes: number | null;
  readonly descriptors: number | null;
}

/** Looks at a process. */
export async function vitalsOf(pid: number): Promise<Vitals> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  let descriptors: number | null = null;
  try {
    descriptors = Array.from(Deno.readDirSync(`/proc/${pid}/fd`)).length;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return { residentMegabytes: kilobytes === undefined ? null : Number(kilobytes) / 1_000, descriptors };
}
