/** Searches one text by lines. */
import { type ByteText, countLineEnds, endOfLine, startOfLine } from "./byte_text.ts";
import type { LinePattern } from "./line_pattern.ts";
import { findInLongLine } from "./long_line.ts";

/** A line that matches, with its neighbours. */
export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** The line without its end, cut around the match when it is long. */
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

interface SearchOptions {
  readonly pattern: LinePattern;
  /** How many lines to give before and after each match. */
  readonly contextLines: number;
  /** The number of the text's first line. */
  readonly firstLine: number;
  /** Only lines after this one. */
  readonly afterLine: number;
}

/** What one stretch of the text gave. */
interface Stretch {
  readonly matches: readonly LineMatch[];
  /** The offset after its last line. */
  readonly end: number;
}

/** How much one step searches, so that other callers do not wait. */
const stretchBytes = 64 * 1024;
const maxShownCharacters = 500;
const uncut = { hasBefore: false, hasAfter: false };

/**
 * The matching lines, in stretches that are searched one by one when they are asked for, so that the caller can stop, or
 * let others have their turn, in between.
 */
export function* searchText(text: ByteText, options: SearchOptions): Generator<Stretch> {
  const { characters } = text;
  const { pattern, contextLines, firstLine, afterLine } = options;
  let lineStart = 0;
  let line = firstLine; // the number of the line at `lineStart`
  for (; line <= afterLine && lineStart < characters.length; line++) lineStart = endOfLine(characters, lineStart) + 1;
  let at = lineStart;
  while (at < characters.length) {
    const stretchEnd = Math.min(characters.length, endOfLine(characters, at + stretchBytes) + 1);
    let matches: LineMatch[] = [];
    for (let left = pattern.stepCharacters; left > 0 && at < stretchEnd;) {
      const candidate = pattern.findCandidate(characters, at, stretchEnd);
      if (candidate === -1) {
        at = stretchEnd;
        break;
      }
      const start = startOfLine(characters, candidate);
      const end = endOfLine(characters, candidate);
      let shown: string | null = null;
      if (pattern.long !== undefined && end - start > pattern.stepCharacters) {
        const steps = findInLongLine(text, pattern.long, { start, end, candidate });
        let step = steps.next();
        for (; !step.done; step = steps.next()) {
          yield { matches, end: start };
          matches = [];
        }
        left = 0;
        if (step.value !== null) shown = cutAround(step.value.text, step.value.at, step.value);
      } else {
        const whole = text.decode(start, end);
        left -= whole.length + 1;
        const found = pattern.find(whole);
        if (found !== -1) shown = cutAround(whole, found);
      }
      if (shown !== null) {
        line += countLineEnds(characters, lineStart, start);
        lineStart = start;
        matches.push({
          line,
          text: shown,
          before: linesBefore(text, start, contextLines),
          after: linesAfter(text, end, contextLines),
        });
      }
      at = end + 1;
    }
    yield { matches, end: Math.min(at, characters.length) };
  }
}

function linesBefore({ characters, decode }: ByteText, lineStart: number, count: number): string[] {
  const lines: string[] = [];
  for (let end = lineStart - 1; lines.length < count && end >= 0;) {
    const start = startOfLine(characters, end);
    lines.unshift(cutAround(decode(start, end), 0));
    end = start - 1;
  }
  return lines;
}

function linesAfter({ characters, decode }: ByteText, lineEnd: number, count: number): string[] {
  const lines: string[] = [];
  for (let start = lineEnd + 1; lines.length < count && start < characters.length;) {
    const end = endOfLine(characters, start);
    lines.push(cutAround(decode(start, end), 0));
    start = end + 1;
  }
  return lines;
}

/** The line around `at`; it may itself be cut out of a longer one. */
function cutAround(
  line: string,
  at: number,
  { hasBefore, hasAfter }: { readonly hasBefore: boolean; readonly hasAfter: boolean } = uncut,
): string {
  if (line.length <= maxShownCharacters) return `${hasBefore ? "…" : ""}${line}${hasAfter ? "…" : ""}`;
  const start = Math.max(0, Math.min(at - maxShownCharacters / 2, line.length - maxShownCharacters));
  const end = start + maxShownCharacters;
  // toWellFormed: the cut may go through a surrogate pair
  const [isCutBefore, isCutAfter] = [hasBefore || start > 0, hasAfter || end < line.length];
  return `${isCutBefore ? "…" : ""}${line.slice(start, end).toWellFormed()}${isCutAfter ? "…" : ""}`;
}
