/** Runs an automaton over bytes: the next state for each state and byte, a state being the offset of its row. */

/** What a table has instead of a state: one that is to be made, and the end. */
const unknown = 0;
export const isMatch = -1;

/** The state after the byte at `at`, or after the end of the line where there is none. */
export type Advance = (state: number, characters: string, at: number) => number;

/**
 * The offset at which a line is known to match, or the state at the end ({@link toState}). The inner loop calls nothing,
 * so that its variables stay in registers: that takes a quarter off.
 */
export function runAutomaton(
  characters: string,
  from: number,
  to: number,
  start: number,
  next: Int32Array,
  advance: Advance,
): number {
  let state = start;
  for (let at = from; at < to; at++) {
    let reached = isMatch;
    while (at < to && (reached = next[state | characters.charCodeAt(at)] ?? isMatch) > 0) {
      state = reached;
      at++;
    }
    if (at === to) break;
    if (reached === unknown) reached = advance(state, characters, at);
    if (reached === isMatch) return at;
    state = reached;
  }
  return -1 - state;
}

interface Halves {
  readonly from: number;
  /** Where a line starts. */
  readonly middle: number;
  readonly to: number;
  readonly first: number;
  readonly next: Int32Array;
  readonly advance: Advance;
}

/** The same for two halves at once: a step waits for the one before it, and not for the other half's. */
export function runHalves(characters: string, { from, middle, to, first, next, advance }: Halves): number {
  const step = (state: number, at: number): number => {
    const reached = next[state | characters.charCodeAt(at)] ?? isMatch;
    return reached === unknown ? advance(state, characters, at) : reached;
  };
  const at: Place = { first: from, second: middle, firstState: first, secondState: first };
  for (;;) {
    runBoth(characters, at, middle, to, next);
    if (at.first >= middle || at.second >= to) break;
    at.firstState = step(at.firstState, at.first);
    if (at.firstState === isMatch) return at.first;
    at.first++;
    const reached = step(at.secondState, at.second);
    if (reached === isMatch) break;
    at.secondState = reached;
    at.second++;
  }
  const found = runAutomaton(characters, at.first, middle, at.firstState, next, advance);
  return found >= 0 ? found : runAutomaton(characters, at.second, to, at.secondState, next, advance);
}

/** Where two halves have come to. */
interface Place {
  first: number;
  second: number;
  firstState: number;
  secondState: number;
}

function runBoth(characters: string, place: Place, middle: number, to: number, next: Int32Array): void {
  let { first, second, firstState, secondState } = place;
  while (first < middle && second < to) {
    const one = next[firstState | characters.charCodeAt(first)] ?? isMatch;
    const other = next[secondState | characters.charCodeAt(second)] ?? isMatch;
    if (one <= 0 || other <= 0) break;
    firstState = one;
    secondState = other;
    first++;
    second++;
  }
  place.first = first;
  place.second = second;
  place.firstState = firstState;
  place.secondState = secondState;
}

export function toState(found: number): number {
  return -1 - found;
}
