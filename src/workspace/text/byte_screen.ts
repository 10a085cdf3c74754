/**
 * Screens find bytes of UTF-8 (see byte_text.ts) that a match may hold: every match has them, not all that have them
 * match. V8 compiles such an expression to code that passes over most bytes without looking at them. It repeats nothing
 * but the bytes of one character, so no text makes it slow.
 */
import { toByteCharacters } from "./byte_text.ts";
import {
  acceptsByte,
  anywhere,
  closureOf,
  holdsMatch,
  isCharacter,
  isHeld,
  lineStart,
  type Program,
} from "./expression_program.ts";

/** How much of a match a screen looks for: in the worst text, each byte is compared with so many. */
const maxCharacters = 16;
const maxScreenedCharacters = 12;
/** How much more often one of the common characters is met than one of the others. */
const commonRate = 8;
const asciiBytes = Array.from({ length: 0x80 }, (_, byte) => byte).filter((byte) => byte !== 10);
const firstByteBeyond = 0xc2;
/** The bytes of one character. */
const beyondAscii = "[\\xc2-\\xf4][\\x80-\\xbf]{1,3}";

/** Finds a text, in small or capital letters: that is quicker than the exact text, and lines are looked at again. */
export function createTextScreen(text: string): RegExp | null {
  if (!text.isWellFormed()) return null; // half a character has no UTF-8
  return new RegExp(escape(toByteCharacters(text).slice(0, maxCharacters)), "i");
}

/** Finds a text whatever its letters' case, by Unicode's simple case folding. */
export function createCaselessScreen(text: string): RegExp | null {
  if (!text.isWellFormed()) return null;
  return new RegExp(Array.from(text).slice(0, maxCharacters).map(toCaseless).join(""), "i");
}

/** Finds what the first characters of an expression's matches may be, as many as every match has. */
export function createStartScreen(program: Program): RegExp | null {
  let source = "";
  // a match may end with its line at any of these characters
  let reached = closureOf(program, [program.start], anywhere);
  for (let count = 0; count < maxScreenedCharacters && !holdsMatch(program, reached); count++) {
    source += toCharacter(program, reached);
    const taken = reached.filter((index) => isCharacter(program, index));
    reached = closureOf(program, taken.map((index) => program.inst[index]?.out ?? 0), anywhere & ~lineStart);
  }
  return source === "" ? null : new RegExp(source);
}

/** The same for the last characters. */
export function createEndScreen(program: Program): RegExp | null {
  const first = new Set(closureOf(program, [program.start], anywhere));
  if (holdsMatch(program, [...first])) return null;
  const characters = program.inst.flatMap((instruction, index) =>
    isCharacter(program, index) ? [{ index, next: closureOf(program, [instruction.out], anywhere) }] : []
  );
  let source = "";
  let level = characters.filter(({ next }) => holdsMatch(program, next));
  for (let count = 0; count < maxScreenedCharacters; count++) {
    const indexes = new Set(level.map(({ index }) => index));
    source = toCharacter(program, [...indexes]) + source;
    if (level.some(({ index }) => first.has(index))) break; // a match may begin here
    level = characters.filter(({ next }) => next.some((index) => indexes.has(index)));
  }
  return new RegExp(source);
}

/** Finds the character which is the rarest, by a rough measure, of those that every match holds. */
export function createHeldScreen(program: Program): RegExp | null {
  const rated = program.inst.flatMap((_, index) => {
    if (!isCharacter(program, index) || !isHeld(program, index)) return [];
    const bytes = asciiBytes.filter((byte) => acceptsByte(program, index, byte));
    const rate = bytes.reduce((sum, byte) => sum + (isCommon(byte) ? commonRate : 1), 0);
    return [{ index, rate: acceptsByte(program, index, firstByteBeyond) ? rate + commonRate : rate }];
  }).sort((one, other) => one.rate - other.rate);
  return rated[0] === undefined ? null : new RegExp(toCharacter(program, [rated[0].index]));
}

/** Blanks and small letters, as most of a text is. */
function isCommon(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x61 && byte <= 0x7a);
}

/** A character that one of the instructions accepts. */
function toCharacter(program: Program, indexes: readonly number[]): string {
  const accepted = asciiBytes.filter((byte) => indexes.some((index) => acceptsByte(program, index, byte)));
  const ascii = accepted.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  const goesBeyond = indexes.some((index) => acceptsByte(program, index, firstByteBeyond));
  return goesBeyond ? `(?:[${ascii}]|${beyondAscii})` : `[${ascii}]`;
}

/** Of letters of ASCII only two fold with others: the Kelvin sign (E2 84 AA) and the long s (C5 BF). */
function toCaseless(character: string): string {
  if (/^[kK\u212a]$/.test(character)) return "(?:k|\\xe2\\x84\\xaa)";
  if (/^[sS\u017f]$/.test(character)) return "(?:s|\\xc5\\xbf)";
  return character < "\x80" ? escape(character) : beyondAscii;
}

function escape(characters: string): string {
  return characters.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
