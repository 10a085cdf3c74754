/**
 * The rules of a `.gitignore` (gitignore(5)). The matching is our own: the libraries make regular expressions of the
 * patterns, and a pattern of twenty asterisks, which any agent may write, would stop the server.
 */
import { anyNames, compileName, matchesPath, type NameMatcher } from "./glob.ts";

/** Says whether the rules ignore a path below their directory, take it in again, or say nothing of it. */
export type IgnoreRules = (segments: readonly string[], isDirectory: boolean) => "ignored" | "included" | null;

/** Of a file of rules; what follows is not read. */
export const maxIgnoreBytes = 65_536;
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
