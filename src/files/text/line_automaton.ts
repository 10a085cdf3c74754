/**
 * Finds lines that a regular expression matches, in UTF-8 bytes (see finder.ts): a deterministic automaton, built of
 * RE2's program as far as the text needs it, that takes one step a byte. It is exact until it has too many states.
 */

/** What a table has instead of a state: one that is to be made, and the end. */
const unknown = 0;
const isMatch = -1;

/** The state after the byte at `at`, or after the end of the line where there is none. */
type Advance = (state: number, characters: string, at: number) => number;

/** The offset at which a line is known to match, or the state at the end ({@link toState}). */
function runAutomaton(
  characters: string,
  from: number,
  to: number,
  start: number,
  next: Int32Array,
  advance: Advance,
): number {
  let state = start;
  for (let at = from; at < to; at++) {
    let reached = next[state | characters.charCodeAt(at)] ?? isMatch;
    if (reached === unknown) reached = advance(state, characters, at);
    if (reached === isMatch) return at;
    state = reached;
  }
  return -1 - state;
}

function toState(found: number): number {
  return -1 - found;
}

/** One instruction, as RE2 numbers them. */
interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(rune: number): boolean;
}

export interface Program {
  readonly inst: readonly Instruction[];
  readonly start: number;
}

/** Texts of which a match holds one (`exact`) or several. */
export interface Requirement {
  readonly type: number;
  readonly str: string;
  readonly subs: readonly Requirement[];
}

const requirement = { exact: 1, all: 2 };
const operation = { alternative: 1, alternativeMatch: 2, capture: 3, assertion: 4, match: 6, nothing: 7, rune: 8 };
const lastRuneOperation = 11;
const foldCase = 1;
/** With the Kelvin sign and the long s. */
const foldsBeyondAscii = /[ks]/i;

/** What an instruction may assert about a position: that a line starts there (each line is a separate text), or ends. */
export const lineStart: number = 1 | 4;
const lineEnd: number = 2 | 8;
/** And that a word starts or ends there, or that none does. */
const wordBoundary: number = 16;
const noWordBoundary: number = 32;
/** What a screen takes to hold anywhere. */
export const anywhere: number = lineStart | lineEnd | wordBoundary | noWordBoundary;

/** The longest text that RE2 knows every match to hold, or `null`. */
export function requiredText(required: Requirement | null): string | null {
  if (required === null) return null;
  const texts = (required.type === requirement.all ? required.subs : [required])
    .flatMap(({ type, str }) => type === requirement.exact ? [str] : []);
  return texts.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** The instructions that are reached from others without a byte, in order, at a place of which `holding` is true. */
export function closureOf({ inst }: Program, from: Iterable<number>, holding: number): number[] {
  const found = new Set<number>();
  const pending = [...from];
  for (let index; (index = pending.pop()) !== undefined;) {
    const instruction = inst[index];
    if (instruction === undefined || found.has(index)) continue;
    found.add(index);
    const { op, out, arg } = instruction;
    if (op === operation.alternative || op === operation.alternativeMatch) pending.push(out, arg);
    else if (op === operation.capture || op === operation.nothing) pending.push(out);
    else if (op === operation.assertion && (arg & ~holding) === 0) pending.push(out);
  }
  return [...found].sort((a, b) => a - b);
}

/** Whether every match passes an instruction. */
export function isHeld({ inst, start }: Program, held: number): boolean {
  const seen = new Set([held]);
  const pending = [start];
  for (let index; (index = pending.pop()) !== undefined;) {
    const instruction = inst[index];
    if (instruction === undefined || seen.has(index)) continue;
    seen.add(index);
    const { op, out, arg } = instruction;
    if (op === operation.match) return false;
    pending.push(out);
    if (op === operation.alternative || op === operation.alternativeMatch) pending.push(arg);
  }
  return true;
}

/** Whether one of the instructions is a match. */
export function holdsMatch({ inst }: Program, indexes: readonly number[]): boolean {
  return indexes.some((index) => inst[index]?.op === operation.match);
}

/** Whether the instruction accepts characters. */
export function isCharacter({ inst }: Program, index: number): boolean {
  const { op = 0 } = inst[index] ?? {};
  return op >= operation.rune && op <= lastRuneOperation;
}

/** Whether some instruction asserts this of a place. */
function asserts({ inst }: Program, what: number): boolean {
  return inst.some(({ op, arg }) => op === operation.assertion && (arg & what) !== 0);
}

/** Whether each instruction accepts all characters beyond ASCII or none, so that the first byte of one decides. */
function treatsBeyondAsciiAlike(program: Program): boolean {
  return program.inst.every(({ runes }, index) => {
    if (!acceptsByte(program, index, 0xc2)) return true;
    for (let at = 0; at + 1 < runes.length; at += 2) {
      if ((runes[at] ?? Infinity) <= 0x80 && (runes[at + 1] ?? 0) >= 0x10ffff) return true;
    }
    return false;
  });
}

/** The instructions that accept a character, by its code point. */
function acceptingCharacter(program: Program, codePoint: number): number[] {
  return program.inst.flatMap((each, index) => isCharacter(program, index) && each.matchRune(codePoint) ? [index] : []);
}

/** Whether the byte goes on inside a character beyond ASCII. */
function isInside(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** Whether the instruction accepts a byte. The first byte of a character beyond ASCII stands for all of those. */
export function acceptsByte(program: Program, index: number, byte: number): boolean {
  const instruction = program.inst[index];
  if (instruction === undefined || isInside(byte) || !isCharacter(program, index)) return false;
  const { arg, runes } = instruction;
  if (byte < 0x80) return instruction.matchRune(byte);
  const last = runes[runes.length - 1] ?? 0;
  return last >= 0x80 ||
    (runes.length === 1 && (arg & foldCase) !== 0 && foldsBeyondAscii.test(String.fromCodePoint(last)));
}

/** Where instructions lead once they have accepted a character, before anything that takes none. */
function follow({ inst }: Program, indexes: readonly number[]): number[] {
  return indexes.map((index) => inst[index]?.out ?? 0);
}

export type LineAutomaton = ReturnType<typeof createLineAutomaton>;

/** The offset of the byte by which the line is known to match, or -1; with `isEnd` the line ends at `to`. */
type LineWalk = (characters: string, from: number, to: number, isEnd: boolean) => number;

/** With a row of 1 kB each. The expression `(a|b)*a(a|b){20}` would take a million. */
const maxStates = 256;
/** Making a state takes time for each instruction of the program: all of them together some 10 ms. */
const maxStateInstructions = 20_000;
/** Characters beyond ASCII whose kind is remembered. */
const maxKnownCharacters = 4_096;
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
export function createLineAutomaton(program: Program) {
  const hasWords = asserts(program, wordBoundary | noWordBoundary);
  const firstByteDecides = treatsBeyondAsciiAlike(program);
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

  /** Begins a line that comes in pieces, each of whole characters. */
  const begin = (): LineWalk => {
    let state = first;
    return (characters, from, to, isEnd) => {
      if (isAlwaysMatch || isLost) return from;
      const found = runAutomaton(characters, from, to, state, next, advance);
      if (found >= 0) return found;
      state = toState(found);
      return isEnd && advance(state, "", 0) === isMatch ? to : -1;
    };
  };
  return {
    begin,
    /** Whether the expression says something of what follows a match. */
    looksAhead: asserts(program, lineEnd | wordBoundary | noWordBoundary),
    /** Once there are too many states it cannot tell any more, and answers with the first line, or the first byte. */
    get isLost(): boolean {
      return isLost;
    },
    /** The offset, from a line's start to a line's end, of a byte in the first line that matches, or -1. */
    find(characters: string, from: number, to: number): number {
      if (from >= to) return -1;
      const isUnfinished = characters.charCodeAt(to - 1) !== newline;
      return Math.min(begin()(characters, from, to, isUnfinished), to - 1);
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
