/**
 * Glob patterns over workspace paths: `*` and `?` within a name, `**` for any number of names, `{a,b}` for either, and
 * `[a-z]` for one character, though a name that is spelled so matches too. All other characters stand for themselves.
 * Matching takes time proportional to pattern times path, whatever they hold.
 */
import { boundedMap } from "../lib/bounded_map.ts";

/** Says whether the names of a path match. */
export type GlobMatcher = (segments: readonly string[]) => boolean;

const ascii = /^[\x20-\x7e]*$/;
const maxAlternatives = 32;
const maxPatternLength = 300;

/** Prepares a pattern; `null` when it is empty, too long or has too many alternatives. */
export function parseGlob(pattern: string): GlobMatcher | null {
  if (pattern.length > maxPatternLength) return null;
  const alternatives = expandBraces(pattern.normalize("NFC"));
  if (alternatives === null) return null;
  const matchers = alternatives.map((text) => text.split("/").filter((name) => name !== "" && name !== "."));
  if (matchers.some((names) => names.length === 0)) return null;
  // a pattern of one name is about names, wherever they are
  return (segments) =>
    matchers.some((names) =>
      names.length === 1 && names[0] !== "**"
        ? matchesEither(names[0] ?? "", segments.at(-1) ?? "")
        : matchesPath(names, segments, matchesEither)
    );
}

/** In either Unicode form: macOS writes é as two characters, models as one. */
function matchesEither(pattern: string, stored: string): boolean {
  const name = ascii.test(stored) ? stored : stored.normalize("NFC");
  return matchesName(pattern, name) || (pattern.includes("[") && matchesNameWithClasses(pattern, name));
}

/** Whether the names match a pattern of names, in which `**` stands for any number of them. */
export function matchesPath(
  names: readonly string[],
  segments: readonly string[],
  matches: (pattern: string, name: string) => boolean,
): boolean {
  return matchSequence(names.length, segments.length, (index) => names[index] === "**", (index, at) => {
    return matches(names[index] ?? "", segments[at] ?? "");
  });
}

/** Like {@link matchesName}; also `[abc]`, `[a-z]`, `[!a]` and a backslash before what stands for itself. */
export function matchesNameWithClasses(pattern: string, name: string): boolean {
  const steps = stepsOf(pattern);
  return matchSequence(steps.length, name.length, (index) => steps[index] === wildcardStep, (index, at) => {
    return steps[index]?.(name[at] ?? "") ?? false;
  });
}

/** Whether a character may stand here. */
type Step = (character: string) => boolean;

const wildcardStep: Step = () => true;
const maxKeptPatterns = 500;
const keptSteps = boundedMap<string, readonly Step[]>(maxKeptPatterns);

function stepsOf(pattern: string): readonly Step[] {
  const kept = keptSteps.get(pattern);
  if (kept !== undefined) return kept;
  const steps: Step[] = [];
  // what is no class, such as `[a`, is a character
  for (const [part] of pattern.matchAll(/\\[^]|\[[!^]?\]?[^\]]*\]|[^]/g)) {
    if (part === "*") steps.push(wildcardStep);
    else if (part === "?") steps.push(() => true);
    else if (part.startsWith("[") && part.length > 2) steps.push(classStep(part.slice(1, -1)));
    else steps.push((character) => character === part.at(-1));
  }
  keptSteps.set(pattern, steps);
  return steps;
}

function classStep(text: string): Step {
  const isNegated = text.startsWith("!") || text.startsWith("^");
  const ranges = Array.from((isNegated ? text.slice(1) : text).matchAll(/([^])-([^])|([^])/g), (
    [, from, to, single],
  ) => [from ?? single ?? "", to ?? single ?? ""] as const);
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** Whether the name matches a pattern of `*` and `?`. */
export function matchesName(pattern: string, name: string): boolean {
  return matchSequence(pattern.length, name.length, (index) => pattern[index] === "*", (index, at) => {
    return pattern[index] === "?" || pattern[index] === name[at];
  });
}

/**
 * Matches a pattern of single steps and wildcards against a sequence. Only the last wildcard is ever tried again: an
 * earlier one could not reach further than the later does, which bounds the work by pattern times sequence.
 */
function matchSequence(
  patternLength: number,
  length: number,
  isWildcard: (index: number) => boolean,
  matchesStep: (index: number, at: number) => boolean,
): boolean {
  let index = 0;
  let at = 0;
  let wildcard = -1;
  let wildcardEnd = 0;
  while (at < length) {
    if (index < patternLength && isWildcard(index)) {
      wildcard = index++;
      wildcardEnd = at;
    } else if (index < patternLength && matchesStep(index, at)) {
      index++;
      at++;
    } else if (wildcard !== -1) {
      index = wildcard + 1;
      at = ++wildcardEnd;
    } else {
      return false;
    }
  }
  while (index < patternLength && isWildcard(index)) index++;
  return index === patternLength;
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
