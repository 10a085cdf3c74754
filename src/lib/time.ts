/**
 * Time that only goes forward, for durations: rates, back-off, how long something in memory stays fresh. The wall clock
 * ({@link Clock}) may jump either way; only dates that other parties see are read from it.
 */

/** Passed in wherever something lasts, so that a simulation can turn the hands. */
export interface Timers {
  /** Milliseconds since an arbitrary moment. Only differences mean anything. */
  elapsed(): number;
  /** Calls `run` once after so many milliseconds, however many, unless the returned function is called first. */
  after(milliseconds: number, run: () => void): () => void;
  /** Calls `run` again and again, until the returned function is called. */
  every(milliseconds: number, run: () => void): () => void;
}

/** `setTimeout` fires at once when the delay needs more bits (WHATWG HTML §8.6 converts it to a signed 32-bit integer). */
export const longestTimerMs = 2 ** 31 - 1;

/** The machine's own timers. */
export const systemTimers: Timers = {
  elapsed: () => performance.now(),
  after,
  every(milliseconds, run) {
    const timer = setInterval(run, Math.min(milliseconds, longestTimerMs));
    return () => clearInterval(timer);
  },
};

function after(milliseconds: number, run: () => void): () => void {
  const endsAt = performance.now() + milliseconds;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (left: number): void => {
    timer = setTimeout(() => {
      const rest = left > longestTimerMs ? endsAt - performance.now() : 0;
      if (rest > 0) arm(rest);
      else run();
    }, Math.min(left, longestTimerMs));
  };
  arm(Math.max(milliseconds, 0));
  return () => clearTimeout(timer);
}

/** Calls `run` again and again, first after a fifth of the time: processes that live for less clean up, too. */
export function soonAndEvery({ after, every }: Timers, milliseconds: number, run: () => void): () => void {
  const stops = [after(milliseconds / 5, run), every(milliseconds, run)];
  return () => stops.forEach((stop) => stop());
}

/** Milliseconds since the epoch. Passed in wherever time matters, so that tests turn the hands themselves. */
export type Clock = () => number;

/** The machine's own clock. */
export function systemClock(): number {
  return Date.now();
}

/** Resolves after so many milliseconds, or at once when the signal aborts. */
export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

/** A pause that ends early when its caller gives up. */
export function createPause(timers: Timers): Pause {
  return (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        stopTimer();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const stopTimer = timers.after(milliseconds, done);
      signal?.addEventListener("abort", done, { once: true });
    });
}

/** The pause of the machine's own timers. */
export const pause: Pause = createPause(systemTimers);

/** Runs `work` with a signal that aborts after this time. */
export async function within<T>(
  milliseconds: number,
  pause: Pause,
  work: (late: AbortSignal) => Promise<T>,
): Promise<T> {
  const [late, over] = [new AbortController(), new AbortController()];
  void pause(milliseconds, over.signal).then(() => late.abort());
  try {
    return await work(late.signal);
  } finally {
    over.abort();
  }
}

/** What `work` gives, or `late` once so many milliseconds have passed. The work goes on. */
export async function atMost<T, Late>(
  milliseconds: number,
  work: T | PromiseLike<T>,
  late: Late,
  wait: Pause = pause,
): Promise<T | Late> {
  const over = new AbortController();
  try {
    return await Promise.race([work, wait(milliseconds, over.signal).then(() => late)]);
  } finally {
    over.abort();
  }
}

// * A clock that only goes forward and that the instances on one storage agree on, whatever their wall clocks say. Each
// begins at its wall clock; one that reads a stamp ahead of it catches up. So what instances count together never
// depends on how far their wall clocks are apart, nor on a wall clock that jumps while the server runs.

/** The clock of one instance. Only for stamps that instances write for each other: it may be far from the date. */
export interface AgreedClock {
  now(): number;
  /** Takes note of a stamp that another instance wrote: from here on, `now` is not before it. */
  catchUp(stamp: number): void;
}

/** Starts it at the wall clock. */
export function createAgreedClock(clock: Clock, { elapsed }: Pick<Timers, "elapsed">): AgreedClock {
  let offset = clock() - elapsed();
  return {
    now: () => elapsed() + offset,
    catchUp(stamp) {
      if (stamp > elapsed() + offset) offset = stamp - elapsed();
    },
  };
}

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** A span of time in words for people: in the largest unit that divides it, or to the nearest in one of which it has two or more. */
export function durationWords(seconds: number): string {
  const [name, size] = units.find(([, size]) => seconds >= size && (seconds % size === 0 || seconds >= 2 * size)) ??
    ["second", 1];
  const count = Math.round(seconds / size);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/**
 * A "no" to a question that comes sooner is not a person's: agents without a screen say so by themselves, Codex as
 * "decline", Claude Code as "cancel".
 */
export const leastReadingMs = 1_000;
