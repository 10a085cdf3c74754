/** The work of the tool `file_search`: goes through the files, searches them, and remembers where it stopped. */
import { success } from "../../lib/result.ts";
import type { ToolOutcome } from "../../mcp/mod.ts";
import type { GlobMatcher } from "../workspace/glob.ts";
import type { Ignored } from "../workspace/ignored.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, Workspace } from "../workspace/port.ts";
import { type NextTurn, nextTurn as turnOfThread } from "../../lib/turns.ts";
import { escapeExpression } from "../text/finder.ts";
import type { LinePattern, LineQuery } from "../text/line_pattern.ts";
import { createSearchBuffer, searchFile } from "../text/search_file.ts";
import { maxWalkDepth, walk, type WalkedEntry } from "../workspace/walk.ts";
import type { SearchCursor } from "./input.ts";
import type { Notice } from "./list_walk.ts";
import { toFailure } from "./refusal.ts";
import { createCollector, type SearchShow, toAnswer } from "./search_answer.ts";
import { showWritten } from "../workspace/file_display.ts";

const filesPerProgress = 64;
/** A file in which nothing can match takes some microseconds; the search of others asks for its turn itself. */
const visitsPerTurn = 16;

/** One call of the search. */
interface SearchRun {
  readonly workspace: Workspace;
  /** A directory, or the one file to search. */
  readonly path: WorkspacePath;
  readonly isFile: boolean;
  readonly limit: number;
  readonly context: number;
  readonly show: SearchShow;
  /** The last matches instead of the first. */
  readonly last: boolean;
  readonly newestFirst: boolean;
  readonly matchesName: GlobMatcher;
  /** Of the one file: the lines to search. */
  readonly lines: { readonly first: number; readonly last: number };
  /** `null`: files are found by their names alone. */
  readonly pattern: LinePattern | null;
  readonly cursor: SearchCursor | undefined;
  /** Of the cursor to go on with. */
  readonly tag: string;
  /** What to try where nothing is found. */
  readonly hint: Notice | null;
  readonly ignored: Ignored | undefined;
  readonly isOver: () => boolean;
  progress(filesSearched: number): void;
  /** Makes a search that takes long a task, where the caller takes tasks. */
  outlive(): Promise<void> | undefined;
}

/** Searches until everything was searched, or the limit or the time is reached. */
export async function search(task: SearchRun): Promise<ToolOutcome> {
  const { workspace, pattern, cursor, path } = task;
  const collector = createCollector(task);
  let hasPaused = false;
  const nextTurn: NextTurn = () => turnOfThread()?.then(() => void (hasPaused = true));
  const buffer = createSearchBuffer(workspace);
  let visited = 0;
  let finished = cursor?.finished;
  let next: SearchCursor | null = null;
  let isTreeCut = false;
  const steps = candidates(task, nextTurn, () => isTreeCut = true);
  let isPast = false; // a match beyond the last line
  for await (const step of steps) {
    if (!step.ok) return toFailure("search", path, step.error);
    const entry = step.value;
    const file = fileOf(task, entry);
    // a caller can only go away while others have their turn
    const isTime = hasPaused || visited % visitsPerTurn === visitsPerTurn - 1;
    const isOver = isTime && task.isOver();
    hasPaused = false;
    if (collector.isFull() || visited === workspace.limits.maxTreeEntries || isOver) {
      next = { finished };
      break;
    }
    visited++;
    if (file !== null && pattern === null) collector.addName(file.text);
    else if (file !== null && pattern !== null) {
      const pause = isTime ? task.outlive() ?? nextTurn() : undefined;
      if (pause !== undefined) await pause;
      if (collector.searched % filesPerProgress === 0) task.progress(collector.searched);
      collector.begin(file.text);
      const resumed = cursor?.partial !== undefined && isSamePath(cursor.partial.segments, entry.segments);
      const searched = await searchFile(workspace, file, buffer, {
        pattern,
        counts: task.show === "files" ? "none" : task.show === "texts" ? "texts" : "all",
        contextLines: task.show === "lines" ? task.context : 0,
        afterLine: resumed ? cursor?.partial?.line ?? 0 : task.lines.first - 1,
        onMatch: (match) => (isPast = match.line > task.lines.last) || collector.addMatch(match),
        onUnsure: collector.addUnsure,
        nextTurn,
        isOver: task.isOver,
        mayStopAtOnce: collector.searched > 1,
      });
      const line = collector.end(searched);
      if (line !== null && !isPast) {
        next = { finished, ...line === 0 ? {} : { partial: { segments: entry.segments, line } } };
        break;
      }
    }
    finished = { segments: entry.segments, isDirectory: entry.kind === "directory" && !entry.isSkipped };
  }
  // an order other than that of names has no place to go on from
  const canGoOn = task.show !== "texts" && !task.newestFirst && !task.last &&
    !(next?.finished === undefined && next?.partial === undefined);
  return toAnswer(collector.result(), {
    next: canGoOn ? next : null,
    isCut: next !== null || isTreeCut,
    ignored: task.ignored,
    tag: task.tag,
    hint: task.hint,
    limit: task.limit,
  });
}

/** Where a file lies that is to be searched, or found by its name. */
function fileOf({ matchesName }: SearchRun, { kind, path, segments, isSkipped }: WalkedEntry): WorkspacePath | null {
  return kind === "file" && !isSkipped && matchesName(segments) ? path : null;
}

/** The files in the order of names or, newest first, of time. */
async function* candidates(
  task: SearchRun,
  nextTurn: NextTurn,
  onCut: () => void,
): AsyncGenerator<Outcome<WalkedEntry>> {
  const { workspace, path, isFile, newestFirst: details, ignored, cursor } = task;
  if (isFile) {
    const name = path.segments.at(-1) ?? "";
    return yield success({ name, kind: "file", path, segments: [name], mayHaveNext: false, isSkipped: false });
  }
  const after = cursor?.finished === undefined ? {} : { after: cursor.finished };
  const walked = walk(workspace, path, { depth: maxWalkDepth, nextTurn, details, ignored, ...after });
  if (!details) return yield* walked;
  const entries: WalkedEntry[] = [];
  for await (const step of walked) {
    if (!step.ok) return yield step;
    if (fileOf(task, step.value) !== null) entries.push(step.value);
    if (entries.length < workspace.limits.maxTreeEntries && !task.isOver()) continue;
    if (step.value.mayHaveNext) onCut();
    break;
  }
  yield* entries.sort((one, other) => (other.modifiedAt ?? 0) - (one.modifiedAt ?? 0)).map(success);
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

/** What plain text seldom holds, and expressions do: `a|b`, `.*`, `\d`, `\.`, `[a-z]`, `x{2}`, `(?i)`, `^x`, `x$`. */
const expressionLike = [
  /[^\s|]\|[^\s|]/,
  /[.)\]][*+?]/,
  /\\[bdswBDSW.()[\]{}|+*?^$]/,
  /\\[tr](?!\w)/,
  /\[[^\]\s]*(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)/,
  /\{\d+,?\d*\}/,
  /\(\?/,
  /^\^./,
  /.\$$/,
];

// What names files: `*.ts`, `src/**/*.{ts,js}`.
const patternLike = /^[\w./*-]*\*\.[\w*{},.-]+$/;

/** `/x/i`, as in other languages. */
const slashed = /^\/(.+)\/([dgimsuvy]*)$/;
/** What is a line end alone, as `\n`, or wants to go over one, as `(?s)`; plain text may be a path, as `C:\new`. */
const lineEnds = /(?<!\\)(?:\\\\)*\\(?:n|x0a)|\(\?[imU]*s[imU]*[:)]/i;
const plainLineEnds = /\\n(?!\w)/;
const mayBeLineEnd = /\\[sDSW]|\[\^/;
const byLine = "each line is searched separately: search for one of its lines, with context for those around it";

/** To be shown where nothing was found; `null` where the query says what it means. */
export function hintFor(query: string, { regex }: { readonly regex: boolean }): Notice | null {
  const [, inner = "", flags = ""] = slashed.exec(query) ?? [];
  const isLikeOne = (text: string): boolean => expressionLike.some((sign) => sign.test(text));
  if (inner !== "" && (regex || flags !== "" || isLikeOne(inner))) {
    const caseless = flags.includes("i") ? ", ignore_case: true" : "";
    return remedy(`write the expression without slashes: query ${showWritten(inner)}, regex: true${caseless}`);
  }
  if ((regex ? lineEnds : plainLineEnds).test(query)) return remedy(byLine);
  if (!regex && isLikeOne(query)) return remedy("searched as plain text; pass regex: true for an expression");
  if (!regex) {
    return patternLike.test(query) ? remedy(`give ${showWritten(query)} as pattern to find files by name`) : null;
  }
  if (query.includes("\\|")) return remedy("in RE2 \\| is a plain |; write | for alternatives");
  return mayBeLineEnd.test(query) ? { words: byLine, isRemedy: false } : null;
}

function remedy(words: string): Notice {
  return { words, isRemedy: true };
}

/** The query but for what slips: case, straight and curly quotes, dashes, whole words; `null` where it has none of these. */
export function relaxedQuery(
  query: string,
  { regex, ignore_case: ignoreCase, whole_word: wholeWord, mayHaveOtherCase }: {
    readonly regex: boolean;
    readonly ignore_case: boolean;
    readonly whole_word: boolean;
    readonly mayHaveOtherCase: boolean;
  },
): LineQuery | null {
  if (regex) return null;
  const text = escapeExpression(query).replace(/['‘’‚′]/g, "['‘’‚′]").replace(/["“”„″]/g, '["“”„″]')
    .replace(/[-‐‑‒–—−]/g, "[-‐‑‒–—−]");
  const hasSigns = /['‘’‚′"“”„″‐‑‒–—−-]/.test(query);
  const hasCase = !ignoreCase && mayHaveOtherCase && query.toLowerCase() !== query.toUpperCase();
  return hasSigns || hasCase || wholeWord ? { text, isRegularExpression: true, ignoreCase: true } : null;
}
