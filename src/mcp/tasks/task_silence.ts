/**
 * How long a task's record has stayed as it is, by this instance's own timers. Stamps of the instance that runs the task
 * say nothing here: its clock may be a minute off, or jump.
 */
import type { Timers } from "../../lib/time/timers.ts";

/** How many tasks are remembered; the one seen first is forgotten first, and counts anew. */
const maxTasks = 10_000;

/** What this instance has seen of tasks that others run. */
interface TaskSilence {
  /** Milliseconds since this instance first saw the task with this version. */
  since(taskId: string, version: string): number;
}

/** Remembers nothing yet. */
export function createTaskSilence({ elapsed }: Pick<Timers, "elapsed">): TaskSilence {
  const seen = new Map<string, { readonly version: string; readonly at: number }>();
  return {
    since(taskId, version) {
      const known = seen.get(taskId);
      if (known?.version === version) return elapsed() - known.at;
      const [oldest] = seen.keys();
      if (known === undefined && seen.size >= maxTasks && oldest !== undefined) seen.delete(oldest);
      seen.set(taskId, { version, at: elapsed() });
      return 0;
    },
  };
}
