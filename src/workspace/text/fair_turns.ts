/** Lets long work on files give others their turn. */

/** To be called, and awaited, between the steps of long work: it pauses when the turn has lasted long enough. */
export type FairTurns = () => Promise<void> | undefined;

const turnMilliseconds = 8;
/** The part of its turn that long work then leaves to others: a request takes several passes of the event loop. */
const restShare = 1 / 4;
/** How many passes show whether others have anything to do at all. */
const quietPasses = 6;
/** Idle passes take less. */
const quietMilliseconds = 0.5;
/** For how long after its turn some work counts as going on. */
const rivalMilliseconds = 1_000;

/** When no turn is planned any more: the turns of several long tasks follow each other, with a rest after each. */
let plannedUntil = 0;
/** Who had the last turn, and when it ended. */
let last: { readonly owner: FairTurns; readonly endedAt: number } | null = null;

export function createFairTurns(): FairTurns {
  let started = performance.now();
  const nextTurn: FairTurns = () => {
    const now = performance.now();
    const worked = now - started;
    if (worked < turnMilliseconds) return undefined;
    const hasRival = last !== null && last.owner !== nextTurn && now - last.endedAt < rivalMilliseconds;
    last = { owner: nextTurn, endedAt: now };
    return pause(worked, hasRival).then(() => {
      started = performance.now();
    });
  };
  return nextTurn;
}

async function pause(worked: number, hasRival: boolean): Promise<void> {
  const paused = performance.now();
  for (let pass = 0; pass < quietPasses; pass++) await new Promise<void>((resolve) => void setImmediate(resolve));
  const now = performance.now();
  if (!hasRival && now - paused < quietMilliseconds) return; // a rest would only be idle
  const rest = worked * restShare;
  const resumesAt = hasRival ? Math.max(now + rest, plannedUntil) : now + rest;
  plannedUntil = resumesAt + worked + rest; // as long as the turn before
  await new Promise((resolve) => setTimeout(resolve, resumesAt - now));
}
