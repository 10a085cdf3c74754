/** The answer of the tool `file_search`, in words and as data. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { createTwinDisplay, showName, showText, toPathText } from "../../workspace/file_display.ts";
import type { Ignored } from "../../workspace/ignored.ts";
import type { PassedOver } from "../../workspace/text/search_file.ts";
import type { LineMatch } from "../../workspace/text/search_text.ts";
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
  { next, tag, isCut, ignored, hint }: {
    /** Where to go on; `null` where the search is done, or cannot be continued. */
    readonly next: SearchCursor | null;
    readonly tag: string;
    readonly isCut: boolean;
    readonly ignored: Ignored | undefined;
    /** What to try where nothing was found. */
    readonly hint: string | null;
  },
): ToolOutcome {
  const { show, hasContext, byName, files, hits, searched, passedOver, unsure } = result;
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
    ...files.map((file) => toLines(file, result, display)),
    ...(files.length === 0 ? [cursor === undefined ? "(nothing found)" : "(nothing found so far)"] : []),
    `(${notice}${more})`,
    ...(isColumned ? ["(…: cut at line:column; file_read NAME:LINE:COLUMN shows more around it)"] : []),
    ...(unsure.count === 0 ? [] : [`(${unsureWords(result)})`]),
    ...(hint === null || hits > 0 || byName ? [] : [`(${hint})`]),
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
        : files.map(({ filename, count }) => ({
          filename: toPathText(filename),
          ...show === "count" && !byName ? { count } : {},
        })),
      ...(byName ? {} : { hits }),
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
      ...(hint === null || hits > 0 || byName ? {} : { hint }),
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

function searchedWords({ hits, files, found: all, searched, passedOver, show }: SearchResult): string {
  const shown = files.reduce((sum, { matches }) => sum + matches.length, 0);
  const found = show !== "lines" && files.length < all
    ? `the last ${files.length} of ${count(all, "file")}`
    : show === "files"
    ? count(all, "file")
    : show === "lines" && shown < hits
    ? `the last ${shown} of ${count(hits, "hit")}`
    : `${count(hits, "hit")} in ${count(all, "file")}`;
  const reasons = Array.from(
    passedOver,
    ([reason, { count: number, names }]) =>
      `${number} ${reasonWords[reason]}: ${names.map(showName).join(", ")}${number > names.length ? ", ..." : ""}`,
  );
  return [`${found}; ${searched} searched`, ...(reasons.length === 0 ? [] : [`passed over: ${reasons.join("; ")}`])]
    .join("; ");
}

function unsureWords({ unsure: { count: all, first } }: SearchResult): string {
  const places = first.map(({ filename, line }) => `${showName(filename)}:${line}`).join(", ");
  return `too long to search whole, a match may be missed: ${count(all, "line")}: ${places}${
    all > first.length ? ", ..." : ""
  }`;
}

function toMatch(
  filename: string,
  { line, column, text, before, after }: LineMatch,
  hasContext: boolean,
): Record<string, unknown> {
  const place = column === undefined ? { line } : { line, column };
  return { filename, ...place, text, ...(hasContext ? { before, after } : {}) };
}

function toLines(
  { filename, matches, count: hits }: FoundFile,
  { show, byName }: SearchResult,
  display: (path: string) => string,
): string {
  const name = display(filename);
  if (byName || show === "files") return name;
  if (show === "count") return `${name}: ${hits}`;
  const lines = [name];
  let shownTo = 0;
  for (const [at, { line, column, text, before, after }] of matches.entries()) {
    const first = line - before.length;
    if (before.length > 0 && shownTo > 0 && first > shownTo + 1) lines.push("--");
    for (const [index, each] of before.entries()) {
      if (first + index > shownTo) lines.push(`${first + index}- ${showText(each)}`);
    }
    lines.push(`${line}${column === undefined ? "" : `:${column}`}: ${showText(text)}`);
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
