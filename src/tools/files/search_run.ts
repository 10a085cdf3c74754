/** The work of the tool `file_search`: walks the tree, searches its files, and remembers where it stopped. */
import type { ToolOutcome } from "../../mcp/tool.ts";
import { createFairTurns, type FairTurns } from "../../workspace/text/fair_turns.ts";
import type { GlobMatcher } from "../../workspace/glob.ts";
import type { LinePattern } from "../../workspace/text/line_pattern.ts";
import { childPath, type WorkspacePath } from "../../workspace/path.ts";
import type { Workspace } from "../../workspace/port.ts";
import type { LineMatch } from "../../workspace/text/search_text.ts";
import { createSearchBuffer, searchFile } from "../../workspace/text/search_file.ts";
import { walk } from "../../workspace/walk.ts";
import type { SearchCursor } from "./cursor.ts";
import { toFailure } from "./refusal.ts";
import { type SearchMatch, toAnswer, toMatch } from "./search_answer.ts";

const maxDepth = 64;

/** One call of the search. */
interface Search {
  readonly workspace: Workspace;
  readonly path: WorkspacePath;
  readonly request: { readonly limit: number; readonly context: number };
  readonly matchesName: GlobMatcher;
  readonly pattern: LinePattern | null;
  readonly cursor: SearchCursor | undefined;
  readonly isOver: () => boolean;
  progress(filesSearched: number): void;
  /** Makes a search that takes long a task, where the caller takes tasks. */
  outlive(): Promise<void> | undefined;
}

const visitsPerCheck = 64;
/** Characters of an answer after which it ends; each line repeats the file's name. */
const maxAnswerCharacters = 1_000_000;

/** Searches until everything was searched, or the limit or the time is reached. */
export async function search(task: Search): Promise<ToolOutcome> {
  const { workspace, path, request, matchesName, pattern, cursor } = task;
  const matches: SearchMatch[] = [];
  const turns = createFairTurns();
  let hasPaused = false;
  const nextTurn: FairTurns = () => turns()?.then(() => void (hasPaused = true));
  const buffer = createSearchBuffer(workspace);
  let characters = 0;
  let searched = 0;
  let passedOver = 0;
  let visited = 0;
  let finished = cursor?.finished;
  let next: SearchCursor | null = null;
  for await (
    const step of walk(workspace, path, {
      depth: maxDepth,
      nextTurn,
      ...finished === undefined ? {} : { after: finished },
    })
  ) {
    if (!step.ok) return toFailure("search", path, step.error);
    const entry = step.value;
    // a caller can only go away while others have their turn
    const isOver = (hasPaused || visited % visitsPerCheck === visitsPerCheck - 1) && task.isOver();
    hasPaused = false;
    const isEnough = matches.length >= request.limit || characters > maxAnswerCharacters;
    if (isEnough || visited === workspace.limits.maxTreeEntries || isOver) {
      next = { finished };
      break;
    }
    visited++;
    if (entry.kind === "file" && matchesName(entry.segments)) {
      const file = childPath(path, entry.segments);
      const filename = file.text;
      if (pattern === null) {
        matches.push({ filename });
        characters += filename.length;
      } else {
        searched++;
        const handingOut = task.outlive();
        if (handingOut !== undefined) await handingOut;
        if (searched % visitsPerCheck === 0) task.progress(searched);
        const resumed = cursor?.partial !== undefined && isSamePath(cursor.partial.segments, entry.segments);
        const afterLine = resumed ? cursor?.partial?.line ?? 0 : 0;
        const pause = nextTurn();
        if (pause !== undefined) await pause;
        let left = request.limit - matches.length;
        const found = await searchFile(workspace, file, {
          pattern,
          contextLines: request.context,
          afterLine,
          isEnough(match) {
            characters += charactersOf(filename, match);
            return --left === 0 || characters > maxAnswerCharacters;
          },
          nextTurn,
          isOver: task.isOver,
          buffer,
        });
        if (found === null) passedOver++;
        else matches.push(...found.matches.map((match) => toMatch(filename, match, request.context > 0)));
        const line = found?.stoppedAfter ?? null;
        if (line !== null) {
          next = { finished, partial: { segments: entry.segments, line } };
          break;
        }
      }
    }
    finished = { segments: entry.segments, isDirectory: entry.kind === "directory" };
  }
  return toAnswer({ matches, searched, passedOver, next });
}

function charactersOf(filename: string, { text, before, after }: LineMatch): number {
  const lines = [...before, text, ...after];
  return lines.reduce((sum, line) => sum + filename.length + JSON.stringify(line).length, 0);
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
