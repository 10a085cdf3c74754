/** CPU time of another process, from the operating system's own accounting. */

const ticksPerSecond = 100; // USER_HZ, the same on every Linux that Deno runs on

/** User plus system time so far, in seconds; `null` where /proc does not tell (only Linux does). */
export async function cpuSeconds(pid: number): Promise<number | null> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (stat === null) return null;
  // proc(5): the second field may hold blanks and parentheses, so fields count from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * The time that the living threads of a process ran so far, in milliseconds, finer than the above; `null` where /proc does
 * not tell.
 */
export async function threadMilliseconds(pid: number): Promise<number | null> {
  let nanoseconds = 0;
  try {
    for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
      nanoseconds += Number((await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`)).split(" ")[0]);
    }
  } catch {
    return null; // not Linux, or a thread that just ended
  }
  return nanoseconds / 1e6;
}
