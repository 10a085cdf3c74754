/**
 * How long a task's record has stayed as it is, by this instance's own timers. Stamps of the instance that runs the task
 * say nothing here: its clock may be a minute off, or jump.
 */
import { boundedMap } from "../lib/bounded_map.ts";
import type { Timers } from "../lib/timers.ts";

/** Tasks that are remembered. One that is evicted counts anew. */
const maxTasks = 10_000;

/** What this instance has seen of tasks that others run. */
interface TaskSilence {
  /** Milliseconds since this instance first saw the task with this version. */
  since(taskId: string, version: string): number;
}

/** Remembers nothing yet. */
export function createTaskSilence({ elapsed }: Pick<Timers, "elapsed">): TaskSilence {
  const seen = boundedMap<string, { readonly version: string; readonly at: number }>(maxTasks);
  return {
    since(taskId, version) {
      const known = seen.get(taskId);
      if (known?.version === version) return elapsed() - known.at;
      seen.set(taskId, { version, at: elapsed() });
      return 0;
    },
  };
}
