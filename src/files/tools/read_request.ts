/** What of which file a name such as `src/a.ts:40-90`, `app.log:-50` or `app.min.js:1:9000` asks for. */

/** Lines of a file, a range or the last ones, or characters of one line. Numbers start at 1. */
export interface LineRequest {
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  readonly tail?: number | undefined;
  /** Of the line {@link startLine}, both included. */
  readonly characters?: CharacterRange | undefined;
}

interface CharacterRange {
  readonly first: number;
  readonly last: number;
}

/** A file name and what its end asks for. */
interface NamedPart {
  readonly filename: string;
  readonly lines: LineRequest;
}

const maxNumber = 1_000_000_000;
/** How much is shown on each side of a place in a line. */
const charactersAround = 1_000;

/**
 * The ways to read a name whose end asks for a part, the longest file name first: `a:1:5` is line 5 of `a:1`, or where
 * there is no such file, character 5 in line 1 of `a`.
 */
export function parseNamedParts(text: string): readonly NamedPart[] {
  return [parseNamedLines(text), parseNamedCharacters(text)].filter((part) => part !== null);
}

/** `a:2-4`, `a:2-`, `a:7`, `a:-50`; also as others write ranges: `a:L2-L4`, `a#L2-L4`, `a:2,4`, `a:2..4`. */
const namedLines = /^([^]+)(?::-(\d{1,10})|(?::L?|#L)(\d{1,10})(?:(?:-|,|\.\.)L?(\d{0,10}))?)$/i;

function parseNamedLines(text: string): NamedPart | null {
  const [, filename, last, first, end] = namedLines.exec(text) ?? [];
  if (filename === undefined) return null;
  if (last !== undefined) return isNumber(last) ? { filename, lines: { tail: Number(last) } } : null;
  if (!isNumber(first) && Number(first) !== 0) return null;
  const startLine = Math.max(1, Number(first)); // some count from 0
  if (end === "") return { filename, lines: { startLine } };
  if (end !== undefined && !isNumber(end)) return null;
  const endLine = end === undefined ? startLine : Number(end);
  return { filename, lines: { startLine: Math.min(startLine, endLine), endLine: Math.max(startLine, endLine) } };
}

function parseNamedCharacters(text: string): NamedPart | null {
  const [, filename, line, place, last] = /^([^]+):(\d{1,10}):(\d{1,10})(?:-(\d{1,10}))?$/.exec(text) ?? [];
  if (filename === undefined || !isNumber(line) || !(isNumber(place) || Number(place) === 0)) return null;
  if (last !== undefined && !isNumber(last)) return null;
  const [startLine, from, to] = [Number(line), Math.max(1, Number(place)), Number(last)];
  const characters = last === undefined
    ? { first: Math.max(1, from - charactersAround), last: from + charactersAround - 1 }
    : { first: Math.min(from, to), last: Math.max(from, to) };
  return { filename, lines: { startLine, endLine: startLine, characters } };
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && Number(text) >= 1 && Number(text) <= maxNumber;
}
