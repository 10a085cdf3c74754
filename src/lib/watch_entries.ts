/** Looks at stored entries whenever they may have changed: a storage's watch says that much and no more. */
import type { Log } from "./log.ts";
import { systemTimers, type Timers } from "./timers.ts";

interface EntryWatch {
  /** Looks now, or once more after the look in progress. */
  look(): void;
  /** Ends the watch; no look begins afterwards. */
  stop(): void;
}

const retryMs = 1_000;

/**
 * Calls `look` after each change of the entries, one look at a time, but not at the start. A look that rejects, because
 * the storage is lost, is logged and repeated.
 */
export function watchEntries<Key>(
  storage: { watch(key: Key, onChange: () => void): () => void },
  keys: readonly Key[],
  look: () => Promise<void>,
  { log, timers = systemTimers }: { readonly log: Log; readonly timers?: Timers | undefined },
): EntryWatch {
  let isDue = false;
  let isLooking = false;
  let isStopped = false;
  let stopRetry: (() => void) | undefined;

  const run = async (): Promise<void> => {
    isLooking = true;
    while (isDue && !isStopped) {
      isDue = false;
      try {
        await look();
      } catch (error) {
        if (isStopped) break;
        log.write("error", "look_failed", { error: error instanceof Error ? error.stack : String(error) });
        stopRetry ??= timers.after(retryMs, lookSoon);
      }
    }
    isLooking = false;
  };
  const lookSoon = (): void => {
    stopRetry?.();
    stopRetry = undefined;
    isDue = true;
    if (!isLooking) void run();
  };
  const stops = keys.map((key) => storage.watch(key, lookSoon));
  return {
    look: lookSoon,
    stop() {
      isStopped = true;
      stopRetry?.();
      for (const stop of stops) stop();
    },
  };
}
