/** The answer of the tool `file_search`, in words and as data. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { createTwinDisplay, showName, showText, toPathText } from "../workspace/file_display.ts";
import type { Ignored } from "../workspace/ignored.ts";
import type { PassedOver } from "../text/search_file.ts";
import type { MatchCount } from "../text/match_count.ts";
import type { LineMatch } from "../text/search_text.ts";
import { type SearchCursor, toSearchCursorText } from "./cursor.ts";
import { count } from "./input.ts";
import { skippedParts } from "./list_walk.ts";
import type { FoundFile, SearchResult } from "./search_matches.ts";

const reasonWords: Readonly<Record<PassedOver, string>> = {
  binary: "binary",
  too_large: "too large",
  hard_link: "with several names (hard links)",
  unreadable: "unreadable",
};

/** Lines grouped by file, then what was searched and what was not. */
export function toAnswer(
  result: SearchResult,
  { next, tag, isCut, ignored, hint, limit }: {
    readonly limit: number;
    /** Where to go on; `null` where the search is done, or cannot be continued. */
    readonly next: SearchCursor | null;
    readonly tag: string;
    readonly isCut: boolean;
    readonly ignored: Ignored | undefined;
    /** What to try where nothing was found. */
    readonly hint: string | null;
  },
): ToolOutcome {
  const { show, hasContext, byName, files, lines: all, matches, searched, passedOver, unsure } = result;
  const display = createTwinDisplay(files.map(({ filename }) => filename)) ?? showName;
  const cursor = next === null ? undefined : toSearchCursorText(tag, next);
  const skipped = skippedParts(ignored);
  const notice = byName ? foundWords(result) : searchedWords(result);
  const more = cursor !== undefined
    ? `; there may be more: go on with cursor ${cursor}`
    : isCut
    ? "; there may be more: name a directory, or raise limit"
    : "";
  const isColumned = files.some(({ matches }) => matches.some(({ column }) => column !== undefined));
  const lines = [
    ...(show === "texts" ? toTextLines(result, limit) : files.map((file) => toLines(file, result, display))),
    ...(files.length === 0 && all === 0 ? [cursor === undefined ? "(nothing found)" : "(nothing found so far)"] : []),
    `(${notice}${more})`,
    ...(isColumned ? ["(…: cut at line:column; file_read NAME:LINE:COLUMN shows more around it)"] : []),
    ...(unsure.count === 0 ? [] : [`(${unsureWords(result)})`]),
    ...(hint === null || all > 0 || byName ? [] : [`(${hint})`]),
    ...skipped.lines,
  ];
  const total = [...passedOver.values()].reduce((sum, each) => sum + each.count, 0);
  return {
    ok: true,
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: {
      matches: show === "lines" && !byName
        ? files.flatMap(({ filename, matches }) =>
          matches.map((match) => toMatch(toPathText(filename), match, hasContext))
        )
        : files.map(({ filename, count, lines }) => ({
          filename: toPathText(filename),
          ...show === "count" && !byName ? { count, lines } : {},
        })),
      ...(byName ? {} : { lines: all, hits: matches }),
      ...(show === "texts" ? { texts: mostOf(result, limit).map(([text, count]) => ({ text, count })) } : {}),
      files_searched: searched,
      files_passed_over: total,
      ...(total === 0 ? {} : {
        passed_over: Array.from(
          passedOver,
          ([reason, each]) => ({ reason, count: each.count, filenames: each.names.map(toPathText) }),
        ),
      }),
      ...(unsure.count === 0 ? {} : {
        partly_searched: unsure.first.map(({ filename, line }) => ({ filename: toPathText(filename), line })),
      }),
      ...(hint === null || all > 0 || byName ? {} : { hint }),
      ...skipped.facts,
      ...(cursor === undefined ? {} : { next_cursor: cursor }),
      untrusted: true,
    },
  };
}

/** Other tools call the text that they search for a pattern. */
function foundWords({ files, found }: SearchResult): string {
  const words = files.length < found ? `the last ${files.length} of ${count(found, "file")}` : count(found, "file");
  return `${words} found${found === 0 ? "; pattern is for names, query for text" : ""}`;
}

function searchedWords(result: SearchResult): string {
  const { lines, files, found: all, searched, passedOver, show } = result;
  const shown = files.reduce((sum, { matches }) => sum + matches.length, 0);
  const isLast = show === "lines" ? shown < lines : show !== "texts" && files.length < all;
  const found = show === "files"
    ? `${isLast ? `the last ${files.length} of ` : ""}${count(all, "file")}`
    : `${isLast ? `the last ${show === "lines" ? shown : count(files.length, "file")} of ` : ""}${
      matchWords(result)
    } in ${count(all, "file")}`;
  const reasons = Array.from(
    passedOver,
    ([reason, { count: number, names }]) =>
      `${number} ${reasonWords[reason]}: ${names.map(showName).join(", ")}${number > names.length ? ", ..." : ""}`,
  );
  return [`${found}; ${searched} searched`, ...(reasons.length === 0 ? [] : [`passed over: ${reasons.join("; ")}`])]
    .join("; ");
}

/** Lines that match, and the matches in them where these are more. */
function matchWords({ lines, matches, isLeast }: Pick<SearchResult, "lines" | "matches" | "isLeast">): string {
  if (matches === lines && !isLeast) return count(lines, "line");
  return `${count(lines, "line")}, ${isLeast ? "at least " : ""}${count(matches, "match", "matches")}`;
}

/** The texts that match most often. */
function mostOf({ texts }: SearchResult, limit: number): readonly (readonly [string, number])[] {
  return [...texts].sort(([, one], [, other]) => other - one).slice(0, limit);
}

function toTextLines(result: SearchResult, limit: number): readonly string[] {
  const most = mostOf(result, limit);
  const others = result.matches - most.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...most.map(([text, count]) => `${count}: ${showText(text)}`),
    ...(others === 0 ? [] : [`${others}: (other texts)`]),
  ];
}

function unsureWords({ unsure: { count: all, first } }: SearchResult): string {
  const places = first.map(({ filename, line }) => `${showName(filename)}:${line}`).join(", ");
  return `too long to search whole, a match may be missed: ${count(all, "line")}: ${places}${
    all > first.length ? ", ..." : ""
  }`;
}

function toMatch(
  filename: string,
  { line, column, text, before, after, found: { count, columns = [] } }: LineMatch,
  hasContext: boolean,
): Record<string, unknown> {
  const place = column === undefined ? { line } : { line, column };
  const places = columns.length === 0 ? {} : { columns };
  return {
    filename,
    ...place,
    text,
    ...count === 1 ? {} : { count },
    ...places,
    ...(hasContext ? { before, after } : {}),
  };
}

function toLines(
  { filename, matches, lines: found, count: all }: FoundFile,
  { show, byName }: SearchResult,
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
function placesWords({ count: all, isLeast, columns = [] }: MatchCount): string {
  if (columns.length === 0) return "";
  const more = all > columns.length + 1 ? `, ... ${isLeast ? "at least " : ""}${all} in all` : "";
  return ` (also at ${columns.map((column) => `:${column}`).join(", ")}${more})`;
}
