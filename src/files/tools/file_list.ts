/** The tool `file_list`: a directory, a tree, the largest or newest files, what a tree holds, and files that are equal. */
import * as z from "zod";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { clamped, defineTool, emptyIsAbsent, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { createIgnored } from "../workspace/ignored.ts";
import { parseDirectoryPath } from "../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import { maxWalkDepth } from "../workspace/walk.ts";
import { knownAs, listNames } from "./argument_names.ts";
import { cursorInput } from "./input.ts";
import { cursorWords, tagOf, toWalkCursor } from "./cursor.ts";
import { listDuplicates } from "./list_duplicates.ts";
import { listPage } from "./list_page.ts";
import { listSorted } from "./list_sorted.ts";
import { summarize } from "./list_summary.ts";
import { alsoExcluding, matcherOf, skippedOutput } from "./list_walk.ts";
import { inStoredForm, suggestNear, suggestRelative } from "./near_names.ts";
import { readingHints } from "../../mcp/hints.ts";

/** At most 2,000 tokens of a tree with usual names. */
const usualPageEntries = 250;
const maxPageEntries = 10_000;
const maxExcludes = 20;
/** Entries that a sorted listing, a summary or a search for equal files looks at: several times what repositories have. */
const maxTreeVisits = 200_000;

const input = z.lazy(() =>
  z.object({
    path: z.string().default(".").describe("Directory"),
    pattern: z.string().optional().describe("*.txt for names, src/**/*.{ts,js} for paths").meta(emptyIsAbsent),
    exclude: z.array(z.string()).max(maxExcludes).optional().describe("Patterns"),
    depth: z.int().min(1).max(maxWalkDepth).optional().describe("Default 1 for a plain listing, else all").meta(
      clamped,
    ),
    show: z.enum(["names", "details", "summary", "duplicates"]).default("names").describe(
      "details: size, time; summary: files, bytes, lines by extension; duplicates: equal files",
    ),
    sort: z.enum(["name", "size", "modified"]).default("name").describe("Largest or newest first"),
    modified_after: z.string().optional().describe("2026-11-20T09:00Z or later").meta(emptyIsAbsent),
    limit: z.int().min(1).max(maxPageEntries).default(usualPageEntries).describe("Entries").meta(clamped),
    include_ignored: z.boolean().default(false).describe("As in file_search"),
    cursor: cursorInput(),
  })
);

const entry = z.lazy(() =>
  z.object({
    name: z.string().describe("Name, or path below the directory, exactly; escape it before showing it"),
    kind: z.enum(["file", "directory", "link", "other"]),
    size_bytes: z.int().optional(),
    modified_at: z.string().optional(),
  })
);
const output = z.lazy(() =>
  z.object({
    path: z.string().describe("The directory; empty for the workspace itself"),
    entries: z.array(entry).optional(),
    next_cursor: z.string().optional(),
    total: z.int().optional().describe("Entries there are, where they were all looked at"),
    incomplete: z.literal(true).optional().describe("The tree is larger than what was looked at"),
    skipped: skippedOutput.optional().describe("Ignored entries that were passed over"),
    files: z.int().optional(),
    directories: z.int().optional(),
    size_bytes: z.int().optional(),
    lines: z.int().optional(),
    extensions: z.array(
      z.object({ extension: z.string(), files: z.int(), size_bytes: z.int(), lines: z.int().optional() }),
    )
      .optional(),
    duplicates: z.array(z.object({ size_bytes: z.int(), names: z.array(z.string()) })).optional(),
  })
);

interface FileListOptions {
  /** After this time a listing answers with what it has found, and a cursor. */
  readonly maxListMilliseconds?: number;
  readonly maxVisits?: number;
  readonly clock?: Clock;
}

/** Lists directories of the workspace. */
export function fileListTool(
  source: WorkspaceSource,
  { maxListMilliseconds = 10_000, maxVisits = maxTreeVisits, clock = systemClock }: FileListOptions = {},
): Tool {
  return defineTool({
    name: "file_list",
    title: "List files",
    description:
      "Lists a directory, or the tree below it, indented (ls, tree, find, wc): by size, time or name, with " +
      "counts of lines, or only equal files.",
    scopes: ["files:read"],
    annotations: { title: "List files", ...readingHints },
    aliases: listNames(maxPageEntries, maxWalkDepth),
    knownAs: knownAs.list,
    input,
    output,
    async run(request, context) {
      const parsed = parseDirectoryPath(request.path);
      if (!parsed.ok) {
        return await suggestRelative(workspaceOf(source, context.principal), "path", parsed.error, request.path);
      }
      const matches = matcherOf(request.pattern, request.exclude);
      if (matches === null) return invalid("a pattern is empty, too long or has too many alternatives");
      const modifiedAfter = request.modified_after === undefined ? null : Date.parse(request.modified_after);
      if (Number.isNaN(modifiedAfter)) return invalid("modified_after is no date; write it as 2026-11-20T09:00Z");
      const { show, sort, pattern } = request;
      const isPlain = pattern === undefined && modifiedAfter === null && sort === "name" &&
        (show === "names" || show === "details");
      const depth = request.depth ?? (isPlain ? 1 : maxWalkDepth);
      const workspace = workspaceOf(source, context.principal);
      const path = await inStoredForm(workspace, parsed.value);
      const tag = tagOf([path.text, pattern, request.exclude, depth, modifiedAfter, request.include_ignored]);
      const after = request.cursor === undefined ? undefined : toWalkCursor(tag, request.cursor);
      if (typeof after === "string") return invalid(cursorWords(after));
      const deadline = clock() + maxListMilliseconds;
      const listing = {
        workspace,
        path,
        depth,
        limit: Math.min(request.limit, workspace.limits.maxListEntries),
        matches,
        modifiedAfter,
        // a plain listing shows all that there is
        ignored: alsoExcluding(
          depth === 1 || request.include_ignored ? undefined : await createIgnored(workspace, path),
          request.exclude,
        ),
        isOver: () => clock() > deadline || context.signal.aborted,
        maxVisits,
        now: clock(),
      };
      const answer = show === "summary"
        ? await summarize(listing)
        : show === "duplicates"
        ? await listDuplicates(listing)
        : sort !== "name"
        ? await listSorted(listing, sort)
        : await listPage(listing, { details: show === "details" || modifiedAfter !== null, after, tag });
      return await suggestNear(workspace, path, answer);
    },
  });
}

function invalid(words: string): ToolOutcome {
  return { ok: false, code: "invalid_arguments", message: `Failed to list directory: ${words}` };
}
