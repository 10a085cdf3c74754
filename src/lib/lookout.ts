/** Looks at something again whenever it may have changed, for watches that say no more than that. */

import type { Log } from "./log.ts";

/** Looks when told to. */
export interface Lookout {
  /** Looks now, or once more when the present look has ended. */
  again(): void;
  /** Begins no look any more. */
  stop(): void;
}

const retryMilliseconds = 1_000;

/** One look at a time; one that rejects, since the storage is lost, is logged and repeated. */
export function createLookout(look: () => Promise<void>, log: Log): Lookout {
  let isDue = false;
  let isLooking = false;
  let stopped = false;
  let retry: ReturnType<typeof setTimeout> | undefined;

  const run = async (): Promise<void> => {
    isLooking = true;
    while (isDue && !stopped) {
      isDue = false;
      try {
        await look();
      } catch (error) {
        if (stopped) break;
        log.write("error", "look_failed", { error: error instanceof Error ? error.stack : String(error) });
        retry ??= setTimeout(again, retryMilliseconds);
      }
    }
    isLooking = false;
  };
  const again = (): void => {
    clearTimeout(retry);
    retry = undefined;
    isDue = true;
    if (!isLooking) void run();
  };
  return {
    again,
    stop() {
      stopped = true;
      clearTimeout(retry);
    },
  };
}
