/** The tool `file_list`: a directory, a tree, the largest or newest files, what a tree holds, and files that are equal. */
import * as z from "zod";
import { clamped, defineTool, emptyIsAbsent, type Tool, type ToolOutcome } from "../../mcp/mod.ts";
import { createTwinDisplay, showName, toPathText } from "../workspace/file_display.ts";
import { maxWalkDepth, walk, type WalkedEntry, type WalkPosition } from "../workspace/walk.ts";
import {
  cursorWords,
  pageBytes,
  patternInput,
  tagOf,
  textAnswer,
  toWalkCursor,
  toWalkCursorText,
  walkInput,
} from "./input.ts";
import {
  createNamePatterns,
  fitPage,
  isWanted,
  skippedOutput,
  skippedParts,
  toEntry,
  toLine,
  toTreeLine,
  type TreeListing,
  visitsPerCheck,
  visitWanted,
  wholeTreeAnswer,
  withNotices,
} from "./list_walk.ts";
import { refuse, toFailure } from "./refusal.ts";
import { type Clock, systemClock } from "../../lib/time.ts";
import { createIgnored } from "../workspace/ignored.ts";
import { childPath, parseDirectoryPath, rootPath, type WorkspacePath } from "../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../workspace/port.ts";
import { toolFrames } from "./argument_names.ts";
import { listDuplicates, summarize } from "./list_summary.ts";
import { findPath, suggestNear } from "./near_names.ts";

/** At most 2,000 tokens of a tree with usual names. */
const usualPageEntries = 250;
const maxPageEntries = 10_000;
const action = "list directory";
/** Entries that a sorted listing, a summary or a search for equal files looks at: several times what repositories have. */
const maxTreeVisits = 200_000;

const input = z.lazy(() =>
  z.object({
    path: z.string().default(".").describe("Directory, or one file"),
    ...patternInput(),
    depth: z.int().min(1).max(maxWalkDepth).optional().describe("Default 1 for a plain listing, else all").meta(
      clamped,
    ),
    show: z.enum(["names", "details", "bytes", "summary", "duplicates"]).default("names").describe(
      "details: size, time; bytes: exact size; summary: files, bytes, lines by extension; duplicates: equal files",
    ),
    sort: z.enum(["name", "size", "modified"]).default("name").describe("Largest or newest first"),
    modified_after: z.string().optional().describe("2026-11-20T09:00Z or later").meta(emptyIsAbsent),
    limit: z.int().min(1).max(maxPageEntries).default(usualPageEntries).describe("Entries").meta(clamped),
    ...walkInput(),
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
    skipped: skippedOutput.optional().describe("Ignored entries that were skipped"),
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

/** The tool that `app` registers to list directories and trees; a page ends with a cursor. */
export function fileListTool(
  source: WorkspaceSource,
  { maxListMilliseconds = 10_000, maxVisits = maxTreeVisits, clock = systemClock }: FileListOptions = {},
): Tool {
  return defineTool({
    ...toolFrames.list(maxPageEntries, maxWalkDepth),
    description:
      "Lists a directory, or the tree below it, indented (ls, tree, find, wc): by size, time or name, with " +
      "counts of lines, or only equal files.",
    input,
    output,
    async run(request, context) {
      const workspace = workspaceOf(source, context.principal);
      const found = await findPath(workspace, "path", request.path, { parse: parseDirectoryPath });
      if (!found.ok) return found.error;
      const modifiedAfter = request.modified_after === undefined ? null : Date.parse(request.modified_after);
      if (Number.isNaN(modifiedAfter)) {
        return refuse(action, "modified_after is no date; write it as 2026-11-20T09:00Z");
      }
      const { show, sort, pattern } = request;
      const { value: given } = found;
      const isFile = given.text !== "" && await isFileAt(workspace, given);
      const isDetailed = show === "details" || show === "bytes";
      const isPlain = pattern === undefined && modifiedAfter === null && sort === "name" &&
        (show === "names" || isDetailed);
      const depth = isFile ? 1 : request.depth ?? (isPlain ? 1 : maxWalkDepth);
      const path = isFile ? childPath(rootPath, given.segments.slice(0, -1)) : given;
      const patterns = createNamePatterns(path, isFile ? {} : request);
      if (patterns === null) return refuse(action, "a pattern is empty, too long or has too many alternatives");
      const tag = tagOf([given.text, pattern, request.exclude, depth, modifiedAfter, request.include_ignored]);
      const after = request.cursor === undefined ? undefined : toWalkCursor(tag, request.cursor);
      if (typeof after === "string") return refuse(action, cursorWords(after));
      const deadline = clock() + maxListMilliseconds;
      const listing = {
        workspace,
        path,
        depth,
        limit: Math.min(request.limit, workspace.limits.maxListEntries),
        matches: isFile ? ([name]: readonly string[]) => name === given.segments.at(-1) : patterns.matches,
        hasDirectoriesOnly: !isFile && pattern?.endsWith("/") === true,
        isFlat: pattern !== undefined && !/^[*/]+$/.test(pattern),
        isExact: show === "bytes",
        modifiedAfter,
        // a plain listing shows all that there is
        ignored: patterns.alsoExcluding(
          depth === 1 || request.include_ignored ? undefined : await createIgnored(workspace, path),
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
        : await listPage(listing, { details: isDetailed || modifiedAfter !== null, after, tag });
      const isWhole = answer.ok && !("next_cursor" in (answer.structuredContent ?? {})) && request.cursor === undefined;
      return await suggestNear(workspace, path, isWhole ? withNotices(answer, patterns.notices()) : answer);
    },
  });
}

async function isFileAt(workspace: Workspace, path: WorkspacePath): Promise<boolean> {
  const there = await workspace.stat(path);
  return there.ok && there.value.kind === "file";
}

/** Characters of paths as JSON, after which a page ends: a tree's line has one name, and an entry its whole path. */
const maxPageCharacters = 1_000_000;

/** Lists from the beginning, or from where a page ended, until the page is full. */
async function listPage(
  listing: TreeListing,
  { details, after, tag }: {
    readonly details: boolean;
    readonly after: WalkPosition | undefined;
    /** Of the cursor to go on with. */
    readonly tag: string;
  },
): Promise<ToolOutcome> {
  const { workspace, path, depth, limit, ignored, isOver } = listing;
  const tree = createTree(listing);
  const found: WalkedEntry[] = [];
  let visited = 0;
  let characters = 0;
  let last: WalkPosition | undefined;
  let isCut = false;
  for await (
    const step of walk(workspace, path, { depth, details, ignored, ...after === undefined ? {} : { after } })
  ) {
    if (!step.ok) return toFailure(action, path, step.error);
    visited++;
    const { segments, kind, mayHaveNext, isSkipped } = step.value;
    last = { segments, isDirectory: kind === "directory" && !isSkipped };
    if (isWanted(listing, step.value)) {
      found.push(step.value);
      tree.add(step.value);
      characters += JSON.stringify(segments).length;
    }
    const isEnough = found.length === limit || tree.characters > pageBytes || characters > maxPageCharacters ||
      visited === workspace.limits.maxTreeEntries;
    // asked for now and then only: short listings never pay for a signal
    if (isEnough || ((isSkipped || visited % visitsPerCheck === 0) && isOver())) {
      isCut = mayHaveNext;
      break;
    }
  }
  const twins = createTwinDisplay(found.map(({ segments }) => segments.join("/")));
  const shown = twins === null ? tree : createTree(listing, twins);
  if (shown !== tree) found.forEach(shown.add);
  const nextCursor = isCut && last !== undefined ? toWalkCursorText(tag, last) : undefined;
  const skipped = skippedParts(ignored);
  const none = isCut ? "(none so far)" : "(no entries)";
  const lines = [
    ...(found.length === 0 ? [none] : shown.lines),
    ...skipped.lines,
    ...(nextCursor === undefined ? [] : [`(there is more: continue with cursor ${nextCursor})`]),
  ];
  return textAnswer(lines.join("\n"), {
    path: toPathText(path.text),
    entries: found.map(toEntry),
    ...skipped.facts,
    ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
  });
}

/** Lines of a tree: an entry's name below the lines of the directories that lead to it. */
function createTree(
  { path, isFlat, ...form }: TreeListing,
  display = (_path: string, name: string): string => showName(name),
): {
  readonly lines: readonly string[];
  readonly characters: number;
  add(entry: WalkedEntry): void;
} {
  const lines: string[] = [];
  let characters = 0;
  let open: readonly string[] = [];
  const push = (line: string): void => {
    lines.push(line);
    characters += line.length + 1;
  };
  return {
    lines,
    get characters() {
      return characters;
    },
    add(entry) {
      const { segments, kind } = entry;
      if (isFlat) return push(toTreeLine(entry, display(segments.join("/"), childPath(path, segments).text), form));
      const parents = segments.slice(0, -1);
      let shared = 0;
      while (shared < parents.length && open[shared] === parents[shared]) shared++;
      for (const [level, name] of parents.entries()) {
        if (level >= shared) push(`${"  ".repeat(level)}${display(parents.slice(0, level + 1).join("/"), name)}/`);
      }
      const indent = "  ".repeat(parents.length);
      push(`${indent}${toTreeLine(entry, display(segments.join("/"), segments.at(-1) ?? ""), form)}`);
      open = kind === "directory" ? segments : parents;
    },
  };
}

/** Entries held beyond the shown ones before sorting. */
const maxUnsorted = 5_000;

/** Lists the first of the tree's entries in this order. By size, only files count. */
async function listSorted(listing: TreeListing, sort: "size" | "modified"): Promise<ToolOutcome> {
  const key = sort === "size"
    ? ({ sizeBytes = 0 }: WalkedEntry) => sizeBytes
    : ({ modifiedAt = 0 }: WalkedEntry) => modifiedAt;
  let total = 0;
  let first: WalkedEntry[] = [];
  const keepFirst = (): void => {
    first = first.sort((one, other) => key(other) - key(one)).slice(0, listing.limit);
  };
  const visited = await visitWanted(listing, (entry) => {
    if (sort === "size" && entry.kind !== "file") return;
    total++;
    if (first.push(entry) >= listing.limit + maxUnsorted) keepFirst();
  });
  if (!visited.ok) return toFailure(action, listing.path, visited.error);
  keepFirst();
  const lines = fitPage(first.map((entry) => toLine(entry, entry.segments.join("/"), listing.isExact)));
  const shown = lines.length;
  return wholeTreeAnswer(listing, {
    lines: [
      ...(shown === 0 ? ["(no entries)"] : lines),
      ...(shown < total ? [`(the first ${shown} of ${total})`] : []),
    ],
    facts: { entries: first.slice(0, shown).map(toEntry) },
    total,
    cut: visited.value,
  });
}
