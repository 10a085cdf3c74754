/** Searches one text by lines. */
import {
  type ByteText,
  countCharacters,
  countLineEnds,
  createFormsFinder,
  endOfLine,
  type Match,
  startOfLine,
} from "./finder.ts";
import type { LinePattern } from "./line_pattern.ts";
import type { LongLineMatch } from "./long_line.ts";

/** A line that matches, with its neighbours. */
export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** Of a line that is cut: where the match starts, in characters from 1. */
  readonly column?: number;
  /** The line without its end, cut around the match when it is long. */
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Of all matches in the line. */
  readonly found: MatchCount;
  /** What matched, where that is asked for. */
  readonly texts?: readonly string[];
}

interface SearchOptions {
  readonly pattern: LinePattern;
  /** Whether matches are counted, and their texts given; else only the first of each line is looked for. */
  readonly counts?: "none" | "all" | "texts";
  /** Where the first line to search starts; default 0. */
  readonly from?: number;
  /** How many lines to give before and after each match. */
  readonly contextLines: number;
  /** Lines before the text's first, of which as many are given. */
  readonly linesBefore?: readonly string[];
  /** The number of the first line. */
  readonly firstLine: number;
  /** Only lines after this one. */
  readonly afterLine: number;
}

/** What one stretch of the text gave. */
interface Stretch {
  readonly matches: readonly LineMatch[];
  /** Lines in which a match may have been missed. */
  readonly unsure: readonly number[];
  /** The offset after its last line. */
  readonly end: number;
}

/** How much one step searches, so that other callers do not wait. */
const stretchBytes = 64 * 1024;
const maxShownCharacters = 500;
/** Bytes that hold more characters than are shown. */
const shownBytes = 4 * (maxShownCharacters + 1);

/**
 * The matching lines, in stretches that are searched one by one when they are asked for, so that the caller can stop, or
 * let others have their turn, in between.
 */
export function* searchText(text: ByteText, options: SearchOptions): Generator<Stretch> {
  const { characters } = text;
  const { pattern, counts = "none", from = 0, contextLines, firstLine, afterLine } = options;
  let lineStart = from;
  let line = firstLine; // the number of the line at `lineStart`
  for (; line <= afterLine && lineStart < characters.length; line++) lineStart = endOfLine(characters, lineStart) + 1;
  let at = lineStart;
  while (at < characters.length) {
    const stretchEnd = Math.min(characters.length, endOfLine(characters, at + stretchBytes) + 1);
    let matches: LineMatch[] = [];
    const unsure: number[] = [];
    for (let left = pattern.stepCharacters; left > 0 && at < stretchEnd;) {
      const candidate = pattern.findCandidate(characters, at, stretchEnd);
      if (candidate === -1) {
        at = stretchEnd;
        break;
      }
      const start = startOfLine(characters, candidate);
      const end = endOfLine(characters, candidate);
      line += countLineEnds(characters, lineStart, start);
      lineStart = start;
      let shown: ShownLine | null = null;
      let found: Found = { found: { count: 1, isLeast: counts !== "none" }, work: 0 };
      if (end - start > pattern.stepCharacters) {
        const search = pattern.searchLong();
        const steps = search.feed(characters.slice(start, end), true);
        let step = steps.next();
        for (; !step.done; step = steps.next()) {
          yield { matches, unsure: [], end: start };
          matches = [];
        }
        left = 0;
        if (step.value !== null) {
          shown = cutLongLine(step.value);
          if (pattern.literals !== null && counts !== "none") {
            const counter = createLiteralCount(pattern.literals);
            for (let at = start; at < end; at += stretchBytes) {
              counter.add(characters.slice(at, Math.min(end, at + stretchBytes)));
              yield { matches, unsure: [], end: start };
              matches = [];
            }
            found = { found: counter.found, texts: [], work: 0 };
          }
        } else if (search.isUnsure) unsure.push(line);
      } else {
        const whole = text.decode(start, end);
        left -= whole.length + 1;
        const first = pattern.find(whole);
        if (first !== -1) {
          shown = cutLine(whole, first);
          found = foundIn(whole, pattern, counts);
          left -= found.work;
        }
      }
      if (shown !== null) {
        const before = linesBefore(text, { from, to: start, count: contextLines, earlier: options.linesBefore });
        const { work: _, ...match } = found;
        matches.push({ line, ...shown, ...match, before, after: linesAfter(text, end + 1, contextLines) });
      }
      at = end + 1;
    }
    yield { matches, unsure, end: Math.min(at, characters.length) };
  }
}

type Found = Pick<LineMatch, "found" | "texts"> & { readonly work: number };

/** The matches of a line that do not overlap, from the left; `work`: the characters that were looked at, at most. */
function foundIn(line: string, pattern: LinePattern, counts: NonNullable<SearchOptions["counts"]>): Found {
  if (counts === "none") return { found: { count: 1 }, work: 0 };
  const matches: Match[] = [];
  let [work, isLeast] = [0, false];
  for (let from = 0; from <= line.length;) {
    isLeast = work > maxCountedSteps * pattern.stepCharacters;
    const match = isLeast ? null : pattern.next(line, from);
    if (match === null) break;
    work += pattern.isExpression ? line.length - from : match.end - from;
    matches.push(match);
    from = Math.max(match.end, from + (match.end === match.start ? 1 : 0));
  }
  const columns = line.length <= maxShownCharacters
    ? []
    : matches.slice(1, 1 + maxNamedPlaces).map(({ start }) => Array.from(line.slice(0, start)).length + 1);
  const found = { count: Math.max(1, matches.length), isLeast, columns };
  return counts === "all"
    ? { found, work }
    : { found, work, texts: matches.map(({ start, end }) => line.slice(start, end)) };
}

/** The last lines, cut, from one offset to another; `earlier` come before the first of them. */
export function linesBefore(
  { characters, decode }: ByteText,
  { from, to, count, earlier = [] }: {
    readonly from: number;
    readonly to: number;
    readonly count: number;
    readonly earlier?: readonly string[] | undefined;
  },
): string[] {
  const lines: string[] = [];
  for (let end = to - 1; lines.length < count && end >= from;) {
    const start = startOfLine(characters, end);
    lines.unshift(startOfCut(decode, start, end));
    end = start - 1;
  }
  return lines.length < count ? [...earlier.slice(lines.length - count), ...lines] : lines;
}

/** The next lines, cut, from an offset on. */
export function linesAfter({ characters, decode }: ByteText, from: number, count: number): string[] {
  const lines: string[] = [];
  for (let start = from; lines.length < count && start < characters.length;) {
    const end = endOfLine(characters, start);
    lines.push(startOfCut(decode, start, end));
    start = end + 1;
  }
  return lines;
}

type ShownLine = Pick<LineMatch, "text" | "column">;

/** The match in a long line, as it is shown. */
export function cutLongLine({ text, at, hasBefore, hasAfter, charactersBefore }: LongLineMatch): ShownLine {
  return { ...cutAround(text, at, hasBefore, hasAfter), column: charactersBefore + 1 };
}

function cutLine(line: string, at: number): ShownLine {
  const shown = cutAround(line, at);
  return line.length <= maxShownCharacters ? shown : { ...shown, column: Array.from(line.slice(0, at)).length + 1 };
}

/** The start of a line, as lines around a match are shown. */
function startOfCut(decode: ByteText["decode"], start: number, end: number): string {
  // a character at the end may be cut: it is not shown
  return cutAround(decode(start, Math.min(end, start + shownBytes)), 0).text;
}

/** The line around `at`; it may itself be cut out of a longer one. */
function cutAround(line: string, at: number, hasBefore = false, hasAfter = false): { readonly text: string } {
  const start = Math.max(0, Math.min(at - maxShownCharacters / 2, line.length - maxShownCharacters));
  const end = start + maxShownCharacters;
  // toWellFormed: the cut may go through a surrogate pair
  const [isCutBefore, isCutAfter] = [hasBefore || start > 0, hasAfter || end < line.length];
  return { text: `${isCutBefore ? "…" : ""}${line.slice(start, end).toWellFormed()}${isCutAfter ? "…" : ""}` };
}

/** Places of one line that are named beside the first. */
const maxNamedPlaces = 5;
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

/** Counts a text, in its forms, in a line that comes in pieces, in bytes (finder.ts). */
export function createLiteralCount(literals: readonly string[]) {
  const find = createFormsFinder(literals);
  const longest = Math.max(...literals.map(({ length }) => length));
  const columns: number[] = [];
  let [count, kept, charactersBefore] = [0, "", 0];
  return {
    add(piece: string): void {
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
    get found(): MatchCount {
      return { count, columns };
    },
  };
}

export type LiteralCount = ReturnType<typeof createLiteralCount>;
