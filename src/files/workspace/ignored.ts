/** What searches and listings pass over unless they are asked to look: `.git`, `node_modules`, what `.gitignore` names. */
import { nextTurn } from "../../lib/turns.ts";
import { type IgnoreRules, maxIgnoreBytes, maxRuleCharactersInAll, parseIgnoreRules } from "./ignore_rules.ts";
import type { DirectoryEntry } from "./listing.ts";
import { entryPath, type WorkspacePath } from "./path.ts";
import type { Workspace } from "./port.ts";

const alwaysIgnored: ReadonlySet<string> = new Set([".git", "node_modules"]);
const rulesName = ".gitignore";
/** Names that an answer repeats, those of directories with a slash. */
const maxSkippedNames = 5;

/** What was passed over so far. */
interface Skipped {
  readonly count: number;
  /** The first of them, directories before files. */
  readonly names: readonly string[];
}

/** Decides for one walk. Directories are entered in the order of the walk. */
export interface Ignored {
  /**
   * To be called, and awaited, when the walk enters a directory; `segments` are its names below the walk's start. Where
   * all its entries are known and there are no rules, none are read.
   */
  enter(segments: readonly string[], entries: readonly DirectoryEntry[] | null): Promise<void> | undefined;
  /** Whether the walk passes over the entry. */
  skips(segments: readonly string[], isDirectory: boolean): boolean;
  readonly skipped: Skipped;
}

/** Makes the decisions for a walk below `start`. A start that is itself ignored was asked for: nothing is then passed over. */
export async function createIgnored(workspace: Workspace, start: WorkspacePath): Promise<Ignored> {
  /** Those of the nearest directory first; `left` is what further ones may add. */
  const rules: { readonly depth: number; readonly rules: IgnoreRules; readonly left: number }[] = [];
  const base = start.segments.length;
  let count = 0;
  const [directories, files]: readonly [string[], string[]] = [[], []];
  const isIgnored = (path: readonly string[], isDirectory: boolean): boolean => {
    if (isDirectory && alwaysIgnored.has(path.at(-1) ?? "")) return true;
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
    enter(segments, entries) {
      if (isOff) return undefined;
      if (entries?.some(({ name }) => name === rulesName) ?? true) return load([...start.segments, ...segments]);
      leave(base + segments.length);
      return undefined;
    },
    skips(segments, isDirectory) {
      if (isOff || (!isDirectory && rules.length === 0)) return false;
      if (!isIgnored([...start.segments, ...segments], isDirectory)) return false;
      count++;
      const names = isDirectory ? directories : files;
      if (names.length < maxSkippedNames) names.push(`${segments.join("/")}${isDirectory ? "/" : ""}`);
      return true;
    },
    get skipped() {
      return { count, names: [...directories, ...files].slice(0, maxSkippedNames) };
    },
  };
}

async function readRules(workspace: Workspace, directory: WorkspacePath): Promise<string | null> {
  const read = await workspace.read(entryPath(directory, rulesName), { offsetBytes: 0, lengthBytes: maxIgnoreBytes });
  return read.ok ? Buffer.from(read.value.bytes).toString("utf8") : null;
}
