/** The answer of the tool `file_search`, in words and as data. */
import type { Result } from "../../lib/result.ts";
import type { LineMatch, MatchCount, PassedOver } from "../text/search_file.ts";
import { count, pageBytes, type SearchCursor, type SearchRequest, textAnswer, toSearchCursorText } from "./input.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import { createTwinDisplay, showName, showText, toPathText } from "../workspace/path.ts";
import type { Ignored } from "../workspace/walk.ts";
import { type Notice, skippedParts } from "./list_walk.ts";
import { present } from "../../lib/json.ts";

/** Characters of an answer as JSON, which repeats a file's name with each line. */
const maxAnswerCharacters = 1_000_000;
/** Names of files that an answer repeats for each reason. */
const maxPassedOverNames = 3;
const maxUnsureLines = 10;
/** In a directory that few look at. */
const hidden = /(?:^|\/)(?:\.[^/]+|node_modules)\//;
/** Different matched texts that are told apart, at twice as many the rare ones make room, and characters of each. */
const maxTexts = 1_000;
const maxTextCharacters = 200;

/** A file with matches, or one that was found by its name. */
interface FoundFile {
  filename: string;
  matches: LineMatch[];
  /** All matching lines, kept or not, and the matches in them. */
  lines: number;
  count: number;
}

/** What a search has come to. */
type SearchState = ReturnType<typeof createCollector>["state"];

export function createCollector({ limit, context, show, last }: SearchRequest, pattern: object | null) {
  const state = {
    show,
    hasContext: context > 0,
    byName: pattern === null,
    files: new Array<FoundFile>(),
    /** All files with a match, or of the name, kept or not. */
    found: 0,
    /** All matching lines, and the matches in them; `isLeast`: there may be more. */
    lines: 0,
    matches: 0,
    isLeast: false,
    /** How many matches have which text, and how many more of it may have been dropped before. */
    texts: new Map<string, { count: number; readonly dropped: number }>(),
    /** How many matches of one text may have been dropped: rare texts make room. */
    dropped: 0,
    searched: 0,
    /** Files that could not be searched, by reason. */
    passedOver: new Map<PassedOver, { count: number; readonly names: string[] }>(),
    /** Lines in which a match may have been missed. */
    unsure: { count: 0, first: new Array<{ readonly filename: string; readonly line: number }>() },
  };
  let current: FoundFile = { filename: "", matches: [], lines: 0, count: 0 };
  let [kept, textCharacters, jsonCharacters] = [0, 0, 0];
  const addText = (text: string): void => {
    const { texts } = state;
    const short = text.length <= maxTextCharacters ? text : `${text.slice(0, maxTextCharacters).toWellFormed()}…`;
    const known = texts.get(short) ?? { count: 0, dropped: state.dropped };
    known.count++;
    texts.set(short, known);
    if (texts.size <= 2 * maxTexts) return;
    // by the most that each may come to: else a text that is seldom, but all along, is dropped again and again
    const atMost = Array.from(texts, ([text, { count, dropped }]) => [text, count + dropped] as const);
    for (const [text, most] of atMost.sort(([, one], [, other]) => other - one).slice(maxTexts)) {
      texts.delete(text);
      state.dropped = Math.max(state.dropped, most);
    }
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
    state.found++;
    if (show === "texts") return;
    state.files.push(file);
    measureName(file.filename, 1);
    if (!hasLines) kept++;
  };
  /** Of the last matches, the oldest make room. */
  const makeRoom = (): void => {
    while (last && kept > 1 && (kept > limit || isOverfull())) dropFirst();
  };
  const dropFirst = (): void => {
    const [first] = state.files;
    if (first === undefined) return;
    const dropped = first.matches.shift();
    if (dropped !== undefined) measure(first.filename, dropped, -1);
    if (dropped !== undefined || !hasLines) kept--;
    if (first.matches.length > 0 || first === current) return;
    state.files.shift();
    measureName(first.filename, -1);
  };
  return {
    state,
    /** Whether the answer holds no more. */
    isFull,
    addName(filename: string): void {
      addFile({ filename, matches: [], lines: 0, count: 0 });
      makeRoom();
    },
    /** Begins with a file. */
    begin(filename: string): void {
      state.searched++;
      if (current.lines > 0) current = { filename, matches: [], lines: 0, count: 0 };
      else current.filename = filename;
    },
    addText,
    /** Takes a match of that file; `true` when that is enough of it. */
    addMatch(match: LineMatch): boolean {
      state.lines++;
      state.matches += match.found.count;
      state.isLeast ||= match.found.isLeast;
      if (current.lines++ === 0) addFile(current);
      current.count += match.found.count;
      if (hasLines) {
        current.matches.push(match);
        kept++;
        measure(current.filename, match, 1);
      }
      makeRoom();
      return show === "files" || (hasLines && isFull());
    },
    /** Takes a line of that file in which a match may have been missed. */
    addUnsure(line: number): void {
      if (state.unsure.count++ < maxUnsureLines) state.unsure.first.push({ filename: current.filename, line });
    },
    /** What came of that file: the line at which the whole search stops, or `null` to go on with the next file. */
    end(outcome: Result<{ readonly stoppedAfter: number | null }, PassedOver>): number | null {
      if (outcome.ok) return show === "files" && current.lines > 0 ? null : outcome.value.stoppedAfter;
      if (outcome.error === "document") state.searched--; // not even opened
      const entry = state.passedOver.get(outcome.error) ?? { count: 0, names: [] };
      state.passedOver.set(outcome.error, entry);
      if (entry.count++ < maxPassedOverNames) entry.names.push(current.filename);
      else if (!hidden.test(current.filename)) { // what matters first
        const at = entry.names.findIndex((name) => hidden.test(name));
        if (at !== -1) entry.names.splice(at, 1, current.filename);
      }
      return null;
    },
  };
}

const reasonWords: Readonly<Record<PassedOver, string>> = {
  binary: "binary",
  too_large: "too large",
  hard_link: "with names outside (hard links)",
  unreadable: "unreadable",
  document: "documents (name them by pattern, such as **/*.pdf, to have all read)",
};

/** Lines grouped by file, then what was searched and what was not. */
export function toAnswer(
  state: SearchState,
  { next, tag, isCut, ignored, hint, limit }: {
    readonly limit: number;
    /** Where to go on; `null` where the search is done, or cannot be continued. */
    readonly next: SearchCursor | null;
    readonly tag: string;
    readonly isCut: boolean;
    readonly ignored: Ignored | undefined;
    /** What to try where nothing was found. */
    readonly hint: Notice | null;
  },
): ToolOutcome {
  const { show, hasContext, byName, lines: all, matches, searched, passedOver, unsure } = state;
  const hasLines = show === "lines" && !byName;
  const files = state.files = state.files.filter((file) => !hasLines || file.matches.length > 0); // the last one may have none
  const isNone = files.length === 0 && all === 0;
  const display = createTwinDisplay(files.map(({ filename }) => filename)) ?? showName;
  const cursor = next === null ? undefined : toSearchCursorText(tag, next);
  const said = hint === null || all > 0 || byName ? null : hint;
  // where nothing was found, it may be in any of these
  const skipped = skippedParts(ignored, said?.isRemedy !== true, isNone ? Infinity : undefined);
  const notice = byName ? foundWords(state) : searchedWords(state);
  const more = cursor !== undefined
    ? `; there may be more: continue with cursor ${cursor}`
    : isCut
    ? "; there may be more: name a directory, or raise limit"
    : "";
  const isColumned = files.some((file) => file.matches.some(({ column }) => column !== undefined));
  const texts = Array.from(state.texts, ([text, { count }]) => [text, count] as const);
  const most = texts.sort(([, one], [, other]) => other - one).slice(0, limit);
  const others = state.dropped > 0 ? "(other texts, and earlier ones of these)" : "(other texts)";
  const otherTexts = matches - most.reduce((sum, [, count]) => sum + count, 0);
  const lines = [
    ...(show === "texts"
      ? [...most, ...otherTexts === 0 ? [] : [[others, otherTexts] as const]]
        .map(([text, count]) => `${count}: ${showText(text)}`)
      : files.map((file) => toLines(file, state, display))),
    ...(isNone ? [cursor === undefined ? "(nothing found)" : "(nothing found so far)"] : []),
    `(${notice}${more})`,
    ...(isColumned ? ["(…: cut at line:column; file_read NAME:LINE:COLUMN shows more around it)"] : []),
    ...(unsure.count === 0 ? [] : [`(${unsureWords(state)})`]),
    ...(said === null ? [] : [`(${said.words})`]),
    ...skipped.lines,
  ];
  return textAnswer(
    lines.join("\n"),
    present({
      matches: hasLines
        ? files.flatMap((file) => file.matches.map((match) => toMatch(toPathText(file.filename), match, hasContext)))
        : files.map(({ filename, count, lines }) => ({
          filename: toPathText(filename),
          ...show === "count" && !byName ? { count, lines } : {},
        })),
      lines: byName ? undefined : all,
      hits: byName ? undefined : matches,
      texts: show === "texts" ? most.map(([text, count]) => ({ text, count })) : undefined,
      files_searched: searched,
      files_passed_over: passedOver.values().reduce((sum, { count }) => sum + count, 0),
      passed_over: passedOver.size === 0 ? undefined : Array.from(
        passedOver,
        ([reason, { count, names }]) => ({ reason, count, filenames: names.map(toPathText) }),
      ),
      partly_searched: unsure.count === 0
        ? undefined
        : unsure.first.map(({ filename, line }) => ({ filename: toPathText(filename), line })),
      hint: said?.words,
      ...skipped.facts,
      next_cursor: cursor,
      untrusted: true,
    }),
  );
}

/** Other tools call the text that they search for a pattern. */
function foundWords({ files, found }: SearchState): string {
  const words = files.length < found ? `the last ${files.length} of ${count(found, "file")}` : count(found, "file");
  return `${words} found${found === 0 ? "; pattern is for names, query for text" : ""}`;
}

function searchedWords(state: SearchState): string {
  const { lines, files, found: all, searched, passedOver, show } = state;
  const shown = files.reduce((sum, { matches }) => sum + matches.length, 0);
  const isLast = show === "lines" ? shown < lines : show !== "texts" && files.length < all;
  const found = show === "files"
    ? `${isLast ? `the last ${files.length} of ` : ""}${count(all, "file")}`
    : `${isLast ? `the last ${show === "lines" ? shown : count(files.length, "file")} of ` : ""}${
      matchWords(state)
    } in ${count(all, "file")}`;
  // where something was found, few ask for what was not looked at
  const reasons = Array.from(passedOver, ([reason, { count: number, names }]) => {
    const named = names.slice(0, lines > 0 ? 1 : names.length).map(showName);
    return `${number} ${reasonWords[reason]}: ${named.join(", ")}${number > named.length ? ", ..." : ""}`;
  });
  return [`${found}; ${searched} searched`, ...(reasons.length === 0 ? [] : [`skipped: ${reasons.join("; ")}`])]
    .join("; ");
}

/** Lines that match, and the matches in them where these are more. */
function matchWords({ lines, matches, isLeast }: Pick<SearchState, "lines" | "matches" | "isLeast">): string {
  if (matches === lines && !isLeast) return count(lines, "line");
  return `${count(lines, "line")}, ${isLeast ? "at least " : ""}${count(matches, "match", "matches")}`;
}

function unsureWords({ unsure: { count: all, first } }: SearchState): string {
  const places = first.map(({ filename, line }) => `${showName(filename)}:${line}`).join(", ");
  return `too long to search whole, a match may be missed: ${count(all, "line")}: ${places}${
    all > first.length ? ", ..." : ""
  }`;
}

function toMatch(
  filename: string,
  { line, column, text, before, after, found: { count, columns } }: LineMatch,
  hasContext: boolean,
): Record<string, unknown> {
  return present({
    filename,
    line,
    column,
    text,
    count: count === 1 ? undefined : count,
    columns: columns.length === 0 ? undefined : columns,
    ...hasContext ? { before, after } : {},
  });
}

function toLines(
  { filename, matches, lines: found, count: all }: FoundFile,
  { show, byName }: SearchState,
  display: (path: string) => string,
): string {
  const name = display(filename);
  if (byName || show === "files") return name;
  if (show === "count") return `${name}: ${all}${all === found ? "" : ` (${count(found, "line")})`}`;
  const lines = [name];
  let shownTo = 0;
  for (const [at, { line, column, text, before, after, found }] of matches.entries()) {
    const first = line - before.length;
    if (before.length > 0 && shownTo > 0 && first > shownTo + 1) lines.push("--");
    for (const [index, each] of before.entries()) {
      if (first + index > shownTo) lines.push(`${first + index}- ${showText(each)}`);
    }
    lines.push(`${line}${column === undefined ? "" : `:${column}`}: ${showText(text)}${placesWords(found)}`);
    shownTo = line;
    const nextMatch = matches[at + 1]?.line ?? Infinity;
    for (const [index, each] of after.entries()) {
      if (line + 1 + index >= nextMatch) break;
      lines.push(`${line + 1 + index}- ${showText(each)}`);
      shownTo = line + 1 + index;
    }
  }
  return lines.join("\n");
}

/** The matches of a long line after the first. */
function placesWords({ count: all, isLeast, columns }: MatchCount): string {
  if (columns.length === 0) return "";
  const more = all > columns.length + 1 ? `, ... ${isLeast ? "at least " : ""}${all} in all` : "";
  return ` (also at ${columns.map((column) => `:${column}`).join(", ")}${more})`;
}
