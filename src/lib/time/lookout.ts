/** Looks at something again whenever it may have changed, for watches that say no more than that. */

import type { Log } from "../log/log.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** Looks when told to. */
export interface Lookout {
  /** Looks now, or once more when the present look has ended. */
  again(): void;
  /** Begins no look any more. */
  stop(): void;
}

const retryMilliseconds = 1_000;

/** One look at a time; one that rejects, since the storage is lost, is logged and repeated. */
export function createLookout(
  look: () => Promise<void>,
  { log, timers = systemTimers }: { readonly log: Log; readonly timers?: Timers | undefined },
): Lookout {
  let isDue = false;
  let isLooking = false;
  let stopped = false;
  let stopRetry: (() => void) | undefined;

  const run = async (): Promise<void> => {
    isLooking = true;
    while (isDue && !stopped) {
      isDue = false;
      try {
        await look();
      } catch (error) {
        if (stopped) break;
        log.write("error", "look_failed", { error: error instanceof Error ? error.stack : String(error) });
        stopRetry ??= timers.after(retryMilliseconds, again);
      }
    }
    isLooking = false;
  };
  const again = (): void => {
    stopRetry?.();
    stopRetry = undefined;
    isDue = true;
    if (!isLooking) void run();
  };
  return {
    again,
    stop() {
      stopped = true;
      stopRetry?.();
    },
  };
}
