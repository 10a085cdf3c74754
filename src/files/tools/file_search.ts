/** The tool `file_search`: files by their names, and lines by what is in them. */
import * as z from "zod";
import { lazyObject } from "../../lib/lazy_object.ts";
import { loadOnce } from "../../lib/program.ts";
import { systemClock } from "../../lib/time.ts";
import { defineTool, type Tool } from "../../mcp/mod.ts";
import { createDocuments } from "../documents/reading.ts";
import type { WorkspaceSource } from "../workspace/port.ts";
import type { SearchOptions } from "./search_run.ts";
import { toolFrames } from "./argument_names.ts";
import { maxHits, searchInput, untrustedOutput } from "./input.ts";
import { skippedOutput } from "./list_walk.ts";

const output = lazyObject(() => ({
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
  unread_directories: z.array(z.string()).optional(),
  next_cursor: z.string().optional(),
  untrusted: untrustedOutput(),
}));

const loadSearch = loadOnce(() => import("./search_run.ts"));

/** The tool that `app` registers to find lines and names. Its engine is loaded by the first search. */
export function fileSearchTool(
  source: WorkspaceSource,
  {
    maxSearchMilliseconds = 10_000,
    toolMilliseconds = Infinity,
    handOutAfterMilliseconds = 1_000,
    clock = systemClock,
    documents = createDocuments(),
  }: Partial<SearchOptions> & { /** How long a call may take. */ readonly toolMilliseconds?: number } = {},
): Tool {
  return defineTool({
    ...toolFrames.search(maxHits),
    description:
      "Finds lines, in documents too, by text or regular expression (grep), or files by name (find). Says what it skipped.",
    input: searchInput,
    output,
    async run(request, context) {
      const { searchFiles } = await loadSearch();
      const ownMilliseconds = Math.min(maxSearchMilliseconds, toolMilliseconds);
      const options = { maxSearchMilliseconds: ownMilliseconds, handOutAfterMilliseconds, clock, documents };
      return await searchFiles(source, request, context, options);
    },
  });
}
