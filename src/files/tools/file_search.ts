/** The tool `file_search`: files by their names, and lines by what is in them. */
import * as z from "zod";
import { loadOnce } from "../../lib/program.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { clamped, defineTool, emptyIsAbsent, readingHints, type Tool } from "../../mcp/mod.ts";
import { createIgnored } from "../workspace/ignored.ts";
import type { LinePattern, LineQueryRefusal } from "../text/line_pattern.ts";
import { parseDirectoryPath, type WorkspacePath } from "../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import { argumentNames, knownAs } from "./argument_names.ts";
import { cursorWords, tagOf, toSearchCursor, untrustedOutput } from "./input.ts";
import { showName, showText } from "../workspace/file_display.ts";
import { createNamePatterns, patternInput, skippedOutput, walkInput, withNotices } from "./list_walk.ts";
import { parseNamedParts } from "./read_text.ts";
import { inStoredForm, suggestNear, suggestRelative } from "./near_names.ts";
import { refuse, toFailure } from "./refusal.ts";

const action = "search";
/** Texts that a line must hold or must not hold, and characters of each. */
const maxTexts = 10;
const maxTextCharacters = 200;
/** Hits of one answer. */
const maxHits = 1000;

const input = z.lazy(() =>
  z.object({
    query: z.string().optional().describe("Text in a line; absent to find files by pattern").meta({
      ...emptyIsAbsent,
      written: "text",
    }),
    regex: z.boolean().default(false).describe("RE2 syntax, one line at a time"),
    path: z.string().default(".").describe("Directory or file, also a.ts:10-50"),
    ...patternInput(),
    all: z.array(z.string().min(1).max(maxTextCharacters)).max(maxTexts).optional().describe(
      "The line must hold these, too",
    ),
    without: z.array(z.string().min(1).max(maxTextCharacters)).max(maxTexts).optional().describe(
      "The line must hold none",
    ),
    ignore_case: z.boolean().default(false).describe("Any case"),
    whole_word: z.boolean().default(false).describe("Not in longer words"),
    show: z.enum(["lines", "files", "count", "texts"]).default("lines").describe(
      "files: names; count: matches by file; texts: how often which text matched",
    ),
    context: z.int().min(0).max(10).default(0).describe("Lines around").meta(clamped),
    last: z.boolean().default(false).describe("The last lines, not the first"),
    newest_first: z.boolean().default(false).describe("Newest files first").meta({ unlisted: true }),
    limit: z.int().min(1).max(maxHits).default(100).describe("Lines, or files").meta(clamped),
    ...walkInput(),
  })
);

/** What a cursor goes with. */
const queryParts = [
  ...["query", "regex", "pattern", "exclude", "all", "without", "ignore_case", "whole_word"] as const,
  ...["last", "newest_first", "include_ignored"] as const,
];

const output = z.lazy(() =>
  z.object({
    matches: z.array(z.object({
      filename: z.string().describe("Path in the workspace, exactly; escape it before showing it"),
      line: z.int().optional().describe("From 1"),
      column: z.int().optional().describe("Of a line that is cut: the match's first character, from 1"),
      text: z.string().optional().describe("The line; a long one is cut around the match"),
      before: z.array(z.string()).optional(),
      after: z.array(z.string()).optional(),
      count: z.int().optional().describe("Matches in the line or file"),
      lines: z.int().optional(),
      columns: z.array(z.int()).optional().describe("Where further matches of a long line begin"),
    })),
    lines: z.int().optional().describe("Lines that match"),
    hits: z.int().optional().describe("Matches in them, if counted"),
    texts: z.array(z.object({ text: z.string(), count: z.int() })).optional(),
    files_searched: z.int(),
    files_passed_over: z.int(),
    passed_over: z.array(z.object({ reason: z.string(), count: z.int(), filenames: z.array(z.string()) })).optional(),
    partly_searched: z.array(z.object({ filename: z.string(), line: z.int() })).optional(),
    hint: z.string().optional(),
    skipped: skippedOutput.optional(),
    next_cursor: z.string().optional(),
    untrusted: untrustedOutput(),
  })
);

interface FileSearchOptions {
  /** After this time a search gives what it has found, and a cursor. Default 10,000. */
  readonly maxSearchMilliseconds?: number;
  /** A search that takes longer goes on as a task, where the caller takes tasks. Default 1,000. */
  readonly handOutAfterMilliseconds?: number;
  readonly clock?: Clock;
}

const loadSearch = loadOnce(async () => ({
  ...await import("../text/line_pattern.ts"),
  ...await import("./search_run.ts"),
}));

/** The tool that `app` registers to find lines and names. Its engine is loaded by the first search. */
export function fileSearchTool(
  source: WorkspaceSource,
  { maxSearchMilliseconds = 10_000, handOutAfterMilliseconds = 1_000, clock = systemClock }: FileSearchOptions = {},
): Tool {
  return defineTool({
    name: "file_search",
    title: "Search files",
    description:
      "Finds lines by text or regular expression, grouped by file (grep), or files by name (find). Says what it " +
      "skipped, and why.",
    scopes: ["files:read"],
    annotations: { title: "Search files", ...readingHints },
    aliases: argumentNames.search(maxHits),
    knownAs: knownAs.search,
    input,
    output,
    async run(request, context) {
      const parsed = parseDirectoryPath(request.path);
      if (!parsed.ok) {
        return await suggestRelative(workspaceOf(source, context.principal), "path", parsed.error, request.path);
      }
      if (
        [request.query, request.pattern, request.all?.[0], request.without?.[0]].every((each) => each === undefined)
      ) {
        const again = request.cursor === undefined ? "" : "; a cursor goes with the arguments of the call that gave it";
        return refuse(action, `give query, pattern or both${again}`);
      }
      const { createLinePattern, filterLines, hintFor, relaxedQuery, search } = await loadSearch();
      const { all = [], without = [], ignore_case: ignoreCase } = request;
      // lines that need not hold a text are all there are
      const isQuery = request.query !== undefined;
      const query = request.query ?? all[0] ?? (without.length === 0 ? undefined : "^");
      let pattern: LinePattern | null = null;
      if (query !== undefined) {
        const created = await createLinePattern({
          text: query,
          isRegularExpression: isQuery ? request.regex : query === "^" && all.length === 0,
          ignoreCase,
          wholeWord: request.whole_word,
        });
        if (!created.ok) return refuse(action, queryWords(created.error));
        pattern = filterLines(created.value, { all, without, ignoreCase });
      }
      const workspace = workspaceOf(source, context.principal);
      const { path, lines } = await findLines(workspace, await inStoredForm(workspace, parsed.value));
      const patterns = createNamePatterns(path, { ...request, name: request.query });
      if (patterns === null) return refuse(action, "a pattern is empty, too long or has too many alternatives");
      const there = path.text === "" ? null : await workspace.stat(path);
      if (there !== null && !there.ok) {
        return await suggestNear(workspace, path, toFailure(action, path, there.error));
      }
      const isFile = there?.value.kind === "file";
      const tag = tagOf([parsed.value.text, ...queryParts.map((part) => request[part])]);
      const cursor = request.cursor === undefined ? undefined : toSearchCursor(tag, request.cursor);
      if (typeof cursor === "string") return refuse(action, cursorWords(cursor));
      const started = clock();
      const deadline = started + maxSearchMilliseconds;
      let isHandedOut = false;
      const task = {
        workspace,
        path,
        isFile,
        limit: request.limit,
        context: request.context,
        show: request.show,
        last: request.last,
        newestFirst: request.newest_first,
        matchesName: isFile ? () => true : patterns.matches,
        lines,
        pattern,
        cursor,
        tag,
        hint: request.query === undefined ? null : hintFor(request.query, request),
        ignored: patterns.alsoExcluding(
          isFile || request.include_ignored ? undefined : await createIgnored(workspace, path),
        ),
        isOver: () => clock() > deadline || context.signal.aborted,
        progress: (progress: number) => context.progress({ progress }),
        outlive() {
          if (isHandedOut || clock() - started < handOutAfterMilliseconds) return undefined;
          isHandedOut = true;
          return context.handOut();
        },
      };
      const outcome = await search(task);
      const { matches = [], lines: found, next_cursor: next } = outcome.ok ? outcome.structuredContent as Found : {};
      if (!outcome.ok || next !== undefined || cursor !== undefined) return outcome;
      if (matches.length > 0 || (found ?? 0) > 0) return withNotices(outcome, isFile ? [] : patterns.excludeNotices());
      const notices = isFile ? [] : patterns.notices();
      const relaxed = request.query === undefined
        ? null
        : relaxedQuery(request.query, { ...request, mayHaveOtherCase: pattern?.hasOtherCase !== false });
      const almost = relaxed === null ? null : await createLinePattern(relaxed);
      if (almost?.ok) {
        const ignored = isFile || request.include_ignored ? undefined : await createIgnored(workspace, path);
        const again = {
          pattern: almost.value,
          ignored: patterns.alsoExcluding(ignored),
          limit: 1,
          show: "lines",
        } as const;
        const near = await search({ ...task, ...again, context: 0, last: false, newestFirst: false });
        const [first] = near.ok ? (near.structuredContent as Found).matches ?? [] : [];
        if (first !== undefined) {
          const words = `but for case, quotes, dashes or longer words it is at ${
            showName(first.filename)
          }:${first.line}`;
          notices.push({ words, isRemedy: true });
        }
      }
      return withNotices(outcome, notices);
    },
  });
}

/** What is looked at of a search's own answer. */
interface Found {
  readonly matches?: readonly { readonly filename: string; readonly line?: number }[];
  readonly lines?: number;
  readonly next_cursor?: string;
}

/** Lines of one file, from 1. */
interface Lines {
  readonly first: number;
  readonly last: number;
}

const allLines: Lines = { first: 1, last: Infinity };

/** The path, or the file and the lines in it that the end of the path names: `src/a.ts:10-50`. */
async function findLines(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ readonly path: WorkspacePath; readonly lines: Lines }> {
  const named = parseNamedParts(path.text).find(({ lines }) => lines.startLine !== undefined && !lines.characters);
  const file = named === undefined ? null : parseDirectoryPath(named.filename);
  if (named === undefined || !file?.ok || (await workspace.stat(path)).ok) return { path, lines: allLines };
  return { path: file.value, lines: { first: named.lines.startLine ?? 1, last: named.lines.endLine ?? Infinity } };
}

function queryWords(refusal: LineQueryRefusal): string {
  switch (refusal.reason) {
    case "empty":
      return "query is empty";
    case "too_long":
      return "query is too long: 1000 characters of plain text, 250 with regex or ignore_case";
    case "several_lines":
      return "query holds a line end; search for one of its lines, with context for those around it";
    case "too_complex":
      return "query is too complex; use fewer or smaller repetitions";
    case "invalid_expression":
      return `query is no regular expression in RE2 syntax, which has no look-around and no backreferences: ${
        showText(refusal.detail)
      }; leave out regex to search for it as plain text`;
  }
}
