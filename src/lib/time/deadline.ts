/**
 * Deadlines that are nearly always met, and end up to an eighth late. A timer of its own would cost each request 2 µs,
 * a look at the clock 0.1: all deadlines of one length share a timer, which ends those that began in the same eighth.
 */

const parts = 8;

interface Queue {
  /** What to do at the end, by the part of time in which it began; the newest last. */
  slots: Set<() => void>[];
  readonly partMs: number;
  isArmed: boolean;
}

const queues = new Map<number, Queue>();

/** Calls `expire` after so many milliseconds, unless the returned function is called before. Keeps no process alive. */
export function startDeadline(milliseconds: number, expire: () => void): () => void {
  let queue = queues.get(milliseconds);
  if (queue === undefined) {
    queue = { slots: [new Set()], partMs: milliseconds / parts, isArmed: false };
    queues.set(milliseconds, queue);
  }
  const slot = queue.slots.at(-1) as Set<() => void>;
  const end = (): void => expire(); // a key of its own, whatever the caller passes
  slot.add(end);
  if (!queue.isArmed) arm(queue);
  return () => void slot.delete(end);
}

function arm(queue: Queue): void {
  queue.isArmed = true;
  Deno.unrefTimer(setTimeout(() => endThoseDue(queue), queue.partMs));
}

/** The timer is not stopped when the last deadline is met: it then finds nothing, and rests. */
function endThoseDue(queue: Queue): void {
  if (queue.slots.every(({ size }) => size === 0)) {
    queue.slots = [new Set()];
    queue.isArmed = false;
    return;
  }
  queue.slots.push(new Set());
  arm(queue);
  if (queue.slots.length <= parts + 1) return;
  for (const end of queue.slots.shift() ?? []) end();
}
