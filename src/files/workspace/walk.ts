/** Walks a directory of any workspace in the order of names, a directory before what is in it; links are not followed. */
import { success } from "../../lib/result.ts";
import { type NextTurn, nextTurn as turnOfThread } from "../../lib/turns.ts";
import { childPath, entryPath, type WorkspacePath } from "./path.ts";
import type { Ignored } from "./ignored.ts";
import type { DirectoryEntry, Outcome, Workspace } from "./port.ts";

/** Levels below its start that a walk of a whole tree goes down. */
export const maxWalkDepth = 64;

/** An entry that the walk met. */
export interface WalkedEntry extends DirectoryEntry {
  readonly path: WorkspacePath;
  /** Its names below the directory where the walk began. */
  readonly segments: readonly string[];
  /** `false` when it is the last one; `true` when others may follow. */
  readonly mayHaveNext: boolean;
  /** A skipped entry, yielded after a pause so that a walk that finds nothing else can be ended. */
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

/**
 * The entries below `path`. What can no longer be listed, because it disappeared or may not be read, counts as empty;
 * only for the directory itself is it a refusal. What the file system fails to list ends the walk.
 */
export async function* walk(
  workspace: Workspace,
  path: WorkspacePath,
  { depth, after, details = false, ignored, nextTurn = turnOfThread }: WalkOptions,
): AsyncGenerator<Outcome<WalkedEntry>> {
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
  for (const { segments } of stack.slice(0, -1)) await ignored?.enter(segments, null);
  let visited = 0;
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
      if (pause !== undefined) await pause;
      yield success({ ...entry, path: own, segments, mayHaveNext: stack.some(isUnfinished), isSkipped });
    } else if (directory.hasMore) {
      const refused = await readOn(workspace, directory, details, ignored);
      if (refused !== null) return yield refused;
    } else {
      stack.pop();
    }
  }
}

/** Reads the next entries of a directory; gives the refusal that ends the walk. */
async function readOn(
  workspace: Workspace,
  directory: OpenDirectory,
  details: boolean,
  ignored: Ignored | undefined,
): Promise<Outcome<never> | null> {
  const { last, segments } = directory;
  const isFirst = directory.entries.length === 0;
  const listing = await workspace.list(directory.path, { details, ...last === undefined ? {} : { after: last } });
  directory.entries = listing.ok ? listing.value.entries : [];
  directory.given = 0;
  directory.hasMore = listing.ok && listing.value.hasMore;
  const isWhole = last === undefined && !directory.hasMore;
  if (isFirst) await ignored?.enter(segments, isWhole ? directory.entries : null);
  return !listing.ok && (segments.length === 0 || listing.error.reason === "io") ? listing : null;
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
