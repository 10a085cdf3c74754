/**
 * Screens are bytes of UTF-8 (see ../byte_text.ts) that a match may hold: every match has them, not all that have them
 * match. V8 compiles their expression to code that passes over most bytes without looking at them. It repeats nothing
 * but the bytes of one character, so no text makes it slow.
 */
import { toByteCharacters } from "./byte_text.ts";
import { escapeExpression } from "./finder.ts";
import {
  acceptsByte,
  anywhere,
  closureOf,
  holdsMatch,
  isCharacter,
  isHeld,
  lineStart,
  type Program,
} from "./line_automaton.ts";

/** What may be at one character of a match. */
interface Place {
  /** The bytes of it, where it is one. */
  readonly bytes: readonly number[];
  /** Whether it may be another character, of several bytes. */
  readonly goesBeyond: boolean;
}

/** What every match holds: places that follow each other. */
type Screen = readonly Place[];

/** How much of a match a screen looks for: in the worst text, each byte is compared with so many. */
const maxCharacters = 16;
const maxScreenedCharacters = 12;
/** How much more often one of the common characters is met than one of the others. */
const commonRate = 8;
const asciiBytes = Array.from({ length: 0x80 }, (_, byte) => byte).filter((byte) => byte !== 10);
const firstByteBeyond = 0xc2;
const allRates = asciiBytes.reduce((sum, byte) => sum + rateOf(byte), commonRate);
/** The bytes of one character. */
const beyondAscii = "[\\xc2-\\xf4][\\x80-\\xbf]{1,3}";
/** What is beyond ASCII, or folds with such a character. */
const foldsBeyond = /[ks\u0080-\u{10ffff}]/iu;

/** Finds what one of the screens holds. */
export function toExpression(...screens: readonly Screen[]): RegExp {
  const sourceOf = ({ bytes, goesBeyond }: Place): string => {
    const single = `[${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}]`;
    return goesBeyond ? `(?:${single}|${beyondAscii})` : single;
  };
  return new RegExp(screens.map((screen) => screen.map(sourceOf).join("")).join("|"));
}

/** A text, in small or capital letters: that is found quicker than the exact text, and lines are looked at again. */
export function createTextScreen(text: string): Screen | null {
  if (!text.isWellFormed()) return null; // half a character has no UTF-8
  return Array.from(toByteCharacters(text).slice(0, maxCharacters), (character) => {
    const cases = character < "\x80" ? [character.toLowerCase(), character.toUpperCase()] : [character];
    return { bytes: cases.map((each) => each.charCodeAt(0)), goesBeyond: false };
  });
}

/** A text whatever its letters' case, by Unicode's simple case folding. */
export function createCaselessScreen(text: string): Screen | null {
  if (!text.isWellFormed()) return null;
  return Array.from(text).slice(0, maxCharacters).map((character) => {
    const literal = new RegExp(escapeExpression(character), "iu");
    const bytes = asciiBytes.filter((byte) => literal.test(String.fromCharCode(byte)));
    return { bytes, goesBeyond: foldsBeyond.test(character) };
  });
}

/** What the first characters of an expression's matches may be, as many as every match has. */
export function createStartScreen(program: Program): Screen | null {
  const places: Place[] = [];
  // a match may end with its line at any of these characters
  let reached = closureOf(program, [program.start], anywhere);
  for (let count = 0; count < maxScreenedCharacters && !holdsMatch(program, reached); count++) {
    places.push(placeOf(program, reached));
    const taken = reached.filter((index) => isCharacter(program, index));
    reached = closureOf(program, taken.map((index) => program.inst[index]?.out ?? 0), anywhere & ~lineStart);
  }
  return places.length === 0 ? null : places;
}

/** The character which is the rarest, by a rough measure, of those that every match holds. */
export function createHeldScreen(program: Program): Screen | null {
  const rated = program.inst.flatMap((_, index) => {
    if (!isCharacter(program, index) || !isHeld(program, index)) return [];
    const place = placeOf(program, [index]);
    return [{ place, rate: shareOf(place) }];
  }).sort((one, other) => one.rate - other.rate);
  return rated[0] === undefined ? null : [rated[0].place];
}

/** Which part of all characters may be there, by a rough measure. */
function shareOf({ bytes, goesBeyond }: Place): number {
  return bytes.reduce((sum, byte) => sum + rateOf(byte), goesBeyond ? commonRate : 0) / allRates;
}

/** Blanks and small letters are common, as most of a text is. */
function rateOf(byte: number): number {
  return byte === 0x20 || (byte >= 0x61 && byte <= 0x7a) ? commonRate : 1;
}

/** A character that one of the instructions accepts. */
function placeOf(program: Program, indexes: readonly number[]): Place {
  return {
    bytes: asciiBytes.filter((byte) => indexes.some((index) => acceptsByte(program, index, byte))),
    goesBeyond: indexes.some((index) => acceptsByte(program, index, firstByteBeyond)),
  };
}
