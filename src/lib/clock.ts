/** Milliseconds since the epoch. Passed in wherever time matters, so that tests turn the hands themselves. */
export type Clock = () => number;

/** The machine's own clock. */
export function systemClock(): number {
  return Date.now();
}
