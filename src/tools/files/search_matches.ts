/** Gathers what a search finds, as much of it as an answer holds. */
import type { Result } from "../../lib/result.ts";
import type { PassedOver } from "../../workspace/text/search_file.ts";
import type { LineMatch } from "../../workspace/text/search_text.ts";
import { pageBytes } from "./input.ts";

/** What an answer shows: matching lines, files with a match, or matches counted by file. */
export type SearchShow = "lines" | "files" | "count";

/** Characters of an answer as JSON, which repeats a file's name with each line. */
const maxAnswerCharacters = 1_000_000;
/** Names of files that an answer repeats for each reason. */
const maxPassedOverNames = 3;

/** A file with matches, or one that was found by its name. */
export interface FoundFile {
  readonly filename: string;
  matches: LineMatch[];
  /** Matches, also those that are not kept. */
  count: number;
}

/** Files that could not be searched, for one reason. */
interface PassedOverFiles {
  count: number;
  readonly names: string[];
}

/** What a search has come to. */
export interface SearchResult {
  readonly show: SearchShow;
  readonly hasContext: boolean;
  readonly byName: boolean;
  readonly files: readonly FoundFile[];
  readonly hits: number;
  readonly searched: number;
  readonly passedOver: ReadonlyMap<PassedOver, PassedOverFiles>;
}

interface CollectorOptions {
  readonly limit: number;
  readonly context: number;
  readonly show: SearchShow;
  readonly last: boolean;
  readonly pattern: object | null;
}

interface Collector {
  readonly searched: number;
  /** Whether the answer holds no more. */
  isFull(): boolean;
  addName(filename: string): void;
  /** Takes the matches of a file. */
  begin(filename: string): (match: LineMatch) => boolean;
  /** What came of that file: the line at which the whole search stops, or `null` to go on with the next file. */
  end(found: Result<{ readonly stoppedAfter: number | null }, PassedOver>): number | null;
  result(): SearchResult;
}

export function createCollector({ limit, context, show, last, pattern }: CollectorOptions): Collector {
  let files: FoundFile[] = [];
  let current: FoundFile = { filename: "", matches: [], count: 0 };
  const passedOver = new Map<PassedOver, PassedOverFiles>();
  let [kept, hits, searched, textCharacters, jsonCharacters] = [0, 0, 0, 0, 0];
  const measure = (filename: string, match: LineMatch, sign: 1 | -1): void => {
    for (const line of [...match.before, match.text, ...match.after]) {
      textCharacters += sign * (line.length + 8);
      jsonCharacters += sign * (filename.length + JSON.stringify(line).length);
    }
  };
  const isOverfull = (): boolean => textCharacters > pageBytes || jsonCharacters > maxAnswerCharacters;
  const isFull = (): boolean => !last && (kept >= limit || isOverfull());
  /** Of the last matches, the oldest makes room. */
  const dropFirst = (): void => {
    const [first] = files;
    if (first === undefined) return;
    const dropped = first.matches.shift();
    if (dropped !== undefined) {
      kept--;
      measure(first.filename, dropped, -1);
    }
    if (first.matches.length > 0 || first === current) return;
    files.shift();
    textCharacters -= first.filename.length + 1;
  };
  return {
    get searched() {
      return searched;
    },
    isFull,
    addName(filename) {
      files.push({ filename, matches: [], count: 0 });
      kept++;
      textCharacters += filename.length + 1;
      jsonCharacters += filename.length;
    },
    begin(filename) {
      searched++;
      current = { filename, matches: [], count: 0 };
      return (match) => {
        hits++;
        if (current.count++ === 0) {
          files.push(current);
          textCharacters += filename.length + 1;
          if (show !== "lines") kept++;
        }
        if (show === "files") return true;
        if (show === "count") return false;
        current.matches.push(match);
        kept++;
        measure(filename, match, 1);
        if (last) { while (kept > 1 && (kept > limit || isOverfull())) dropFirst(); }
        return isFull();
      };
    },
    end(found) {
      if (!found.ok) {
        const entry = passedOver.get(found.error) ?? { count: 0, names: [] };
        passedOver.set(found.error, entry);
        if (entry.count++ < maxPassedOverNames) entry.names.push(current.filename);
        return null;
      }
      return show === "files" && current.count > 0 ? null : found.value.stoppedAfter;
    },
    result: () => {
      if (last) files = files.filter(({ matches }) => show !== "lines" || matches.length > 0);
      return { show, hasContext: context > 0, byName: pattern === null, files, hits, searched, passedOver };
    },
  };
}
