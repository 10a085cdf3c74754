/** Searches the pieces of one file by lines, which may be longer than a piece. */
import { cutLongLine, type LineMatch, linesAfter, linesBefore, searchText } from "./search_text.ts";
import { type ByteText, countLineEnds, endOfLine } from "./byte_text.ts";
import type { NextTurn } from "../../lib/turns.ts";
import type { LinePattern } from "./line_pattern.ts";
import type { LongLineSearch } from "./long_line.ts";
import { createLiteralCount, type LiteralCount } from "./match_count.ts";

// Passes matches on in order, each once the lines after it are known: they may come with the next piece of the file.

interface MatchQueue {
  /** Takes a match; unless the text is the file's last, more lines may come. `true` when that is enough. */
  push(match: LineMatch, mayGoOn: boolean): boolean;
  /** The lines after all that was pushed. */
  add(lines: readonly string[]): boolean;
  /** Passes on all; the line of the one that was enough, or `null`. */
  flush(): number | null;
  /** The line that was passed on last; 0 before. */
  readonly last: number;
}

function createMatchQueue(contextLines: number, onMatch: (match: LineMatch) => boolean): MatchQueue {
  let waiting: readonly LineMatch[] = [];
  let last = 0;
  /** Passes on the first matches as long as they are complete, or all. */
  const passOn = (all: boolean): boolean => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (!all && first.after.length < contextLines) return false;
      waiting = waiting.slice(1);
      last = first.line;
      if (onMatch(first)) return true;
    }
    return false;
  };
  return {
    get last() {
      return last;
    },
    push(match, mayGoOn) {
      waiting = [...waiting, match];
      return passOn(!mayGoOn);
    },
    add(lines) {
      waiting = waiting.map((match) => ({ ...match, after: [...match.after, ...lines].slice(0, contextLines) }));
      return passOn(false);
    },
    flush: () => passOn(true) ? last : null,
  };
}

/** What a search asks of each file. */
export interface FileSearch {
  readonly pattern: LinePattern;
  /** See search_text.ts. */
  readonly counts?: "none" | "all" | "texts";
  readonly contextLines: number;
  /** Only lines after this one. */
  readonly afterLine: number;
  /** Takes each match, in the order of lines; `true` when that is enough of this file. */
  readonly onMatch: (match: LineMatch) => boolean;
  /** Told of each line in which a match may have been missed. */
  readonly onUnsure: (line: number) => void;
  /** The turns of the whole search. */
  readonly nextTurn: NextTurn;
  /** Asked now and then: whether to stop. */
  readonly isOver: () => boolean;
  /** Whether the search may stop before it has looked at a line: it would not begin again with this one each time. */
  readonly mayStopAtOnce: boolean;
}

/** Whole lines of a file, or a part of a line that is too long. */
interface SearchPiece {
  readonly text: ByteText;
  /** Whether the line that it ends with goes on in the next piece: it is then the only one. */
  readonly goesOn: boolean;
  readonly isLast: boolean;
}

/** Of a long line, in one step. */
const countedBytes = 64 * 1024;

interface LineSearch {
  /** The last line that was searched, where the search is to stop; `null` to go on. */
  take(piece: SearchPiece): Promise<number | null>;
  /** The same, after the last piece. */
  end(): number | null;
}

/** A line that goes on from piece to piece. */
interface LongLine {
  /** Its start, as it is shown around others. */
  readonly shown: readonly string[];
  /** `null` when the line has matched, or is not asked for. */
  search: LongLineSearch | null;
  /** The first match, until the others are counted. */
  match: LineMatch | null;
  readonly counter: LiteralCount | null;
}

export function createLineSearch(
  { pattern, counts = "none", contextLines, afterLine, onMatch, onUnsure, nextTurn, isOver, mayStopAtOnce }: FileSearch,
): LineSearch {
  const queue = createMatchQueue(contextLines, onMatch);
  let firstLine = 1;
  let earlier: readonly string[] = [];
  let long: LongLine | null = null;

  const isOverAfter = async (pause: Promise<void>): Promise<boolean> => {
    await pause;
    return isOver();
  };
  /** Stops after a line, unless that would be no further than the call before, and for nothing. */
  const stopAfter = (line: number): number | null =>
    line <= afterLine && !mayStopAtOnce ? null : queue.flush() ?? Math.max(line, afterLine);
  /** The next call begins with this line, unless this one did, and had no time for it. */
  const stopInLine = ({ search, match, counter }: LongLine): number | null => {
    if (search === null) {
      if (match !== null && queue.push(countedMatch(match, counter, true), true)) return queue.last;
      return stopAfter(firstLine);
    }
    const stopped = stopAfter(firstLine - 1);
    if (stopped !== null) return stopped;
    onUnsure(firstLine);
    return queue.flush() ?? firstLine;
  };
  const takeLong = async (line: LongLine, piece: string, isEnd: boolean): Promise<number | null> => {
    const steps = line.search?.feed(piece, isEnd);
    let step = steps?.next();
    for (; step?.done === false; step = steps?.next()) {
      const pause = nextTurn();
      const stopped = pause !== undefined && await isOverAfter(pause) ? stopInLine(line) : null;
      if (stopped !== null) return stopped;
    }
    if (step?.value) {
      const found = { count: 1, isLeast: counts !== "none" };
      line.match = { line: firstLine, ...cutLongLine(step.value), found, before: earlier, after: [] };
      line.search = null;
    }
    for (let at = 0; line.counter !== null && at < piece.length; at += countedBytes) {
      line.counter.add(piece.slice(at, at + countedBytes));
      const pause = nextTurn();
      if (pause !== undefined) await pause;
    }
    if (line.match !== null && (isEnd || line.counter === null)) {
      const match = countedMatch(line.match, line.counter, !isEnd);
      line.match = null;
      if (queue.push(match, true)) return queue.last;
    }
    const pause = isEnd ? undefined : nextTurn();
    return pause !== undefined && await isOverAfter(pause) ? stopInLine(line) : null;
  };
  const takeLines = async (text: ByteText, from: number, isLast: boolean): Promise<number | null> => {
    const { characters } = text;
    const options = { pattern, counts, from, contextLines, linesBefore: earlier, firstLine, afterLine };
    for (const { matches, unsure, end } of searchText(text, options)) {
      unsure.forEach(onUnsure);
      for (const match of matches) if (queue.push(match, !isLast)) return queue.last;
      const pause = nextTurn();
      if (pause === undefined || !await isOverAfter(pause)) continue;
      return queue.flush() ?? Math.max(firstLine - 1 + countLineEnds(characters, from, end), queue.last);
    }
    if (isLast) return null;
    if (contextLines > 0) earlier = linesBefore(text, { from, to: characters.length, count: contextLines, earlier });
    firstLine += countLineEnds(characters, from, characters.length);
    const pause = nextTurn();
    return pause !== undefined && await isOverAfter(pause) ? stopAfter(firstLine - 1) : null;
  };

  return {
    async take({ text, goesOn, isLast }) {
      const { characters } = text;
      if (long === null && queue.add(linesAfter(text, 0, contextLines))) return queue.last;
      if (!goesOn && long === null) return await takeLines(text, 0, isLast);
      const isWanted = firstLine > afterLine;
      long ??= {
        shown: linesAfter(text, 0, 1),
        search: isWanted ? pattern.searchLong() : null,
        match: null,
        counter: isWanted && counts !== "none" && pattern.literals !== null
          ? createLiteralCount(pattern.literals)
          : null,
      };
      const end = goesOn ? characters.length : endOfLine(characters, 0);
      const stopped = await takeLong(long, characters.slice(0, end), !goesOn);
      if (stopped !== null || goesOn) return stopped;
      if (long.search?.isUnsure) onUnsure(firstLine);
      if (contextLines > 0) earlier = [...earlier, ...long.shown].slice(-contextLines);
      long = null;
      firstLine++;
      if (queue.add(linesAfter(text, end + 1, contextLines))) return queue.last;
      return await takeLines(text, end + 1, isLast);
    },
    end: () => queue.flush(),
  };
}

function countedMatch(match: LineMatch, counter: LiteralCount | null, isLeast: boolean): LineMatch {
  return counter === null ? match : { ...match, found: { ...counter.found, isLeast }, texts: [] };
}
