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
  /** What it was before each jump of the last hour, and when that ended. */
  let left: readonly { readonly offset: number; readonly at: number }[] = [];
  const look = (): void => {
    const at = timers.elapsed();
    const moved = clock() - at - offset;
    left = left.filter((each) => at - each.at < steadyMs);
    if (Math.abs(moved) > toleranceMs) {
      left = [...left, { offset, at }];
      log.write("warn", "clock_jumped", { seconds: Math.round(moved / 1_000) });
    }
    offset += moved;
  };
  const close = timers.every(lookMs, look);
  return {
    /**
     * The time by which what has expired may be deleted: the earliest that the clock of the last hour gives. A deletion
     * takes this one, and reads no clock later: it may have jumped since.
     */
    steadyNow(): number {
      look();
      return timers.elapsed() + Math.min(offset, ...left.map((each) => each.offset));
    },
    /** Whether it has not jumped for an hour. */
    isSteady(): boolean {
      look();
      return left.length === 0;
    },
    close,
  };
}
