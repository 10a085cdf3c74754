/** Looks for a query in a line that is too long for one step, or for memory: piece by piece, the first match alone. */
import { countCharacters, type Match } from "./finder.ts";
import type { LineAutomaton } from "./line_automaton.ts";

/** A match in a long line, with the text around it. */
export interface LongLineMatch {
  readonly text: string;
  /** Where the match starts in the text. */
  readonly at: number;
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
  /** Characters before the match in the whole line. */
  readonly charactersBefore: number;
}

/** The search of one line. */
export interface LongLineSearch {
  /** The first match by the end of the line's next piece, of whole characters; each `undefined` is the end of a step. */
  feed(piece: string, isEnd: boolean): Generator<undefined, LongLineMatch | null>;
  /** Whether a match may have been missed: one that is longer than the parts which the line was searched in. */
  readonly isUnsure: boolean;
}

/** How an expression is found. */
interface LongExpression {
  readonly automaton: LineAutomaton;
  /** Bytes of a part: the time for one is that of a step. */
  readonly partBytes: number;
  /** The first match at or after `from`; what is before is only looked back at. */
  findFrom(part: string, from: number): Match | null;
}

/** More than a text that is searched for may have, in either Unicode form. */
const keptBytes = 4_096;
const shownBytes = 2_048;
const stepBytes = 64 * 1024;

/** For texts: `find` gives a text's first match, `findCandidate` an offset that none of them is before. */
export function searchLongText(
  findCandidate: (characters: string, from: number, to: number) => number,
  find: (text: string) => number,
): LongLineSearch {
  const line = createLine();
  return {
    isUnsure: false,
    *feed(piece, isEnd) {
      const characters = line.add(piece);
      const candidate = findCandidate(characters, 0, characters.length);
      if (candidate !== -1) {
        yield;
        const from = characterStart(characters, Math.max(0, candidate - shownBytes));
        const at = find(decode(characters, from, characters.length));
        if (at !== -1) return line.matchAt({ from, to: characters.length, at, isEnd });
      }
      line.keep(keptBytes);
      return null;
    },
  };
}

/** For expressions: the automaton decides, or where it has too many states, RE2 part by part. */
export function searchLongExpression({ automaton, partBytes, findFrom }: LongExpression): LongLineSearch {
  const line = createLine();
  const walk = automaton.begin();
  let isUnsure = false;

  /** Where the match that ends at `end` begins, within the part. */
  const show = (characters: string, end: number, isEnd: boolean): LongLineMatch => {
    const after = partBytes >> 2;
    const from = characterStart(characters, Math.max(0, end - 3 * after));
    const to = characterStart(characters, Math.min(characters.length, end + after));
    const part = decode(characters, from, to);
    const found = findFrom(part, skippedAtStart(part, line.isStart(from)));
    return line.matchAt({ from, to, isEnd, at: found?.start ?? decode(characters, from, end).length });
  };
  function* searchParts(characters: string, isEnd: boolean): Generator<undefined, LongLineMatch | null> {
    isUnsure = true;
    for (let from = 0;;) {
      const to = characterStart(characters, Math.min(characters.length, from + partBytes));
      const isLineEnd = isEnd && to === characters.length;
      const part = decode(characters, from, to);
      const found = findFrom(part, skippedAtStart(part, line.isStart(from)));
      const isReal = found !== null && (isLineEnd || !automaton.looksAhead || found.end < part.length);
      if (isReal) return line.matchAt({ from, to, isEnd, at: found.start });
      if (to === characters.length) return null;
      yield;
      from = characterStart(characters, to - (partBytes >> 2));
    }
  }

  return {
    get isUnsure() {
      return isUnsure;
    },
    *feed(piece, isEnd) {
      const known = line.length;
      const characters = line.add(piece);
      for (let from = known, to; !automaton.isLost && from <= characters.length; from = to) {
        to = Math.min(from + stepBytes, characters.length);
        const isLast = to === characters.length;
        const end = walk(characters, from, to, isLast && isEnd);
        if (end !== -1 && !automaton.isLost) return show(characters, end, isEnd);
        if (isLast) break;
        yield;
      }
      const found = automaton.isLost ? yield* searchParts(characters, isEnd) : null;
      if (found === null) line.keep(partBytes);
      return found;
    },
  };
}

/** What a match that starts at the part's start could not know: the first character only says what comes before. */
function skippedAtStart(part: string, isLineStart: boolean): number {
  return isLineStart ? 0 : (part.codePointAt(0) ?? 0) > 0xffff ? 2 : 1;
}

/** A line that comes in pieces, of which the end is in memory. */
function createLine() {
  let characters = "";
  let charactersBefore = 0;
  return {
    /** Of what is in memory. */
    get length(): number {
      return characters.length;
    },
    // joined, a string is one piece of memory: concatenated, each access would flatten its parts again
    add: (piece: string): string => characters = characters === "" ? piece : [characters, piece].join(""),
    /** Drops all but the last bytes. */
    keep(bytes: number): void {
      const from = characterStart(characters, Math.max(0, characters.length - bytes));
      charactersBefore += countCharacters(characters, 0, from);
      characters = characters.slice(from);
    },
    isStart: (offset: number): boolean => offset === 0 && charactersBefore === 0,
    /** The match at a character of the text from one offset to another. */
    matchAt(
      { from, to, at, isEnd }: {
        readonly from: number;
        readonly to: number;
        readonly at: number;
        readonly isEnd: boolean;
      },
    ): LongLineMatch {
      const text = decode(characters, from, to);
      const start = Math.max(0, at - shownBytes);
      return {
        text: text.slice(start, at + shownBytes),
        at: at - start,
        hasBefore: charactersBefore + from + start > 0,
        hasAfter: at + shownBytes < text.length || to < characters.length || !isEnd,
        charactersBefore: charactersBefore + countCharacters(characters, 0, from) +
          Array.from(text.slice(0, at)).length,
      };
    },
  };
}

/** The start of the character that the byte at `offset` is in, or of the next. */
function characterStart(characters: string, offset: number): number {
  let at = offset;
  while (at < characters.length && (characters.charCodeAt(at) & 0xc0) === 0x80) at++;
  return at;
}

function decode(characters: string, from: number, to: number): string {
  return Buffer.from(characters.slice(from, to), "latin1").toString("utf8");
}
