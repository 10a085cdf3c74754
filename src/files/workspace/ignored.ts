/** What searches and listings pass over unless they are asked to look: `.git`, `node_modules`, what `.gitignore` names. */
import { anyNames, compileName, matchesPath, type NameMatcher } from "./glob.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { DirectoryEntry, Workspace } from "./port.ts";
import { entryPath, type WorkspacePath } from "./path.ts";

// * The rules of a `.gitignore` (gitignore(5)). The matching is our own: the libraries make regular expressions of the
// patterns, and a pattern of twenty asterisks, which any agent may write, would stop the server.

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

interface Rule {
  readonly isNegated: boolean;
  readonly directoriesOnly: boolean;
  /** One pattern a name; a rule without a slash is about names at any depth. */
  readonly parts: readonly NameMatcher[];
  readonly isAnchored: boolean;
}

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

function parseRule(line: string): Rule | null {
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
    await nextTurn();
  };
  let isOff = false;
  for (let depth = 0; depth < base; depth++) {
    await load(start.segments.slice(0, depth));
    isOff ||= isIgnored(start.segments.slice(0, depth + 1), true);
  }
  return {
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
  return read.ok ? Buffer.from(read.value.bytes).toString("utf8") : null;
}

/** Copies of the whole tree that coding agents make beside each other. */
function isAgentsCopies(path: readonly string[]): boolean {
  return path.at(-1) === "worktrees" && path.at(-2)?.startsWith(".") === true;
}
