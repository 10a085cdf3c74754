/**
 * The program of a scan (byte_scan.ts), written as WebAssembly: it looks at sixteen bytes at a time. Each place of a match
 * has one bit; one table says of the low half of a byte which places take it, another of its high half.
 */

/** How many places, one after the other, are looked for. */
export const maxPlaces = 8;
/** What a scan tells, added up. */
export const seen = Object.freeze({ places: 1, nul: 2, beyondAscii: 4 } as const);
/**
 * Where the memory has the tables, the places that take what is before the text (sixteen times), the low half of a byte
 * (as often: V8 makes a constant anew each time, which takes longer than to keep what was read), and the text.
 */
export const scanLayout = Object.freeze(
  { low: 0, high: 16, before: 32, half: 48, text: 64, maxTextBytes: 65_536 } as const,
);

export interface ScanProgram {
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Where the memory has the text. */
  readonly text: Uint8Array<ArrayBuffer>;
  /** Scans so many bytes of it. */
  readonly scan: (length: number) => number;
}

export function loadScanProgram(): ScanProgram {
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
