/** Searches one text by lines: pure. */
import type { LinePattern } from "./line_pattern.ts";

/** A line that matches, with its neighbours. */
export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** The line without its end, cut around the match when it is long. */
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** How to search. */
export interface SearchOptions {
  readonly pattern: LinePattern;
  /** How many lines to give before and after each match. */
  readonly contextLines: number;
  /** The number of the text's first line. */
  readonly firstLine: number;
  /** Only lines after this one. */
  readonly afterLine: number;
  readonly limit: number;
}

const maxShownCharacters = 500;

/** The matching lines, at most `limit` of them. */
export function searchText(text: string, options: SearchOptions): LineMatch[] {
  const { pattern, contextLines, firstLine, afterLine, limit } = options;
  const matches: LineMatch[] = [];
  let line = firstLine;
  let lineStart = 0;
  while (line <= afterLine) {
    const newline = text.indexOf("\n", lineStart);
    if (newline === -1) return matches;
    lineStart = newline + 1;
    line++;
  }
  while (matches.length < limit && lineStart < text.length) {
    const found = pattern.find(text, lineStart);
    if (found === -1) break;
    for (let newline; (newline = text.indexOf("\n", lineStart)) !== -1 && newline < found;) {
      lineStart = newline + 1;
      line++;
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
  return matches;
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
