/** Watches the wall clock for jumps: a date that was wrong for a while must not destroy data. */
import type { Clock, Timers } from "./time.ts";
import type { Log } from "./log.ts";

const lookMs = 10_000;
/** A correction below this is no jump. */
const toleranceMs = 5_000;
const steadyMs = 60 * 60_000;

/** Starts to look. Each jump is logged once, as `clock_jumped`. */
export function watchWallClock(
  { clock, timers, log }: { readonly clock: Clock; readonly timers: Timers; readonly log: Log },
) {
  let offset = clock() - timers.elapsed();
  let jumpedAt = -Infinity;
  const look = (): number => {
    const now = clock();
    const moved = now - timers.elapsed() - offset;
    offset += moved;
    if (Math.abs(moved) > toleranceMs) {
      jumpedAt = timers.elapsed();
      log.write("warn", "clock_jumped", { seconds: Math.round(moved / 1_000) });
    }
    return now;
  };
  const close = timers.every(lookMs, look);
  return {
    /**
     * The time, by which what has expired may be deleted; `null` for an hour after a jump. A deletion takes this one,
     * and reads no clock later: it may have jumped since.
     */
    steadyNow(): number | null {
      const now = look();
      return timers.elapsed() - jumpedAt >= steadyMs ? now : null;
    },
    close,
  };
}
