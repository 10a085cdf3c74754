/** Lets long work on files give others their turn. */
import { setImmediate } from "node:timers/promises";

const turnMilliseconds = 8;

/** Makes a function to call, and await, between the steps of long work: it pauses when the turn has lasted long enough. */
export function createFairTurns(): () => Promise<void> | undefined {
  let started = performance.now();
  return () => {
    if (performance.now() - started < turnMilliseconds) return undefined;
    return setImmediate().then(() => {
      started = performance.now();
    });
  };
}
