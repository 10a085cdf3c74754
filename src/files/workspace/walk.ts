/** Walks a directory of any workspace in the order of names, a directory before what is in it; links are not followed. */
import { success } from "../../lib/result.ts";
import { type NextTurn, nextTurn as turnOfThread } from "../../lib/turns.ts";
import { childPath, entryPath, type WorkspacePath } from "./path.ts";
import type { Ignored } from "./ignored.ts";
import type { DirectoryEntry, Eventually, Outcome, Workspace } from "./port.ts";

/** Levels below its start that a walk of a whole tree goes down. */
export const maxWalkDepth = 64;

/** An entry that the walk met. */
export interface WalkedEntry extends DirectoryEntry {
  readonly path: WorkspacePath;
  /** Its names below the directory where the walk began. */
  readonly segments: readonly string[];
  /** `false` when it is the last one; `true` when others may follow. */
  readonly mayHaveNext: boolean;
  /** Passed over, and given all the same after a pause, so that a walk that finds nothing else can be ended. */
  readonly isSkipped: boolean;
}

/** Where a walk goes on: after the entry with these names, and what is in it if it is a directory. */
export interface WalkPosition {
  readonly segments: readonly string[];
  readonly isDirectory: boolean;
}

interface WalkOptions {
  /** 1: only the directory itself. */
  readonly depth: number;
  readonly after?: WalkPosition;
  readonly details?: boolean;
  /** What to pass over. */
  readonly ignored?: Ignored | undefined;
  /** Where the caller wants to know of pauses. */
  readonly nextTurn?: NextTurn;
}

interface OpenDirectory {
  readonly path: WorkspacePath;
  readonly segments: readonly string[];
  /** The name after which to list on. */
  last: string | undefined;
  entries: readonly DirectoryEntry[];
  /** How many of the entries were given. */
  given: number;
  hasMore: boolean;
}

/** How many entries are given before it is asked whether the turn is over: asking takes as long as giving some. */
const visitsPerTurn = 4;

/** A walk that is asked for one entry after the other. */
export interface Walk {
  /** The next entry, at once where its directory is known; `null` at the end. */
  next(): Eventually<Outcome<WalkedEntry> | null>;
}

/** The entries below `path`, as {@link beginWalk} has them. */
export async function* walk(
  workspace: Workspace,
  path: WorkspacePath,
  options: WalkOptions,
): AsyncGenerator<Outcome<WalkedEntry>> {
  const entries = beginWalk(workspace, path, options);
  for (let step; (step = await entries.next()) !== null;) yield step;
}

/**
 * The entries below `path`. What can no longer be listed, because it disappeared or may not be read, counts as empty;
 * only for the directory itself is it a refusal. What the file system fails to list ends the walk.
 */
export function beginWalk(
  workspace: Workspace,
  path: WorkspacePath,
  { depth, after, details = false, ignored, nextTurn = turnOfThread }: WalkOptions,
): Walk {
  const open = (directory: WorkspacePath, segments: readonly string[], last?: string): OpenDirectory => ({
    path: directory,
    segments,
    last,
    entries: [],
    given: 0,
    hasMore: true,
  });
  const stack = after === undefined
    ? [open(path, [])]
    : resume(after, depth, (segments, last) => open(childPath(path, segments), segments, last));
  let hasBegun = false;
  let visited = 0;
  const next = (): Eventually<Outcome<WalkedEntry> | null> => {
    for (let directory; (directory = stack.at(-1)) !== undefined;) {
      const entry = directory.entries[directory.given];
      if (entry !== undefined) {
        directory.given++;
        directory.last = entry.name;
        const own = entryPath(directory.path, entry.name);
        const segments = [...directory.segments, entry.name];
        const isSkipped = ignored?.skips(segments, entry.kind === "directory") ?? false;
        if (!isSkipped && entry.kind === "directory" && segments.length < depth) stack.push(open(own, segments));
        // listings of small directories come at once: without this a long walk would keep everyone else waiting
        const pause = ++visited % visitsPerTurn === 0 ? nextTurn() : undefined;
        if (isSkipped && pause === undefined) continue;
        const step = success({ ...entry, path: own, segments, mayHaveNext: stack.some(isUnfinished), isSkipped });
        return pause === undefined ? step : pause.then(() => step);
      } else if (directory.hasMore) {
        return readOn(directory);
      } else {
        stack.pop();
      }
    }
    return null;
  };
  const readOn = async (directory: OpenDirectory): Promise<Outcome<WalkedEntry> | null> => {
    if (!hasBegun) { for (const { segments } of stack.slice(0, -1)) await ignored?.enter(segments, null); }
    hasBegun = true;
    const { last } = directory;
    const isFirst = directory.entries.length === 0;
    const listing = await workspace.list(directory.path, { details, ...last === undefined ? {} : { after: last } });
    directory.entries = listing.ok ? listing.value.entries : [];
    directory.given = 0;
    directory.hasMore = listing.ok && listing.value.hasMore;
    const isWhole = last === undefined && !directory.hasMore;
    if (isFirst) await ignored?.enter(directory.segments, isWhole ? directory.entries : null);
    const isOver = !listing.ok && (directory.segments.length === 0 || listing.error.reason === "io");
    return isOver ? listing : await next();
  };
  return { next };
}

function isUnfinished({ entries, given, hasMore }: OpenDirectory): boolean {
  return given < entries.length || hasMore;
}

/** The directories that were open when a walk stopped, the innermost last. */
function resume(
  { segments, isDirectory }: WalkPosition,
  depth: number,
  open: (segments: readonly string[], last?: string) => OpenDirectory,
): OpenDirectory[] {
  const stack = segments.slice(0, depth).map((name, level) => open(segments.slice(0, level), name));
  if (isDirectory && segments.length < depth) stack.push(open(segments));
  return stack;
}
