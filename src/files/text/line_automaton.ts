/**
 * Finds lines that a regular expression matches, in UTF-8 bytes (see byte_text.ts): a deterministic automaton, built of
 * RE2's program as far as the text needs it, that takes one step a byte. It is exact until it has too many states.
 */
import { type Advance, isMatch, runAutomaton, runHalves, toState } from "./automaton_run.ts";
import { endOfLine } from "./byte_text.ts";
import { acceptingCharacter, acceptsByte, asserts, closureOf, follow, holdsMatch, isInside, lineEnd, lineStart, noWordBoundary, type Program, takesBeyondAsOne, wordBoundary } from "./expression_program.ts";

export interface LineAutomaton {
  /** The offset, from a line's start to a line's end, of a byte in the first line that matches, or -1. */
  find(characters: string, from: number, to: number): number;
  /** Begins a line that comes in pieces, each of whole characters. */
  begin(): LineWalk;
  /** Once there are too many states it cannot tell any more, and answers with the first line, or the first byte. */
  readonly isLost: boolean;
}

/** The offset of the byte by which the line is known to match, or -1; with `isEnd` the line ends at `to`. */
type LineWalk = (characters: string, from: number, to: number, isEnd: boolean) => number;

/** With a row of 1 kB each. The expression `(a|b)*a(a|b){20}` would take a million. */
const maxStates = 256;
/** Making a state takes time for each instruction of the program: all of them together some 10 ms. */
const maxStateInstructions = 20_000;
/** Characters beyond ASCII whose kind is remembered. */
const maxKnownCharacters = 4_096;
/** Shorter texts are not worth two halves. */
const minHalvedBytes = 1_024;
const rowLength = 256;
const newline = 10;
const firstByteBeyond = 0xc2;

/** What one state is made of. */
interface State {
  readonly instructions: readonly number[];
  readonly isStart: boolean;
  readonly isAfterWord: boolean;
  /** What follows a character beyond ASCII, by its kind, where its first byte does not decide. */
  readonly beyond: Map<string, number>;
}

/** Prepares the automaton; it remembers the states that it has met. */
export function createLineAutomaton(program: Program): LineAutomaton {
  const hasWords = asserts(program, wordBoundary | noWordBoundary);
  const firstByteDecides = takesBeyondAsOne(program);
  const classOf = classifyBytes(program, hasWords);
  const stateLimit = Math.min(maxStates, Math.ceil(maxStateInstructions / program.inst.length));
  /** The next state for each state and byte. A state is the offset of its row; the first row stays empty. */
  const next = new Int32Array((stateLimit + 1) * rowLength);
  const states = new Map<number, State>();
  const known = new Map<string, number>();
  const kinds = new Map<number, readonly number[]>();
  let isLost = false;

  const stateOf = (instructions: readonly number[], isStart: boolean, isAfterWord: boolean): number => {
    const name = `${isStart} ${isAfterWord} ${instructions.join()}`;
    let state = known.get(name);
    if (state !== undefined) return state;
    if (known.size === stateLimit) {
      isLost = true;
      return isMatch;
    }
    state = (known.size + 1) * rowLength;
    known.set(name, state);
    states.set(state, { instructions, isStart, isAfterWord, beyond: new Map() });
    next.fill(state, state + 0x80, state + 0xc0); // a character's first byte has decided
    return state;
  };
  const atStart = closureOf(program, [program.start], lineStart);
  const isAlwaysMatch = holdsMatch(program, atStart);
  const first = stateOf(atStart, true, false);

  /** The instructions that are reached where this byte, or the end of the line, follows. */
  const before = ({ instructions, isStart, isAfterWord }: State, byte: number): readonly number[] => {
    const isEnd = byte === newline;
    if (!isEnd && !hasWords) return instructions;
    const boundary = isAfterWord === isWordByte(byte) ? noWordBoundary : wordBoundary;
    return closureOf(program, instructions, boundary | (isStart ? lineStart : 0) | (isEnd ? lineEnd : 0));
  };
  const after = (accepting: readonly number[], byte: number): number => {
    const reached = closureOf(program, [...follow(program, accepting), program.start], 0);
    return holdsMatch(program, reached) ? isMatch : stateOf(reached, false, hasWords && isWordByte(byte));
  };
  const advance: Advance = (state, characters, at) => {
    const made = states.get(state);
    if (made === undefined) throw new RangeError("a state that was never made");
    const byte = at < characters.length ? characters.charCodeAt(at) : newline;
    const reached = before(made, byte);
    if (holdsMatch(program, reached)) return next[state + byte] = isMatch;
    if (byte === newline) return next[state + newline] = first;
    if (byte >= firstByteBeyond && !firstByteDecides) {
      const accepting = kindOf(codePointAt(characters, at));
      const kind = accepting.join();
      let to = made.beyond.get(kind);
      if (to === undefined) {
        to = after(reached.filter((index) => accepting.includes(index)), byte);
        made.beyond.set(kind, to);
      }
      return to;
    }
    const to = after(reached.filter((index) => acceptsByte(program, index, byte)), byte);
    for (let other = 0; other < rowLength; other++) if (classOf[other] === classOf[byte]) next[state + other] = to;
    return to;
  };
  const kindOf = (codePoint: number): readonly number[] => {
    let kind = kinds.get(codePoint);
    if (kind !== undefined) return kind;
    if (kinds.size === maxKnownCharacters) kinds.clear();
    kind = acceptingCharacter(program, codePoint);
    kinds.set(codePoint, kind);
    return kind;
  };

  return {
    get isLost() {
      return isLost;
    },
    find(characters, from, to) {
      if (isAlwaysMatch || isLost) return from < to ? from : -1;
      const middle = to - from < minHalvedBytes ? to : endOfLine(characters, (from + to) >> 1) + 1;
      const found = middle >= to
        ? runAutomaton(characters, from, to, first, next, advance)
        : runHalves(characters, { from, middle, to, first, next, advance });
      if (found >= 0) return found;
      const isUnfinished = to > from && characters.charCodeAt(to - 1) !== newline;
      return isUnfinished && advance(toState(found), "", 0) === isMatch ? to - 1 : -1;
    },
    begin() {
      let state = first;
      return (characters, from, to, isEnd) => {
        if (isAlwaysMatch || isLost) return from;
        const found = runAutomaton(characters, from, to, state, next, advance);
        if (found >= 0) return found;
        state = toState(found);
        return isEnd && advance(state, "", 0) === isMatch ? to : -1;
      };
    },
  };
}

/** Numbers the bytes so that those which the same instructions accept have the same number. */
function classifyBytes(program: Program, hasWords: boolean): readonly number[] {
  const known = new Map<string, number>();
  return Array.from({ length: rowLength }, (_, byte) => {
    const accepted = program.inst.flatMap((_instruction, index) => acceptsByte(program, index, byte) ? [index] : []);
    const kind = byte === newline ? "newline" : isInside(byte) ? "inside" : byte < 0x80 ? "ascii" : "beyond";
    const key = `${kind} ${hasWords && isWordByte(byte)} ${accepted.join()}`;
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key) ?? 0;
  });
}

/** RE2's words are of ASCII. */
function isWordByte(byte: number): boolean {
  return (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || byte === 95 || (byte >= 97 && byte <= 122);
}

function codePointAt(characters: string, at: number): number {
  const lead = characters.charCodeAt(at);
  const inside = (offset: number): number => characters.charCodeAt(at + offset) & 0x3f;
  if (lead < 0xe0) return (lead & 0x1f) << 6 | inside(1);
  if (lead < 0xf0) return (lead & 0x0f) << 12 | inside(1) << 6 | inside(2);
  return (lead & 0x07) << 18 | inside(1) << 12 | inside(2) << 6 | inside(3);
}
