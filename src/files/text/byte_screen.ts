/**
 * Screens are bytes of UTF-8 (see ../byte_text.ts) that a match may hold: every match has them, not all that have them
 * match. V8 compiles their expression to code that passes over most bytes without looking at them. It repeats nothing
 * but the bytes of one character, so no text makes it slow.
 */
import { isUtf8 } from "node:buffer";
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
} from "./line_automaton.ts";

// * The program of a scan (byte_scan.ts), written as WebAssembly: it looks at sixteen bytes at a time. Each place of a match
// has one bit; one table says of the low half of a byte which places take it, another of its high half.

/** How many places, one after the other, are looked for. */
const maxPlaces = 8;
/** What a scan tells, added up. */
const seen = Object.freeze({ places: 1, nul: 2, beyondAscii: 4 } as const);
/**
 * Where the memory has the tables, the places that take what is before the text (sixteen times), the low half of a byte
 * (as often: V8 makes a constant anew each time, which takes longer than to keep what was read), and the text.
 */
const scanLayout = Object.freeze(
  { low: 0, high: 16, before: 32, half: 48, text: 64, maxTextBytes: 65_536 } as const,
);

interface ScanProgram {
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Where the memory has the text. */
  readonly text: Uint8Array<ArrayBuffer>;
  /** Scans so many bytes of it. */
  readonly scan: (length: number) => number;
}

function loadScanProgram(): ScanProgram {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(assemble()));
  const { buffer } = exports["memory"] as { readonly buffer: ArrayBuffer };
  const text = new Uint8Array(buffer, scanLayout.text, scanLayout.maxTextBytes);
  return { memory: new Uint8Array(buffer), text, scan: exports["scan"] as ScanProgram["scan"] };
}

/** Bytes of the program. What makes them below is named after what they do. */
type Code = readonly number[];

const [length, at, low, high, text, taken, found, every, least] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
/** By how many places they look back: each with what was found of the last sixteen bytes before it. */
const steps = [{ places: 1, last: 9 }, { places: 2, last: 10 }, { places: 4, last: 11 }];
const [next, half] = [12, 13];
const vectors = 12;
const [number, vector, nothing] = [0x7f, 0x7b, 0x40];
const memoryPages = 2;

function assemble(): Uint8Array<ArrayBuffer> {
  const body = [
    set(low, load(constant(0), scanLayout.low)),
    set(high, load(constant(0), scanLayout.high)),
    set(half, load(constant(0), scanLayout.half)),
    steps.flatMap(({ last }) => set(last, load(constant(0), scanLayout.before))),
    set(least, splat(0xff)),
    store(get(length), scanLayout.text, splat(0x0a)), // there may be less than sixteen bytes at the end
    [0x03, nothing], // begins a loop
    set(text, load(get(at), scanLayout.text)),
    set(every, or(get(every), get(text))),
    set(least, lesser(get(least), get(text))),
    set(taken, and(lookUp(low, and(get(text), get(half))), lookUp(high, and(shiftRight(get(text), 4), get(half))))),
    // a byte at a place counts after bytes at the place before, then after two that count so, then after four
    steps.flatMap(({ places, last }) => [
      ...set(next, and(get(taken), shiftLeft(earlier(last, taken, places), places))),
      ...set(last, get(taken)),
      ...set(taken, get(next)),
    ]),
    set(found, or(get(found), get(taken))),
    set(at, sum(get(at), constant(16))),
    isLess(get(at), get(length)),
    [0x0d, 0, 0x0b], // begins again where that is so
    times(isAny(and(get(found), splat(1 << (maxPlaces - 1)))), seen.places),
    times(isFalse(isEach(get(least))), seen.nul),
    times(isFalse(isFalse(highBits(get(every)))), seen.beyondAscii),
    [0x6a, 0x6a, 0x0b], // the sum of the three
  ].flat();
  const locals = [2, 1, number, vectors, vector];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, number, 1, number]), // the type of a function from a number to a number
    ...section(3, [1, 0]), // one function of this type
    ...section(5, [1, 0, memoryPages]),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("scan"), 0, 0]), // what is exported
    ...section(10, [1, ...sized([...locals, ...body])]),
  ]);
}

const get = (variable: number): Code => [0x20, variable];
const set = (variable: number, value: Code): Code => [...value, 0x21, variable];
const constant = (value: number): Code => [0x41, value];
const sum = (one: Code, other: Code): Code => [...one, ...other, 0x6a];
const times = (one: Code, factor: number): Code => [...one, ...constant(factor), 0x6c];
const isLess = (one: Code, other: Code): Code => [...one, ...other, 0x49];
const isFalse = (value: Code): Code => [...value, 0x45];

const simd = (operation: number): Code => [0xfd, ...encoded(operation)];
const load = (address: Code, offset: number): Code => [...address, ...simd(0x00), 0, offset];
const store = (address: Code, offset: number, value: Code): Code => [...address, ...value, ...simd(0x0b), 0, offset];
const splat = (byte: number): Code => [...simd(0x0c), ...Array<number>(16).fill(byte)];
const and = (one: Code, other: Code): Code => [...one, ...other, ...simd(0x4e)];
const or = (one: Code, other: Code): Code => [...one, ...other, ...simd(0x50)];
const lesser = (one: Code, other: Code): Code => [...one, ...other, ...simd(0x77)]; // i8x16.min_u
const isAny = (value: Code): Code => [...value, ...simd(0x53)];
const isEach = (value: Code): Code => [...value, ...simd(0x63)]; // i8x16.all_true
const highBits = (value: Code): Code => [...value, ...simd(0x64)]; // i8x16.bitmask
const shiftLeft = (value: Code, bits: number): Code => [...value, ...constant(bits), ...simd(0x8b)]; // i16x8.shl
const shiftRight = (value: Code, bits: number): Code => [...value, ...constant(bits), ...simd(0x8d)]; // i16x8.shr_u
/** i8x16.relaxed_swizzle: the same everywhere for numbers up to 15. */
const lookUp = (table: number, value: Code): Code => [...get(table), ...value, ...simd(0x100)];
/** i8x16.shuffle: the bytes of one vector so many places earlier, the first of them from the vector before. */
const earlier = (last: number, now: number, places: number): Code => [
  ...get(last),
  ...get(now),
  ...simd(0x0d),
  ...Array.from({ length: 16 }, (_, byte) => 16 - places + byte),
];

const section = (id: number, content: Code): Code => [id, ...sized(content)];
const sized = (content: Code): Code => [...encoded(content.length), ...content];
const name = (text: string): Code => [text.length, ...new TextEncoder().encode(text)];

/** LEB128: seven bits a byte, the lowest first. */
function encoded(value: number): Code {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...encoded(value >> 7)];
}

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

/** Finds what a screen holds. */
export function toExpression(screen: Screen): RegExp {
  const sources = screen.map(({ bytes, goesBeyond }) => {
    const single = `[${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}]`;
    return goesBeyond ? `(?:${single}|${beyondAscii})` : single;
  });
  return new RegExp(sources.join(""));
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
    const literal = new RegExp(escape(character), "iu");
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

/** The same for the last characters. */
export function createEndScreen(program: Program): Screen | null {
  const first = new Set(closureOf(program, [program.start], anywhere));
  if (holdsMatch(program, [...first])) return null;
  const characters = program.inst.flatMap((instruction, index) =>
    isCharacter(program, index) ? [{ index, next: closureOf(program, [instruction.out], anywhere) }] : []
  );
  const places: Place[] = [];
  let level = characters.filter(({ next }) => holdsMatch(program, next));
  for (let count = 0; count < maxScreenedCharacters; count++) {
    const indexes = new Set(level.map(({ index }) => index));
    places.unshift(placeOf(program, [...indexes]));
    if (level.some(({ index }) => first.has(index))) break; // a match may begin here
    level = characters.filter(({ next }) => next.some((index) => indexes.has(index)));
  }
  return places;
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

/** Of all screens, the places one after the other which are the rarest, as many as a scan looks for. */
export function rarestPlaces(screens: readonly Screen[]): Screen {
  const runs = screens.flatMap((places) => {
    const count = Math.min(places.length, maxPlaces);
    return Array.from({ length: places.length - count + 1 }, (_, start) => places.slice(start, start + count));
  });
  const rated = runs.map((run) => ({ run, rate: run.reduce((rate, place) => rate * shareOf(place), 1) }));
  return rated.sort((one, other) => one.rate - other.rate)[0]?.run ?? [];
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

function escape(characters: string): string {
  return characters.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

// * Tells of most files that nothing in them can match, without making a string of their bytes: a few places of a match that
// follow each other are looked for with vector instructions.

/** Whether the first bytes are UTF-8 without a NUL and hold no match, as far as that is known at once. */
export type ByteScan = (bytes: Uint8Array, length?: number) => boolean;

const anyByte = Array.from({ length: 256 }, (_, byte) => byte);
let program: ScanProgram | undefined;
/** The tables that the program has. */
let used: Uint8Array | undefined;

/** Where bytes are scanned without a copy: between two reads of it, nothing else may run. */
export function scannedBytes(): Uint8Array<ArrayBuffer> {
  return (program ??= loadScanProgram()).text;
}

/** Looks for these places one after the other: {@link maxPlaces} or fewer. */
export function createByteScan(places: readonly Place[]): ByteScan {
  const { low, high, before, half, text: tablesEnd, maxTextBytes } = scanLayout;
  const tables = new Uint8Array(tablesEnd);
  const missing = maxPlaces - places.length; // they come first, and take anything
  tables.fill((1 << missing) - 1, before, half).fill(0x0f, half);
  for (let place = 0; place < maxPlaces; place++) {
    for (const byte of places[place - missing]?.bytes ?? anyByte) {
      for (const at of [low + (byte & 0x0f), high + (byte >> 4)]) tables[at] = (tables[at] ?? 0) | (1 << place);
    }
  }
  const goesBeyond = places.some((place) => place.goesBeyond);
  return (bytes, length = bytes.length) => {
    if (length > maxTextBytes) return false;
    const { memory, text, scan } = program ??= loadScanProgram();
    if (used !== tables) memory.set(used = tables);
    if (bytes !== text) text.set(bytes.subarray(0, length));
    const told = scan(length);
    return told === 0 || (told === seen.beyondAscii && !goesBeyond && isUtf8(text.subarray(0, length)));
  };
}
