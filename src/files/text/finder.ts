/**
 * Finds a caller's text in another in time proportional to both. The runtime's own `indexOf` compares a long text anew
 * at each place: 500,000 letters with one odd letter in the middle, searched for in 1 MiB of letters, took 40 seconds.
 *
 * Searches look at UTF-8 text as its bytes, each byte one character of a string (Latin-1): V8 searches such strings at
 * several GB a second, and only the lines that are shown are decoded. Offsets are those of the bytes.
 */

/** A text, as bytes and as a string of one character a byte. Valid until the buffer is refilled. */
export interface ByteText {
  readonly characters: string;
  /** Decodes from one offset to another, which are starts or ends of characters. */
  decode(from: number, to: number): string;
}

/** How many line ends there are from one offset to another. */
export function countLineEnds(characters: string, from = 0, to = characters.length): number {
  let count = 0;
  for (let at = characters.indexOf("\n", from); at !== -1 && at < to; at = characters.indexOf("\n", at + 1)) count++;
  return count;
}

/** The offset of the first line end at or after `from`, or of the text's end. */
export function endOfLine(characters: string, from: number): number {
  const lineEnd = characters.indexOf("\n", from);
  return lineEnd === -1 ? characters.length : lineEnd;
}

/** The offset at which the line that holds `at` starts. */
export function startOfLine(characters: string, at: number): number {
  return at === 0 ? 0 : characters.lastIndexOf("\n", at - 1) + 1;
}

/** The offset of the first occurrence at or after `from`, or -1. */
type TextFinder = (text: string, from: number) => number;

/** The text as it is, composed, and decomposed as macOS writes it (NFC, NFD): these look the same. */
export function unicodeForms(text: string): readonly string[] {
  return [...new Set([text, text.normalize("NFC"), text.normalize("NFD")])];
}

/** An expression for the text as it stands, in V8's syntax and in RE2's. */
export function escapeExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** The characters of words, of any alphabet, as the inside of a character class. */
export const wordClass = "\\p{L}\\p{M}\\p{N}_";

/** Up to here the runtime's search does at most so many comparisons a character. */
const maxNativeCharacters = 32;

/** Prepares the search for `wanted`, which is not empty. */
export function createTextFinder(wanted: string): TextFinder {
  const borders = bordersOf(wanted);
  return (text, from) => findOverlapping(text, wanted, from, borders).next().value ?? -1;
}

/**
 * Where `wanted` occurs, occurrences that overlap included, in time proportional to both texts (Knuth, Morris and Pratt).
 * Each `pauseEvery` characters without an occurrence it yields -1, for others to have their turn.
 */
export function* findOverlapping(
  text: string,
  wanted: string,
  from = 0,
  borders = bordersOf(wanted),
  pauseEvery = Infinity,
): Generator<number, undefined> {
  if (borders === null) {
    for (let at = text.indexOf(wanted, from); at !== -1; at = text.indexOf(wanted, at + 1)) yield at;
    return;
  }
  const head = wanted.slice(0, maxNativeCharacters);
  for (let at = from, matched = 0, pauseAt = from + pauseEvery; at < text.length;) {
    if (at >= pauseAt) {
      yield -1;
      pauseAt = at + pauseEvery;
    }
    if (matched === 0) {
      const start = text.indexOf(head, at);
      if (start === -1) return;
      at = start + head.length;
      matched = head.length;
    } else if (text.charCodeAt(at) === wanted.charCodeAt(matched)) {
      at++;
      matched++;
    } else {
      matched = borders[matched - 1] ?? 0;
    }
    if (matched === wanted.length) {
      yield at - matched;
      matched = borders[matched - 1] ?? 0;
    }
  }
}

/** For each beginning of `wanted` the length of its longest proper beginning that is its end too; `null` for a short text. */
function bordersOf(wanted: string): Uint32Array | null {
  if (wanted.length <= maxNativeCharacters) return null;
  const borders = new Uint32Array(wanted.length);
  for (let at = 1, length = 0; at < wanted.length;) {
    if (wanted.charCodeAt(at) === wanted.charCodeAt(length)) {
      borders[at++] = ++length;
    } else if (length === 0) {
      at++;
    } else {
      length = borders[length - 1] ?? 0;
    }
  }
  return borders;
}
