/** A page of a directory or tree for `file_list`, in the order of names, as an indented tree. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { createTwinDisplay, showName, toPathText } from "../workspace/file_display.ts";
import { walk, type WalkedEntry, type WalkPosition } from "../workspace/walk.ts";
import { toWalkCursorText } from "./cursor.ts";
import { pageBytes } from "./input.ts";
import { isWanted, skippedParts, toEntry, toTreeLine, type TreeListing } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";

const visitsPerCheck = 32;
/** Characters of paths as JSON, after which a page ends: a tree's line has one name, and an entry its whole path. */
const maxPageCharacters = 1_000_000;

/** Lists from the beginning, or from where a page ended, until the page is full. */
export async function listPage(
  listing: TreeListing,
  { details, after, tag }: {
    readonly details: boolean;
    readonly after: WalkPosition | undefined;
    /** Of the cursor to go on with. */
    readonly tag: string;
  },
): Promise<ToolOutcome> {
  const { workspace, path, depth, limit, ignored, isOver } = listing;
  const tree = createTree(listing.now);
  const found: WalkedEntry[] = [];
  let visited = 0;
  let characters = 0;
  let last: WalkPosition | undefined;
  let isCut = false;
  for await (
    const step of walk(workspace, path, { depth, details, ignored, ...after === undefined ? {} : { after } })
  ) {
    if (!step.ok) return toFailure("list directory", path, step.error);
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
    if (isEnough || (visited % visitsPerCheck === 0 && isOver())) {
      isCut = mayHaveNext;
      break;
    }
  }
  const twins = createTwinDisplay(found.map(({ segments }) => segments.join("/")));
  const shown = twins === null ? tree : createTree(listing.now, twins);
  if (shown !== tree) found.forEach(shown.add);
  const nextCursor = isCut && last !== undefined ? toWalkCursorText(tag, last) : undefined;
  const skipped = skippedParts(ignored);
  const none = isCut ? "(none so far)" : "(no entries)";
  const lines = [
    ...(found.length === 0 ? [none] : shown.lines),
    ...skipped.lines,
    ...(nextCursor === undefined ? [] : [`(there is more; go on with cursor ${nextCursor})`]),
  ];
  return {
    ok: true,
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: {
      path: toPathText(path.text),
      entries: found.map(toEntry),
      ...skipped.facts,
      ...nextCursor === undefined ? {} : { next_cursor: nextCursor },
    },
  };
}

/** Lines of a tree: an entry's name below the lines of the directories that lead to it. */
function createTree(now: number, display = (_path: string, name: string): string => showName(name)): {
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
      const parents = segments.slice(0, -1);
      let shared = 0;
      while (shared < parents.length && open[shared] === parents[shared]) shared++;
      for (const [level, name] of parents.entries()) {
        if (level >= shared) push(`${"  ".repeat(level)}${display(parents.slice(0, level + 1).join("/"), name)}/`);
      }
      const indent = "  ".repeat(parents.length);
      push(`${indent}${toTreeLine(entry, display(segments.join("/"), segments.at(-1) ?? ""), now)}`);
      open = kind === "directory" ? segments : parents;
    },
  };
}
