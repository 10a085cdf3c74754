/**
 * The rules of a `.gitignore` (gitignore(5)). The matching is our own: the libraries make regular expressions of the
 * patterns, and a pattern of twenty asterisks, which any agent may write, would stop the server.
 */
import { matchesNameWithClasses, matchesPath } from "./glob.ts";

/** Says whether the rules ignore a path below their directory, take it in again, or say nothing of it. */
export type IgnoreRules = (segments: readonly string[], isDirectory: boolean) => "ignored" | "included" | null;

/** Of a file of rules; what follows is not read. */
export const maxIgnoreBytes = 65_536;
/** Characters of all patterns that hold wildcards, since each is tried on each name. */
const maxWildcardCharacters = 8_000;
const maxRuleCharacters = 300;

interface Rule {
  readonly isNegated: boolean;
  readonly directoriesOnly: boolean;
  /** One pattern a name; a rule without a slash is about names at any depth. */
  readonly names: readonly string[];
  readonly isAnchored: boolean;
}

/** Reads the text of a `.gitignore`. Rules past the bounds are left out. */
export function parseIgnoreRules(text: string): IgnoreRules {
  const rules: Rule[] = [];
  let wildcardCharacters = 0;
  for (const line of text.split(/\r?\n/)) {
    const rule = parseRule(line);
    if (rule === null) continue;
    if (rule.names.some(isWild)) wildcardCharacters += line.length;
    if (wildcardCharacters > maxWildcardCharacters) break;
    rules.push(rule);
  }
  return (segments, isDirectory) => {
    for (const rule of rules.toReversed()) { // the last rule that fits decides
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
  return {
    isNegated,
    directoriesOnly: pattern.endsWith("/"),
    names: names.length > 1 && names.at(-1) === "**" ? [...names, "*"] : names, // what is in it, not itself
    isAnchored: pattern.replace(/\/$/, "").includes("/"),
  };
}

function fits({ names, isAnchored }: Rule, segments: readonly string[]): boolean {
  if (isAnchored) return matchesPath(names, segments, matches);
  return matches(names[0] ?? "", segments.at(-1) ?? "");
}

function matches(pattern: string, name: string): boolean {
  return isWild(pattern) ? matchesNameWithClasses(pattern, name) : pattern === name;
}

function isWild(pattern: string): boolean {
  return /[*?[\\]/.test(pattern);
}
