/** A pause that ends early when its caller gives up. */
import { systemTimers, type Timers } from "./timers.ts";

/** Resolves after so many milliseconds, or at once when the signal aborts. */
export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

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
