/**
 * Lets callers share one run of `work` without ever giving one an answer from before its call: a caller who comes while
 * a run is under way joins the next, which starts when that one has ended.
 */
export function joinNext<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    const run = work();
    const ended = run.then(() => {}, () => {}).then(() => {
      if (current === ended) current = undefined;
    });
    current = ended;
    return run;
  };
  return () => {
    if (current === undefined) return start();
    next ??= current.then(start);
    return next;
  };
}

/** Runs steps one after another, in the order of their calls; one that fails holds up none. */
export function createQueue(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (step) => {
    const done = last.then(step);
    last = done.catch(() => {});
    return done;
  };
}

/** Goes on at once with a value that is there: an async function costs each call its frame and a turn of the queue. */
export function whenReady<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The answer of rate limits and throttles. */
export type Admission = { readonly ok: true } | Throttled;

/** Not now, but after so many seconds (for `Retry-After`, RFC 9110 §10.2.3). */
export interface Throttled {
  readonly ok: false;
  readonly retryAfterSeconds: number;
}

export const admitted: Admission = { ok: true };
