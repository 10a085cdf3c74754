/** Passes matches on in order, each once the lines after it are known: they may come with the next piece of the file. */
import type { LineMatch } from "./search_text.ts";

interface MatchQueue {
  /** Takes a match; where the text is not the file's last, its lines may go on. `true` when that is enough. */
  push(match: LineMatch, mayGoOn: boolean): boolean;
  /** The lines after all that was pushed. */
  add(lines: readonly string[]): boolean;
  /** Passes on the matches that wait for lines; the line of the one that was enough, or `null`. */
  flush(): number | null;
  /** The line that was passed on last; 0 before. */
  readonly last: number;
}

export function createMatchQueue(contextLines: number, onMatch: (match: LineMatch) => boolean): MatchQueue {
  let waiting: LineMatch[] = [];
  let last = 0;
  const pass = (match: LineMatch): boolean => {
    last = match.line;
    return onMatch(match);
  };
  const flush = (): number | null => {
    for (const match of waiting.splice(0)) if (pass(match)) return match.line;
    return null;
  };
  return {
    get last() {
      return last;
    },
    push(match, mayGoOn) {
      if (!mayGoOn || match.after.length === contextLines) return pass(match);
      waiting.push(match);
      return false;
    },
    add(lines) {
      waiting = waiting.map((match) => ({ ...match, after: [...match.after, ...lines].slice(0, contextLines) }));
      while (waiting[0]?.after.length === contextLines) {
        const [first, ...rest] = waiting;
        waiting = rest;
        if (pass(first)) return true;
      }
      return false;
    },
    flush,
  };
}
