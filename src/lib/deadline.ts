/**
 * Deadlines that are nearly always met, and end up to an eighth late. A timer of its own would cost each request 2 µs,
 * a look at the clock 0.1: all deadlines of one length share a timer, which ends those that began in the same eighth.
 */

const parts = 8;

/** A deadline that is open, in a ring with the others of its length. A set would rehash every few requests. */
class Deadline {
  next: Deadline = this;
  previous: Deadline = this;
  readonly part: number;
  readonly expire: () => void;

  constructor(part: number, expire: () => void) {
    this.part = part;
    this.expire = expire;
  }

  /** It was met, and ends no more. */
  meet(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this.previous = this;
  }
}

interface Queue {
  /** Before the oldest and after the newest. */
  readonly ends: Deadline;
  readonly partMs: number;
  /** Counts the parts of time. */
  part: number;
  isArmed: boolean;
}

const queues = new Map<number, Queue>();

/** Calls `expire` after so many milliseconds, unless it is met before. Keeps no process alive. */
export function startDeadline(milliseconds: number, expire: () => void): Pick<Deadline, "meet"> {
  let queue = queues.get(milliseconds);
  if (queue === undefined) {
    queue = { ends: new Deadline(0, () => {}), partMs: milliseconds / parts, part: 0, isArmed: false };
    queues.set(milliseconds, queue);
  }
  const { ends } = queue;
  const deadline = new Deadline(queue.part, expire);
  deadline.next = ends;
  deadline.previous = ends.previous;
  ends.previous = ends.previous.next = deadline;
  if (!queue.isArmed) arm(queue);
  return deadline;
}

function arm(queue: Queue): void {
  queue.isArmed = true;
  Deno.unrefTimer(setTimeout(() => endThoseDue(queue), queue.partMs));
}

/** The timer is not stopped when the last deadline is met: it then finds nothing, and rests. */
function endThoseDue(queue: Queue): void {
  const { ends } = queue;
  if (ends.next === ends) {
    queue.isArmed = false;
    return;
  }
  queue.part += 1;
  arm(queue);
  for (let oldest = ends.next; oldest !== ends && queue.part - oldest.part > parts; oldest = ends.next) {
    oldest.meet();
    oldest.expire();
  }
}
