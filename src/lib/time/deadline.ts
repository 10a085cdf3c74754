/**
 * Deadlines that are nearly always met. A timer of its own would cost each request 2 µs, so that all deadlines of one
 * length share one: they end in the order in which they began.
 */

interface Queue {
  /** What to do at the end, and when that is; the oldest first. */
  readonly waiting: Map<() => void, number>;
  isArmed: boolean;
}

const queues = new Map<number, Queue>();

/** Calls `expire` after so many milliseconds, unless the returned function is called before. Keeps no process alive. */
export function startDeadline(milliseconds: number, expire: () => void): () => void {
  let queue = queues.get(milliseconds);
  if (queue === undefined) {
    queue = { waiting: new Map(), isArmed: false };
    queues.set(milliseconds, queue);
  }
  const { waiting } = queue;
  const end = (): void => expire(); // a key of its own, whatever the caller passes
  waiting.set(end, performance.now() + milliseconds);
  if (!queue.isArmed) arm(queue, milliseconds);
  return () => void waiting.delete(end);
}

function arm(queue: Queue, milliseconds: number): void {
  queue.isArmed = true;
  Deno.unrefTimer(setTimeout(() => endThoseDue(queue), milliseconds));
}

/** The timer is not stopped when its deadline is met: it then finds others, or nothing, and rests. */
function endThoseDue(queue: Queue): void {
  queue.isArmed = false;
  const now = performance.now();
  for (const [end, endsAt] of queue.waiting) {
    if (endsAt > now) return arm(queue, Math.ceil(endsAt - now));
    queue.waiting.delete(end);
    end();
  }
}
