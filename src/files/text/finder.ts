/**
 * Finds a caller's text in another in time proportional to both. The runtime's own `indexOf` compares a long text anew
 * at each place: 500,000 letters with one odd letter in the middle, searched for in 1 MiB of letters, took 40 seconds.
 */

/** The offset of the first occurrence at or after `from`, or -1. */
type TextFinder = (text: string, from: number) => number;

/** Where a match begins and ends. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/** The text as it is, composed, and decomposed as macOS writes it (NFC, NFD): these look the same. */
export function unicodeForms(text: string): readonly string[] {
  return [...new Set([text, text.normalize("NFC"), text.normalize("NFD")])];
}

/** Finds the first of some forms of a text; `flags` of an expression: `iu` for any case. Forms are short. */
export function createFormsFinder(
  forms: readonly string[],
  flags: "" | "iu" = "",
): (text: string, from: number) => Match | null {
  const [only = "", ...others] = forms;
  if (flags === "" && others.length === 0) {
    const find = createTextFinder(only);
    return (text, from) => {
      const start = find(text, from);
      return start === -1 ? null : { start, end: start + only.length };
    };
  }
  // literals of V8's own engine: at each place they are compared and there is nothing to go back to
  const expression = new RegExp(forms.map(escapeExpression).join("|"), `g${flags}`);
  return (text, from) => {
    expression.lastIndex = from;
    const [found] = expression.exec(text) ?? [];
    return found === undefined ? null : { start: expression.lastIndex - found.length, end: expression.lastIndex };
  };
}

/** An expression for the text as it stands, in V8's syntax and in RE2's. */
export function escapeExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** The characters of words, of any alphabet, as the inside of a character class. */
export const wordClass = "\\p{L}\\p{M}\\p{N}_";

/** Up to here the runtime's search does at most so many comparisons a character. */
const maxNativeCharacters = 32;

/** Prepares the search for `wanted`, which is not empty (Knuth, Morris and Pratt). */
export function createTextFinder(wanted: string): TextFinder {
  if (wanted.length <= maxNativeCharacters) return (text, from) => text.indexOf(wanted, from);
  const head = wanted.slice(0, maxNativeCharacters);
  const borders = bordersOf(wanted);
  return (text, from) => {
    let matched = 0;
    for (let at = from; at < text.length;) {
      if (matched === 0) {
        const start = text.indexOf(head, at);
        if (start === -1) return -1;
        at = start + head.length;
        matched = head.length;
      } else if (text.charCodeAt(at) === wanted.charCodeAt(matched)) {
        at++;
        matched++;
      } else {
        matched = borders[matched - 1] ?? 0;
      }
      if (matched === wanted.length) return at - matched;
    }
    return -1;
  };
}

/** Where `wanted` occurs, occurrences that overlap included, in time proportional to both texts. */
export function* findOverlapping(text: string, wanted: string): Generator<number> {
  if (wanted.length <= maxNativeCharacters) {
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) yield at;
    return;
  }
  const borders = bordersOf(wanted);
  for (let at = 0, matched = 0; at < text.length;) {
    if (text.charCodeAt(at) === wanted.charCodeAt(matched)) {
      at++;
      matched++;
    } else if (matched === 0) {
      at++;
    } else {
      matched = borders[matched - 1] ?? 0;
    }
    if (matched === wanted.length) {
      yield at - matched;
      matched = borders[matched - 1] ?? 0;
    }
  }
}

/** For each beginning of `wanted` the length of its longest proper beginning that is its end too. */
function bordersOf(wanted: string): Uint32Array {
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
