/** Gathers what a search finds, as much of it as an answer holds. */
import type { Result } from "../../lib/result.ts";
import type { PassedOver } from "../text/search_file.ts";
import type { LineMatch } from "../text/search_text.ts";
import { pageBytes } from "./input.ts";

/** What an answer shows: matching lines, files with a match, or matches counted by file or by their text. */
export type SearchShow = "lines" | "files" | "count" | "texts";

/** Characters of an answer as JSON, which repeats a file's name with each line. */
const maxAnswerCharacters = 1_000_000;
/** Names of files that an answer repeats for each reason. */
const maxPassedOverNames = 3;
const maxUnsureLines = 10;
/** Different matched texts that are counted, and characters of each. */
const maxTexts = 1_000;
const maxTextCharacters = 200;

/** A file with matches, or one that was found by its name. */
export interface FoundFile {
  filename: string;
  matches: LineMatch[];
  /** Matching lines, also those that are not kept, and the matches in them. */
  lines: number;
  count: number;
}

/** Files that could not be searched, for one reason. */
interface PassedOverFiles {
  count: number;
  readonly names: string[];
}

/** Lines in which a match may have been missed. */
interface UnsureLines {
  count: number;
  readonly first: { readonly filename: string; readonly line: number }[];
}

/** What a search has come to. */
export interface SearchResult {
  readonly show: SearchShow;
  readonly hasContext: boolean;
  readonly byName: boolean;
  readonly files: readonly FoundFile[];
  /** Files with a match, or of the name, also those that are not kept. */
  readonly found: number;
  readonly lines: number;
  readonly matches: number;
  /** Whether there may be more matches in these lines. */
  readonly isLeast: boolean;
  /** How many matches have which text; `othersCount` of texts beyond the bound, or in lines too long for it. */
  readonly texts: ReadonlyMap<string, number>;
  readonly othersCount: number;
  readonly searched: number;
  readonly passedOver: ReadonlyMap<PassedOver, PassedOverFiles>;
  readonly unsure: UnsureLines;
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
  /** Begins with a file. */
  begin(filename: string): void;
  /** Takes a match of that file; `true` when that is enough of it. */
  addMatch(match: LineMatch): boolean;
  /** Takes a line of that file in which a match may have been missed. */
  addUnsure(line: number): void;
  /** What came of that file: the line at which the whole search stops, or `null` to go on with the next file. */
  end(outcome: Result<{ readonly stoppedAfter: number | null }, PassedOver>): number | null;
  result(): SearchResult;
}

export function createCollector({ limit, context, show, last, pattern }: CollectorOptions): Collector {
  let files: FoundFile[] = [];
  let current: FoundFile = { filename: "", matches: [], lines: 0, count: 0 };
  const texts = new Map<string, number>();
  let [othersCount, isLeast] = [0, false];
  const passedOver = new Map<PassedOver, PassedOverFiles>();
  const unsure: UnsureLines = { count: 0, first: [] };
  let [kept, found, lines, total, searched, textCharacters, jsonCharacters] = [0, 0, 0, 0, 0, 0, 0];
  const countText = (text: string): void => {
    const short = text.length <= maxTextCharacters ? text : `${text.slice(0, maxTextCharacters).toWellFormed()}…`;
    if (texts.size < maxTexts || texts.has(short)) texts.set(short, (texts.get(short) ?? 0) + 1);
    else othersCount++;
  };
  const measure = (filename: string, match: LineMatch, sign: 1 | -1): void => {
    for (const line of [...match.before, match.text, ...match.after]) {
      textCharacters += sign * (line.length + 8);
      jsonCharacters += sign * (filename.length + JSON.stringify(line).length);
    }
  };
  const measureName = (filename: string, sign: 1 | -1): void => {
    textCharacters += sign * (filename.length + 1);
    jsonCharacters += sign * filename.length;
  };
  const isOverfull = (): boolean => textCharacters > pageBytes || jsonCharacters > maxAnswerCharacters;
  const isFull = (): boolean => !last && show !== "texts" && (kept >= limit || isOverfull());
  const hasLines = show === "lines" && pattern !== null;
  const addFile = (file: FoundFile): void => {
    found++;
    if (show === "texts") return;
    files.push(file);
    measureName(file.filename, 1);
    if (!hasLines) kept++;
  };
  /** Of the last matches, the oldest make room. */
  const makeRoom = (): void => {
    while (last && kept > 1 && (kept > limit || isOverfull())) dropFirst();
  };
  const dropFirst = (): void => {
    const [first] = files;
    if (first === undefined) return;
    const dropped = first.matches.shift();
    if (dropped !== undefined) measure(first.filename, dropped, -1);
    if (dropped !== undefined || !hasLines) kept--;
    if (first.matches.length > 0 || first === current) return;
    files.shift();
    measureName(first.filename, -1);
  };
  return {
    get searched() {
      return searched;
    },
    isFull,
    addName(filename) {
      addFile({ filename, matches: [], lines: 0, count: 0 });
      makeRoom();
    },
    begin(filename) {
      searched++;
      if (current.lines > 0) current = { filename, matches: [], lines: 0, count: 0 };
      else current.filename = filename;
    },
    addMatch(match) {
      lines++;
      total += match.found.count;
      isLeast ||= match.found.isLeast === true;
      if (current.lines++ === 0) addFile(current);
      current.count += match.found.count;
      match.texts?.forEach(countText);
      if (show === "texts") othersCount += match.found.count - (match.texts?.length ?? 0);
      if (hasLines) {
        current.matches.push(match);
        kept++;
        measure(current.filename, match, 1);
      }
      makeRoom();
      return show === "files" || (hasLines && isFull());
    },
    addUnsure(line) {
      if (unsure.count++ < maxUnsureLines) unsure.first.push({ filename: current.filename, line });
    },
    end(outcome) {
      if (!outcome.ok) {
        const entry = passedOver.get(outcome.error) ?? { count: 0, names: [] };
        passedOver.set(outcome.error, entry);
        if (entry.count++ < maxPassedOverNames) entry.names.push(current.filename);
        return null;
      }
      return show === "files" && current.lines > 0 ? null : outcome.value.stoppedAfter;
    },
    result: () => {
      if (last) files = files.filter(({ matches }) => !hasLines || matches.length > 0);
      return {
        show,
        hasContext: context > 0,
        byName: pattern === null,
        files,
        found,
        lines,
        matches: total,
        isLeast,
        texts,
        othersCount,
        searched,
        passedOver,
        unsure,
      };
    },
  };
}
