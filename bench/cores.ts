/** Keeps the measured servers on one core and the load on another, where the operating system has `taskset`. */

/** The command prefix of a server, and whether the two are apart. */
export interface Cores {
  readonly serverPrefix: readonly string[];
  /** How it went, in words for the reader of the figures. */
  readonly note: string;
}

/** Moves this process to the last core that it may use, and gives servers the first. */
export async function separateCores(): Promise<Cores> {
  const status = await Deno.readTextFile("/proc/self/status").catch(() => "");
  const cores = coresOf(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? "");
  const [first, last] = [cores[0], cores.at(-1)];
  if (first === undefined || last === undefined || first === last) {
    return { serverPrefix: [], note: "not pinned: there are no two cores, so load and server share what there is" };
  }
  try {
    const moved = await new Deno.Command("taskset", {
      args: ["-a", "-c", "-p", String(last), String(Deno.pid)],
      stdout: "null",
      stderr: "null",
    }).output();
    if (!moved.success) return { serverPrefix: [], note: "not pinned: taskset failed" };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { serverPrefix: [], note: "not pinned: there is no taskset here" };
  }
  return {
    serverPrefix: ["taskset", "-c", String(first)],
    note: `each server alone on core ${first}, the load on core ${last}`,
  };
}

function coresOf(list: string): number[] {
  return list.split(",").filter((part) => part !== "").flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}
