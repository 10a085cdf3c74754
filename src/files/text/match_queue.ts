/** Passes matches on in order, each once the lines after it are known: they may come with the next piece of the file. */
import type { LineMatch } from "./search_text.ts";

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

export function createMatchQueue(contextLines: number, onMatch: (match: LineMatch) => boolean): MatchQueue {
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
