/** The program that RE2 makes of a regular expression: a nondeterministic automaton, here read over bytes of UTF-8. */

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

/** What an instruction may assert of a place: that a line starts there (each line is a text of its own), or ends. */
export const lineStart: number = 1 | 4;
export const lineEnd: number = 2 | 8;
/** And that a word starts or ends there, or that none does. */
export const wordBoundary: number = 16;
export const noWordBoundary: number = 32;
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
export function asserts({ inst }: Program, what: number): boolean {
  return inst.some(({ op, arg }) => op === operation.assertion && (arg & what) !== 0);
}

/** Whether each instruction accepts all characters beyond ASCII or none, so that the first byte of one decides. */
export function takesBeyondAsOne(program: Program): boolean {
  return program.inst.every(({ runes }, index) => {
    if (!acceptsByte(program, index, 0xc2)) return true;
    for (let at = 0; at + 1 < runes.length; at += 2) {
      if ((runes[at] ?? Infinity) <= 0x80 && (runes[at + 1] ?? 0) >= 0x10ffff) return true;
    }
    return false;
  });
}

/** The instructions that accept a character, by its code point. */
export function acceptingCharacter({ inst }: Program, codePoint: number): number[] {
  return inst.flatMap((instruction, index) =>
    instruction.op >= operation.rune && instruction.op <= lastRuneOperation && instruction.matchRune(codePoint)
      ? [index]
      : []
  );
}

/** Whether the byte goes on inside a character beyond ASCII. */
export function isInside(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** Whether the instruction accepts a byte. The first byte of a character beyond ASCII stands for all of those. */
export function acceptsByte({ inst }: Program, index: number, byte: number): boolean {
  const instruction = inst[index];
  if (instruction === undefined || isInside(byte)) return false;
  const { op, arg, runes } = instruction;
  if (op < operation.rune || op > lastRuneOperation) return false;
  if (byte < 0x80) return instruction.matchRune(byte);
  const last = runes[runes.length - 1] ?? 0;
  return last >= 0x80 ||
    (runes.length === 1 && (arg & foldCase) !== 0 && foldsBeyondAscii.test(String.fromCodePoint(last)));
}

/** Where instructions lead once they have accepted a character, before anything that takes none. */
export function follow({ inst }: Program, indexes: readonly number[]): number[] {
  return indexes.map((index) => inst[index]?.out ?? 0);
}
