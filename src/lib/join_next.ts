/**
 * Lets callers share one run of `work` without ever giving one an answer from before its call: a caller who comes while a
 * run is under way joins the next, which starts when that one has ended.
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
