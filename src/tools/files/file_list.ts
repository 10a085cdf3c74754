/** The tool `file_list`: the entries of a directory, or of a tree by name. */
import { z } from "zod";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { defineTool, type Tool, type ToolOutcome } from "../../mcp/tool.ts";
import { type GlobMatcher, parseGlob } from "../../workspace/glob.ts";
import { parseDirectoryPath, type WorkspacePath } from "../../workspace/path.ts";
import { type Workspace, workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { walk, type WalkedEntry, type WalkPosition } from "../../workspace/walk.ts";
import { toWalkCursor, toWalkCursorText } from "./cursor.ts";
import { showName } from "../../workspace/file_display.ts";
import { toTimestamp } from "./input.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

const maxDepth = 64;
const usualPageEntries = 1000;
const maxPageEntries = 10_000;
const visitsPerCheck = 256;
/** Characters of names as JSON, after which a page ends: names may be long, and hold characters that JSON escapes. */
const maxPageCharacters = 1_000_000;

const input = z.object({
  path: z.string().default(".").describe("The directory's path in the workspace; the workspace itself if absent"),
  pattern: z.string().optional().describe(
    "Only entries that match: *.txt for names at any depth, src/**/*.{ts,js} for paths below the directory",
  ),
  depth: z.int().min(1).max(maxDepth).optional().describe("How many levels to list; 1 if absent, all with a pattern"),
  details: z.boolean().default(false).describe("Also sizes and times of change"),
  limit: z.int().min(1).max(maxPageEntries).default(usualPageEntries).describe("How many entries to give at most"),
  cursor: z.string().optional().describe("Continue an earlier listing: its next_cursor"),
});
type Input = z.output<typeof input>;

const output = z.object({
  path: z.string().describe("The directory's path in the workspace; empty for the workspace itself"),
  entries: z.array(z.object({
    name: z.string().describe(
      "The entry's name, or its path below the directory, exactly; escape it before showing it",
    ),
    kind: z.enum(["file", "directory", "link", "other"]).describe("What the entry is"),
    size_bytes: z.int().optional().describe("A file's size"),
    modified_at: z.string().optional().describe("When it was last changed (ISO 8601)"),
  })).describe("The entries, sorted by name"),
  next_cursor: z.string().optional().describe("There is more: call again with this cursor"),
});

interface FileListOptions {
  /** After this time a listing gives what it has found, and a cursor. Default 10,000. */
  readonly maxListMilliseconds?: number;
  readonly clock?: Clock;
}

/** Lists directories of the workspace. */
export function fileListTool(
  source: WorkspaceSource,
  { maxListMilliseconds = 10_000, clock = systemClock }: FileListOptions = {},
): Tool {
  return defineTool({
    name: "file_list",
    title: "List files",
    description: "Lists a directory of the workspace, or the tree below it, sorted by name and in pages. " +
      "Names of directories end in a slash; links are shown without their target.",
    scopes: ["files:read"],
    annotations: { title: "List files", readOnlyHint: true, openWorldHint: false },
    input,
    output,
    async run(request, context) {
      const path = parseDirectoryPath(request.path);
      if (!path.ok) return toPathFailure("path", path.error);
      const matches = request.pattern === undefined ? () => true : parseGlob(request.pattern);
      if (matches === null) return invalid("the pattern is empty, too long or has too many alternatives");
      const after = request.cursor === undefined ? undefined : toWalkCursor(request.cursor);
      if (after === null) return invalid("the cursor is not one of an earlier result");
      const deadline = clock() + maxListMilliseconds;
      const isOver = (): boolean => clock() > deadline || context.signal.aborted;
      return await listTree(workspaceOf(source, context.principal), path.value, request, matches, after, isOver);
    },
  });
}

async function listTree(
  workspace: Workspace,
  path: WorkspacePath,
  { pattern, depth = pattern === undefined ? 1 : maxDepth, details, limit }: Input,
  matches: GlobMatcher,
  after: WalkPosition | undefined,
  isOver: () => boolean,
): Promise<ToolOutcome> {
  const wanted = Math.min(limit, workspace.limits.maxListEntries);
  const found: WalkedEntry[] = [];
  let visited = 0;
  let characters = 0;
  let last: WalkPosition | undefined;
  let isCut = false;
  for await (const step of walk(workspace, path, { depth, details, ...after === undefined ? {} : { after } })) {
    if (!step.ok) return toFailure("list directory", path, step.error);
    visited++;
    const { segments, kind, mayHaveNext } = step.value;
    last = { segments, isDirectory: kind === "directory" };
    if (matches(segments)) {
      found.push(step.value);
      characters += JSON.stringify(segments).length;
    }
    const isEnough = found.length === wanted || characters > maxPageCharacters ||
      visited === workspace.limits.maxTreeEntries;
    // asked for now and then only: short listings never pay for a signal
    if (isEnough || (visited % visitsPerCheck === 0 && isOver())) {
      isCut = mayHaveNext;
      break;
    }
  }
  const nextCursor = isCut && last !== undefined ? toWalkCursorText(last) : undefined;
  const lines = found.map(toLine);
  if (found.length === 0) lines.push(isCut ? "(none so far)" : "(no entries)");
  if (nextCursor !== undefined) lines.push(`(there is more; go on with cursor ${nextCursor})`);
  return {
    ok: true,
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: {
      path: path.text,
      entries: found.map(toEntry),
      ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
    },
  };
}

function toEntry({ segments, kind, sizeBytes, modifiedAt }: WalkedEntry): Record<string, unknown> {
  const entry: Record<string, unknown> = { name: segments.join("/"), kind };
  if (sizeBytes !== undefined) entry["size_bytes"] = sizeBytes;
  if (modifiedAt !== undefined) entry["modified_at"] = toTimestamp(modifiedAt);
  return entry;
}

function toLine({ segments, kind, sizeBytes, modifiedAt }: WalkedEntry): string {
  const shown = showName(segments.join("/"));
  const facts: string[] = [];
  if (sizeBytes !== undefined) facts.push(`${sizeBytes} bytes`);
  if (modifiedAt !== undefined) facts.push(toTimestamp(modifiedAt));
  const details = facts.length === 0 ? "" : `  [${facts.join(", ")}]`;
  switch (kind) {
    case "file":
      return `${shown}${details}`;
    case "directory":
      return `${shown}/${details}`;
    case "link":
      return `${shown} (link)${details}`;
    case "other":
      return `${shown} (pipe, socket or device)${details}`;
  }
}

function invalid(words: string): ToolOutcome {
  return { ok: false, code: "invalid_arguments", message: `Failed to list directory: ${words}` };
}
