/** Lets long work on files give others their turn. */

/** To be called, and awaited, between the steps of long work: it pauses when the turn has lasted long enough. */
export type FairTurns = () => Promise<void> | undefined;

const turnMilliseconds = 8;
/** The part of its turn that long work then leaves to others: a request takes several passes of the event loop. */
const restShare = 1 / 4;
/**
 * How many passes show whether others have anything to do: Deno looks for what has arrived in one of 61
 * (tokio's `event_interval`).
 */
const quietPasses = 64;
/** Idle passes take less. */
const quietMilliseconds = 1;

/** When no turn is planned any more: the turns of several long tasks follow each other, with a rest after each. */
let plannedUntil = 0;
/** How many wait for their next turn. */
let waiting = 0;

export function createFairTurns(): FairTurns {
  let started = performance.now();
  return () => {
    const worked = performance.now() - started;
    if (worked < turnMilliseconds) return undefined;
    const hasRival = waiting++ > 0;
    return pause(worked, hasRival).then(() => {
      waiting--;
      started = performance.now();
    });
  };
}

async function pause(worked: number, hasRival: boolean): Promise<void> {
  const paused = performance.now();
  for (let pass = 0; pass < quietPasses && !hasRival; pass++) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
  const now = performance.now();
  if (!hasRival && now - paused < quietMilliseconds) return; // a rest would only be idle
  const rest = worked * restShare;
  const resumesAt = hasRival ? Math.max(now + rest, plannedUntil) : now + rest;
  plannedUntil = resumesAt + worked + rest; // as long as the turn before
  await new Promise((resolve) => setTimeout(resolve, resumesAt - now));
}
