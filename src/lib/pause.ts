/** Waiting that ends early when nobody waits any more. */

/** Resolves after so many milliseconds, or at once when the signal aborts. */
export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

/** The pause that a timer gives. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
  });
}
