/** The tool `file_search`: files by their names, and lines by what is in them. */
import { z } from "zod";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { parseGlob } from "../../workspace/glob.ts";
import { createLinePattern, type LinePattern, type LineQueryRefusal } from "../../workspace/text/line_pattern.ts";
import { parseDirectoryPath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { toSearchCursor } from "./cursor.ts";
import { showName } from "../../workspace/file_display.ts";
import { untrustedOutput } from "./input.ts";
import { toPathFailure } from "./refusal.ts";
import { search } from "./search_run.ts";

const input = z.object({
  query: z.string().optional().describe("The text to find in files; without it files are found by name alone"),
  pattern: z.string().optional().describe(
    "Only files that match: *.md for names, src/**/*.{ts,js} for paths below path",
  ),
  path: z.string().default(".").describe("The directory to search; the whole workspace if absent"),
  regex: z.boolean().default(false).describe("query is a regular expression (RE2 syntax), matched line by line"),
  ignore_case: z.boolean().default(false).describe("Capital and small letters are the same"),
  context: z.int().min(0).max(10).default(0).describe("How many lines to show before and after each match"),
  limit: z.int().min(1).max(1000).default(100).describe("How many matches to give at most"),
  cursor: z.string().optional().describe("Continue an earlier search: its next_cursor"),
});

interface FileSearchOptions {
  /** After this time a search gives what it has found, and a cursor. Default 10,000. */
  readonly maxSearchMilliseconds?: number;
  /** A search that takes longer goes on as a task, where the caller takes tasks. Default 1,000. */
  readonly handOutAfterMilliseconds?: number;
  readonly clock?: Clock;
}

export function fileSearchTool(
  source: WorkspaceSource,
  { maxSearchMilliseconds = 10_000, handOutAfterMilliseconds = 1_000, clock = systemClock }: FileSearchOptions = {},
): Tool {
  return defineTool({
    name: "file_search",
    title: "Search files",
    description:
      "Finds files of the workspace by name pattern, and lines in them by plain text or a regular expression. " +
      "Binary files are passed over and links are not followed.",
    scopes: ["files:read"],
    annotations: { title: "Search files", readOnlyHint: true, openWorldHint: false },
    input,
    output: z.object({
      matches: z.array(z.object({
        filename: z.string().describe("The file's path in the workspace, exactly; escape it before showing it"),
        line: z.int().optional().describe("The number of the line, from 1"),
        text: z.string().optional().describe("The line; long ones are cut"),
        before: z.array(z.string()).optional().describe("The lines before"),
        after: z.array(z.string()).optional().describe("The lines after"),
      })).describe("What was found, in the order of names"),
      files_searched: z.int().describe("How many files were looked at in this call"),
      files_passed_over: z.int().describe("How many were binary, too large or unreadable"),
      next_cursor: z.string().optional().describe("There may be more: call again with this cursor"),
      untrusted: untrustedOutput,
    }),
    async run(request, context) {
      const path = parseDirectoryPath(request.path);
      if (!path.ok) return toPathFailure("path", path.error, request.path);
      if (request.query === undefined && request.pattern === undefined) return invalid("give query, pattern or both");
      const matchesName = request.pattern === undefined ? () => true : parseGlob(request.pattern);
      if (matchesName === null) return invalid("the pattern is empty, too long or has too many alternatives");
      const cursor = request.cursor === undefined ? undefined : toSearchCursor(request.cursor);
      if (cursor === null) return invalid("the cursor is not one of an earlier result");
      let pattern: LinePattern | null = null;
      if (request.query !== undefined) {
        const query = { text: request.query, isRegularExpression: request.regex, ignoreCase: request.ignore_case };
        const created = await createLinePattern(query);
        if (!created.ok) return invalid(queryWords(created.error));
        pattern = created.value;
      }
      const started = clock();
      const deadline = started + maxSearchMilliseconds;
      let isHandedOut = false;
      return await search({
        workspace: workspaceOf(source, context.principal),
        path: path.value,
        request,
        matchesName,
        pattern,
        cursor,
        isOver: () => clock() > deadline || context.signal.aborted,
        progress: (progress) => context.progress({ progress }),
        outlive() {
          if (isHandedOut || clock() - started < handOutAfterMilliseconds) return undefined;
          isHandedOut = true;
          return context.handOut();
        },
      });
    },
  });
}

function queryWords(refusal: LineQueryRefusal): string {
  switch (refusal.reason) {
    case "empty":
      return "query is empty";
    case "too_long":
      return "query is too long: 1000 characters of plain text, 250 with regex or ignore_case";
    case "several_lines":
      return "query holds a line end; files are searched line by line";
    case "too_complex":
      return "query is too complex; use fewer or smaller repetitions";
    case "invalid_expression":
      return `query is no regular expression in RE2 syntax: ${showName(refusal.detail)}`;
  }
}

function invalid(words: string): ToolOutcome {
  return { ok: false, code: "invalid_arguments", message: `Failed to search: ${words}` };
}
