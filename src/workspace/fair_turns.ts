/** Lets long work on files give others their turn. */

const turnMilliseconds = 8;
/** The part of its turn that long work then leaves to others: a request takes several passes of the event loop. */
const restShare = 1 / 4;

/** When nobody's turn is planned any more: turns of several long works follow each other with a rest after each. */
let plannedUntil = 0;

/** Makes a function to call, and await, between the steps of long work: it pauses when the turn has lasted long enough. */
export function createFairTurns(): () => Promise<void> | undefined {
  let started = performance.now();
  let ownPlan = 0;
  return () => {
    const now = performance.now();
    const worked = now - started;
    if (worked < turnMilliseconds) return undefined;
    const rest = worked * restShare;
    // nobody waits for a turn that only this work has planned and was quicker to take
    const resumesAt = plannedUntil === ownPlan ? now + rest : Math.max(now + rest, plannedUntil);
    plannedUntil = ownPlan = resumesAt + worked + rest; // as long as the turn before
    return new Promise((resolve) =>
      setTimeout(() => {
        started = performance.now();
        resolve();
      }, resumesAt - now)
    );
  };
}
