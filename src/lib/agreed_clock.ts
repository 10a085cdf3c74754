/**
 * A clock that only goes forward and that the instances on one storage agree on, whatever their wall clocks say. Each
 * begins at its wall clock; one that reads a stamp ahead of it catches up. So what instances count together never
 * depends on how far their wall clocks are apart, nor on a wall clock that jumps while the server runs.
 */
import type { Clock } from "./clock.ts";
import type { Timers } from "./timers.ts";

/** The clock of one instance. Only for stamps that instances write for each other: it may be far from the date. */
export interface AgreedClock {
  now(): number;
  /** Takes note of a stamp that another instance wrote: from here on, `now` is not before it. */
  catchUp(stamp: number): void;
}

/** Starts it at the wall clock. */
export function createAgreedClock(clock: Clock, { elapsed }: Pick<Timers, "elapsed">): AgreedClock {
  let offset = clock() - elapsed();
  return {
    now: () => elapsed() + offset,
    catchUp(stamp) {
      if (stamp > elapsed() + offset) offset = stamp - elapsed();
    },
  };
}
