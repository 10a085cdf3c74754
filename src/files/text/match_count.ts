/** Counts the matches of lines, of which a search shows the first. */
import { countCharacters } from "./byte_text.ts";
import { createFormsFinder, type Match } from "./finder.ts";
import type { LinePattern } from "./line_pattern.ts";

/** Places of one line that are named beside the first. */
export const maxNamedPlaces = 5;
/** To count the matches of one line, an expression may look at so many times what one step searches. */
const maxCountedSteps = 4;

/** Matches of one line. */
export interface MatchCount {
  readonly count: number;
  /** Whether there may be more. */
  readonly isLeast?: boolean;
  /** Of a long line: where the matches after the first begin, in characters from 1; only some. */
  readonly columns?: readonly number[];
}

/** The matches of a line that do not overlap, from the left; `work`: the characters that were looked at, at most. */
export function matchesOf(
  pattern: LinePattern,
  line: string,
): { readonly matches: readonly Match[]; readonly isLeast: boolean; readonly work: number } {
  const matches: Match[] = [];
  const maxWork = maxCountedSteps * pattern.stepCharacters;
  let work = 0;
  for (let from = 0; from <= line.length;) {
    if (work > maxWork) return { matches, isLeast: true, work };
    const match = pattern.next(line, from);
    if (match === null) break;
    work += pattern.isExpression ? line.length - from : match.end - from;
    matches.push(match);
    from = Math.max(match.end, from + (match.end === match.start ? 1 : 0));
  }
  return { matches, isLeast: false, work };
}

/** Counts a text, in its forms, in a line that comes in pieces, in bytes (byte_text.ts). */
export interface LiteralCount {
  add(piece: string): void;
  readonly found: MatchCount;
}

export function createLiteralCount(literals: readonly string[]): LiteralCount {
  const find = createFormsFinder(literals);
  const longest = Math.max(...literals.map(({ length }) => length));
  const columns: number[] = [];
  let [count, kept, charactersBefore] = [0, "", 0];
  return {
    add(piece) {
      const text = [kept, piece].join("");
      let from = 0;
      for (let match = find(text, 0); match !== null; match = find(text, from)) {
        const isNamed = count++ > 0 && columns.length < maxNamedPlaces;
        if (isNamed) columns.push(charactersBefore + countCharacters(text, 0, match.start) + 1);
        from = match.end;
      }
      from = Math.max(from, text.length - longest + 1);
      charactersBefore += countCharacters(text, 0, from);
      kept = text.slice(from);
    },
    get found() {
      return { count, columns };
    },
  };
}
