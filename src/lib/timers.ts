/**
 * Time that only goes forward, for durations: rates, back-off, how long something in memory stays fresh. The wall clock
 * (clock.ts) may jump either way; only dates that other parties see are read from it.
 */

/** Passed in wherever something lasts, so that a simulation can turn the hands. */
export interface Timers {
  /** Milliseconds since a moment of its own. Only differences mean anything. */
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
  after: (milliseconds, run) => begin(() => beginOne(milliseconds, run)),
  every: (milliseconds, run) =>
    begin(() => {
      const timer = setInterval(run, Math.min(milliseconds, longestTimerMs));
      return () => clearInterval(timer);
    }),
};

/** Timers that begin later; `null` where each begins at once. */
let held: Set<() => void> | null = null;

/**
 * Has all timers of this thread begin after so many milliseconds. The first one that is set has Deno load Node's timers,
 * which takes 4 ms: a server that starts answers first.
 */
export function holdTimers(milliseconds: number): void {
  const waiting = held = new Set();
  AbortSignal.timeout(milliseconds).addEventListener("abort", () => { // another kind of timer, which is there
    held = null;
    for (const beginHeld of waiting) beginHeld();
  });
}

function begin(timer: () => () => void): () => void {
  if (held === null) return timer();
  const waiting = held;
  let stop = (): void => void waiting.delete(beginHeld);
  const beginHeld = (): void => void (stop = timer());
  waiting.add(beginHeld);
  return () => stop();
}

function beginOne(milliseconds: number, run: () => void): () => void {
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
