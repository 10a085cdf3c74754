/**
 * Walks a directory of any workspace in the order of names, a directory before what is in it; links are not followed.
 * Beneath: what a walk passes over, and the patterns that say so.
 */
import { type NextTurn, nextTurn as turnOfThread } from "../../lib/turns.ts";
import type { DirectoryEntry, Outcome, Workspace } from "./port.ts";
import { anyNames, childPath, compileName, entryPath, matchesPath } from "./path.ts";
import type { NameMatcher, WorkspacePath } from "./path.ts";
import { success } from "../../lib/result.ts";

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
  /** What to pass over, and where to note what was not read. */
  readonly ignored?: Partial<Ignored> | undefined;
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
  for (const { segments } of stack.slice(0, -1)) await ignored?.enter?.(segments, null);
  let isFirst = true;
  for (let directory; (directory = stack.at(-1)) !== undefined;) {
    const entry = directory.entries[directory.given];
    if (entry !== undefined) {
      directory.given++;
      directory.last = entry.name;
      const own = entryPath(directory.path, entry.name);
      const segments = [...directory.segments, entry.name];
      const isSkipped = ignored?.skips?.(segments, entry.kind === "directory") ?? false;
      if (!isSkipped && entry.kind === "directory") {
        if (segments.length < depth) stack.push(open(own, segments));
        else if (depth === maxWalkDepth) ignored?.unread?.push(`${own.text}/`);
      }
      // listings of small directories come at once: without this a long walk would keep everyone else waiting
      // the patterns of a call may take a tenth of a second for one entry; the first comes at once, so that each call gets on
      const pause = isFirst ? undefined : nextTurn();
      isFirst = false;
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
  ignored: WalkOptions["ignored"],
): Promise<Outcome<never> | null> {
  const { last, segments } = directory;
  const isFirst = directory.entries.length === 0;
  const listing = await workspace.list(directory.path, { details, ...last === undefined ? {} : { after: last } });
  directory.entries = listing.ok ? listing.value.entries : [];
  directory.given = 0;
  directory.hasMore = listing.ok && listing.value.hasMore;
  const isWhole = last === undefined && !directory.hasMore;
  if (isFirst) await ignored?.enter?.(segments, isWhole ? directory.entries : null);
  if (listing.ok) return null;
  const { reason } = listing.error;
  if (segments.length === 0 || reason === "io") return listing;
  if (["away", "denied", "bad_name"].includes(reason)) ignored?.unread?.push(`${directory.path.text}/`);
  return null;
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

// * What searches and listings pass over unless they are asked to look: `.git`, `node_modules`, what `.gitignore` names
// (gitignore(5)). The matching of its rules is our own: the libraries make regular expressions of the patterns, and a
// pattern of twenty asterisks, which any agent may write, would stop the server.

/** Says whether the rules ignore a path below their directory, take it in again, or say nothing of it. */
type IgnoreRules = (segments: readonly string[], isDirectory: boolean) => "ignored" | "included" | null;

/** Of a file of rules; what follows is not read. */
const maxIgnoreBytes = 65_536;
/** Lines of one file that are looked at. */
const maxRuleLines = 5_000;
/** Characters of all rules that hold at one place, those of the directories above included: each is tried on each name. */
export const maxRuleCharactersInAll = 20_000;
/** The same for rules with wildcards, which cost more. */
const wildcardCost = 3;
const maxRuleCharacters = 300;

/** Has one pattern a name; a rule without a slash, which is not anchored, is about names at any depth. */
type Rule = NonNullable<ReturnType<typeof parseRule>>;

/** Reads the text of a `.gitignore`. Rules past the bounds are left out; `room` says for how many characters there is any. */
export function parseIgnoreRules(text: string, room = { characters: maxRuleCharactersInAll }): IgnoreRules {
  const rules: Rule[] = [];
  for (const line of text.split(/\r?\n/, maxRuleLines)) {
    const rule = parseRule(line);
    if (rule === null) continue;
    const cost = isWild(line) ? wildcardCost * line.length : line.length;
    if (cost > room.characters) break;
    room.characters -= cost;
    rules.unshift(rule); // the last rule that fits decides
  }
  return (segments, isDirectory) => {
    for (const rule of rules) {
      if (rule.directoriesOnly && !isDirectory) continue;
      if (fits(rule, segments)) return rule.isNegated ? "included" : "ignored";
    }
    return null;
  };
}

function parseRule(line: string) {
  if (line.length > maxRuleCharacters || line.startsWith("#")) return null;
  const text = line.replace(/(?<!\\) +$/, ""); // blanks at the end count only behind a backslash
  const isNegated = text.startsWith("!");
  const pattern = isNegated ? text.slice(1) : text;
  const names = pattern.split("/").filter((name) => name !== "");
  if (names.length === 0) return null;
  if (names.length > 1 && names.at(-1) === "**") names.push("*"); // what is in it, not itself
  return {
    isNegated,
    directoriesOnly: pattern.endsWith("/"),
    parts: names.map(toMatcher),
    isAnchored: pattern.replace(/\/$/, "").includes("/"),
  };
}

function fits({ parts, isAnchored }: Rule, segments: readonly string[]): boolean {
  if (isAnchored) return matchesPath(parts, segments);
  return parts[0]?.(segments.at(-1) ?? "") ?? false;
}

function toMatcher(name: string): NameMatcher {
  if (name === "**") return anyNames;
  return isWild(name) ? compileName(name, { hasClasses: true }) : (other) => other === name;
}

function isWild(pattern: string): boolean {
  return /[*?[\\]/.test(pattern);
}

const alwaysIgnored: ReadonlySet<string> = new Set([".git", "node_modules", ".worktrees"]);
const rulesName = ".gitignore";
/** Names that an answer repeats, those of directories with a slash. */
const maxSkippedNames = 5;
/** Of these, files have so many places, such as .env behind many directories. */
const fileNames = 2;

/** Decides for one walk. Directories are entered in the order of the walk. */
export type Ignored = Awaited<ReturnType<typeof createIgnored>>;

/** Decides for a walk below `start`. If `start` itself is ignored, the caller asked for it, and nothing is skipped. */
export async function createIgnored(workspace: Workspace, start: WorkspacePath) {
  /** Those of the nearest directory first; `left` is what further ones may add. */
  const rules: { readonly depth: number; readonly rules: IgnoreRules; readonly left: number }[] = [];
  const base = start.segments.length;
  let count = 0;
  const [directories, files]: readonly [string[], string[]] = [[], []];
  const isIgnored = (path: readonly string[], isDirectory: boolean): boolean => {
    if (isDirectory && (alwaysIgnored.has(path.at(-1) ?? "") || isAgentsCopies(path))) return true;
    for (const { depth, rules: decide } of rules) { // the nearest rules decide
      if (path.length <= depth) continue; // rules of a directory that the walk has left
      const verdict = decide(path.slice(depth), isDirectory);
      if (verdict !== null) return verdict === "ignored";
    }
    return false;
  };
  const leave = (depth: number): void => {
    while ((rules[0]?.depth ?? -1) >= depth) rules.shift();
  };
  const load = async (directory: readonly string[]): Promise<void> => {
    leave(directory.length);
    const text = await readRules(workspace, { text: directory.join("/"), segments: directory });
    if (text === null) return;
    const room = { characters: rules[0]?.left ?? maxRuleCharactersInAll };
    rules.unshift({ depth: directory.length, rules: parseIgnoreRules(text, room), left: room.characters });
    await turnOfThread();
  };
  let isOff = false;
  for (let depth = 0; depth < base; depth++) {
    await load(start.segments.slice(0, depth));
    isOff ||= isIgnored(start.segments.slice(0, depth + 1), true);
  }
  return {
    /** The directories that the walk did not read: they are away or too deep, or the server lacks permission. */
    unread: new Array<string>(),
    /**
     * To be called, and awaited, when the walk enters a directory; `segments` are its names below the walk's start.
     * Where all its entries are known and there are no rules, none are read.
     */
    enter(segments: readonly string[], entries: readonly DirectoryEntry[] | null): Promise<void> | undefined {
      if (isOff) return undefined;
      if (entries?.some(({ name }) => name === rulesName) ?? true) return load([...start.segments, ...segments]);
      leave(base + segments.length);
      return undefined;
    },
    /** Whether the walk passes over the entry. */
    skips(segments: readonly string[], isDirectory: boolean): boolean {
      if (isOff || (!isDirectory && rules.length === 0)) return false;
      if (!isIgnored([...start.segments, ...segments], isDirectory)) return false;
      count++;
      const names = isDirectory ? directories : files;
      if (names.length < maxSkippedNames) names.push(`${segments.join("/")}${isDirectory ? "/" : ""}`);
      return true;
    },
    /** The number skipped so far, and their first names, directories before files. */
    get skipped(): { readonly count: number; readonly names: readonly string[] } {
      const first = directories.slice(0, maxSkippedNames - Math.min(files.length, fileNames));
      return { count, names: [...first, ...files].slice(0, maxSkippedNames) };
    },
  };
}

async function readRules(workspace: Workspace, directory: WorkspacePath): Promise<string | null> {
  const read = await workspace.read(entryPath(directory, rulesName), { offsetBytes: 0, lengthBytes: maxIgnoreBytes });
  return read.ok ? new TextDecoder().decode(read.value.bytes) : null;
}

/** Copies of the whole tree that coding agents make beside each other. */
function isAgentsCopies(path: readonly string[]): boolean {
  return path.at(-1) === "worktrees" && path.at(-2)?.startsWith(".") === true;
}

// * Glob patterns over workspace paths: `*` and `?` within a name, `**` for any number of names, `{a,b}` for either, and
// `[a-z]` for one character, though a name that is spelled so matches too. All other characters stand for themselves.
// Patterns are bounded as they are compiled; to match takes at most the time of pattern times name.

/** Says whether the names of a path match. */
export type GlobMatcher = (segments: readonly string[]) => boolean;

const ascii = /^[\x20-\x7e]*$/;
const maxAlternatives = 32;
const maxPatternLength = 300;
/** Of all patterns of a call, with their braces written out. */
const maxPatternCharacters = 8_000;

/** Prepares a pattern, as {@link parseGlobs} does. */
export function parseGlob(pattern: string): GlobMatcher | null {
  return parseGlobs([pattern]);
}

/** Matches what one of the patterns does; `null` when one is empty or too long, or they are too large together. */
export function parseGlobs(patterns: readonly string[]): GlobMatcher | null {
  const matchers: GlobMatcher[] = [];
  let characters = 0;
  for (const pattern of patterns) {
    const alternatives = pattern.length > maxPatternLength ? null : expandBraces(pattern.normalize("NFC"));
    if (alternatives === null) return null;
    for (const text of alternatives) {
      characters += text.length;
      const names = text.split("/").filter((name) => name !== "" && name !== ".");
      if (names.length === 0 || characters > maxPatternCharacters) return null;
      matchers.push(matcherOf(names));
    }
  }
  return (segments) => {
    // in either Unicode form: macOS writes é as two characters, models as one
    const names = segments.map((name) => ascii.test(name) ? name : name.normalize("NFC"));
    return matchers.some((matches) => matches(names));
  };
}

/** A pattern of one name is about names, wherever they are. */
function matcherOf(names: readonly string[]): GlobMatcher {
  const parts = names.map((name) => name === "**" ? anyNames : toEither(name));
  const [only] = parts;
  if (only === undefined || only === anyNames || parts.length > 1) return (segments) => matchesPath(parts, segments);
  return (segments) => only(segments.at(-1) ?? "");
}

function toEither(pattern: string): NameMatcher {
  const plain = compileName(pattern);
  if (!pattern.includes("[")) return plain;
  const withClasses = compileName(pattern, { hasClasses: true });
  return (name) => plain(name) || withClasses(name);
}

/** The patterns that braces stand for; `null` when there are too many. A brace without its partner is a character. */
function expandBraces(pattern: string): string[] | null {
  const done: string[] = [];
  const pending = [pattern];
  let next: string | undefined;
  while ((next = pending.pop()) !== undefined) {
    const braces = /\{([^{}]*,[^{}]*)\}/.exec(next);
    if (braces === null) {
      done.push(next);
    } else {
      const [whole, inner = ""] = braces;
      for (const choice of inner.split(",")) {
        pending.push(next.slice(0, braces.index) + choice + next.slice(braces.index + whole.length));
      }
    }
    if (done.length + pending.length > maxAlternatives) return null;
  }
  return done;
}
