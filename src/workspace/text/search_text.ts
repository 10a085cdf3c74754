/** Searches one text by lines. */
import type { LinePattern } from "./line_pattern.ts";
import { createTextFinder } from "./finder.ts";

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
  /** The number of the line after the stretch. */
  readonly nextLine: number;
}

const maxShownCharacters = 500;

/**
 * The matching lines, in stretches (none where nothing can match) that are searched one by one when they are asked for,
 * so that the caller can stop, or let others have their turn, in between.
 */
export function* searchText(text: string, options: SearchOptions): Generator<Stretch> {
  const { pattern, contextLines, firstLine, afterLine } = options;
  if (pattern.required !== null && createTextFinder(pattern.required)(text, 0) === -1) return;
  let line = firstLine;
  let lineStart = 0;
  for (; line <= afterLine && lineStart < text.length; line++) lineStart = endOfLine(text, lineStart) + 1;
  while (lineStart < text.length) {
    const stretchEnd = Math.min(text.length, endOfLine(text, lineStart + pattern.stepCharacters) + 1);
    const matches: LineMatch[] = [];
    while (lineStart < stretchEnd) {
      const found = pattern.find(text, lineStart, stretchEnd);
      const until = found === -1 ? stretchEnd : found;
      for (let newline; (newline = text.indexOf("\n", lineStart)) !== -1 && newline < until;) {
        lineStart = newline + 1;
        line++;
      }
      if (found === -1) {
        lineStart = stretchEnd;
        break;
      }
      const lineEnd = endOfLine(text, lineStart);
      matches.push({
        line,
        text: cutAround(text.slice(lineStart, lineEnd), found - lineStart),
        before: linesBefore(text, lineStart, contextLines),
        after: linesAfter(text, lineEnd, contextLines),
      });
      lineStart = lineEnd + 1;
      line++;
    }
    yield { matches, nextLine: line };
  }
}

function endOfLine(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  return newline === -1 ? text.length : newline;
}

function linesBefore(text: string, lineStart: number, count: number): string[] {
  const lines: string[] = [];
  for (let end = lineStart - 1; lines.length < count && end >= 0;) {
    const start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    lines.unshift(cutAround(text.slice(start, end), 0));
    end = start - 1;
  }
  return lines;
}

function linesAfter(text: string, lineEnd: number, count: number): string[] {
  const lines: string[] = [];
  for (let start = lineEnd + 1; lines.length < count && start < text.length;) {
    const end = endOfLine(text, start);
    lines.push(cutAround(text.slice(start, end), 0));
    start = end + 1;
  }
  return lines;
}

function cutAround(line: string, at: number): string {
  if (line.length <= maxShownCharacters) return line;
  const start = Math.max(0, Math.min(at - maxShownCharacters / 2, line.length - maxShownCharacters));
  const end = start + maxShownCharacters;
  // toWellFormed: the cut may go through a surrogate pair
  return `${start > 0 ? "…" : ""}${line.slice(start, end).toWellFormed()}${end < line.length ? "…" : ""}`;
}
