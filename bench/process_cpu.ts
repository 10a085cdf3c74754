/** CPU time of another process, from the operating system's own accounting. */

const clock = openProcessClock();
const time = new BigInt64Array(2); // struct timespec: seconds and nanoseconds

/**
 * User plus system time of all of its threads so far, in seconds, also of those that have ended; `null` where the system
 * does not tell (only Linux with glibc does). Exact to a time slice of the scheduler, where /proc counts hundredths.
 */
export function cpuSeconds(pid: number): number | null {
  // linux/posix-timers.h: the id of a process' clock is its own, inverted, above CPUCLOCK_SCHED.
  if (clock === null || clock.symbols.clock_gettime(~pid * 8 + 2, time) !== 0) return null;
  return Number(time[0]) + Number(time[1]) / 1e9;
}

function openProcessClock() {
  if (Deno.build.os !== "linux") return null;
  try {
    return Deno.dlopen("libc.so.6", { clock_gettime: { parameters: ["i32", "buffer"], result: "i32" } });
  } catch {
    return null; // another C library
  }
}
