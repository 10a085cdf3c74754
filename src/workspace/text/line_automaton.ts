/**
 * Finds lines that a regular expression may match, in UTF-8 bytes (see byte_text.ts): a deterministic automaton, built
 * of RE2's program as far as the text needs it, that takes one step a byte. It is exact, but for what it leaves to RE2:
 * every place counts as a word's boundary, and one character beyond ASCII as any other.
 */
import {
  acceptsByte,
  closureOf,
  follow,
  holdsMatch,
  isInside,
  lineEnd,
  lineStart,
  type Program,
} from "./expression_program.ts";

/**
 * The offset, from a line's start to a line's end, of a byte in the first line that may match, or -1. Once there are too
 * many states it cannot tell any more, and answers with the first line.
 */
export type LineAutomaton = (characters: string, from: number, to: number) => number;

/** With a row of 1 kB each. The expression `(a|b)*a(a|b){20}` would take a million. */
const maxStates = 256;
/** Making a state takes time for each instruction of the program: all of them together some 10 ms. */
const maxStateInstructions = 20_000;
const rowLength = 256;
const newline = 10;
const [unknown, isMatch] = [0, -1];

/** Prepares the automaton; it remembers the states that it has met. */
export function createLineAutomaton(program: Program): LineAutomaton {
  const classOf = classifyBytes(program);
  const stateLimit = Math.min(maxStates, Math.ceil(maxStateInstructions / program.inst.length));
  /** The next state for each state and byte. A state is the offset of its row; the first row stays empty. */
  const next = new Int32Array((stateLimit + 1) * rowLength);
  const instructionsOf = new Map<number, readonly number[]>();
  const known = new Map<string, number>();
  let isLost = false;

  const stateOf = (instructions: readonly number[], name: string): number => {
    let state = known.get(name);
    if (state !== undefined) return state;
    if (known.size === stateLimit) {
      isLost = true;
      return isMatch;
    }
    state = (known.size + 1) * rowLength;
    known.set(name, state);
    instructionsOf.set(state, instructions);
    next.fill(state, state + 0x80, state + 0xc0); // a character's first byte has decided
    return state;
  };
  const atStart = closureOf(program, [program.start], lineStart);
  const isAlwaysMatch = holdsMatch(program, atStart);
  const first = stateOf(atStart, "line start");

  const advance = (state: number, byte: number): number => {
    const instructions = instructionsOf.get(state) ?? [];
    if (byte === newline) {
      const end = closureOf(program, instructions, state === first ? lineStart | lineEnd : lineEnd);
      return next[state + newline] = holdsMatch(program, end) ? isMatch : first;
    }
    const reached = closureOf(program, [...follow(program, instructions, byte), program.start], 0);
    const to = holdsMatch(program, reached) ? isMatch : stateOf(reached, reached.join());
    for (let other = 0; other < rowLength; other++) if (classOf[other] === classOf[byte]) next[state + other] = to;
    return to;
  };

  return (characters, from, to) => {
    if (isAlwaysMatch || isLost) return from < to ? from : -1;
    return run(characters, from, to, first, next, advance);
  };
}

/** The inner loop calls nothing, so that its variables stay in registers: that takes a quarter off. */
function run(
  characters: string,
  from: number,
  to: number,
  first: number,
  next: Int32Array,
  advance: (state: number, byte: number) => number,
): number {
  let state = first;
  for (let at = from; at < to; at++) {
    let reached = isMatch;
    while (at < to && (reached = next[state | characters.charCodeAt(at)] ?? isMatch) > 0) {
      state = reached;
      at++;
    }
    if (at === to) break;
    if (reached === unknown) reached = advance(state, characters.charCodeAt(at));
    if (reached === isMatch) return at;
    state = reached;
  }
  const isUnfinished = to > from && characters.charCodeAt(to - 1) !== newline;
  return isUnfinished && advance(state, newline) === isMatch ? to - 1 : -1;
}

/** Numbers the bytes so that those which the same instructions accept have the same number. */
function classifyBytes(program: Program): readonly number[] {
  const known = new Map<string, number>();
  return Array.from({ length: rowLength }, (_, byte) => {
    const accepted = program.inst.flatMap((_instruction, index) => acceptsByte(program, index, byte) ? [index] : []);
    const key = byte === newline ? "newline" : isInside(byte) ? "inside" : accepted.join();
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key) ?? 0;
  });
}
