/**
 * Glob patterns over workspace paths: `*` and `?` within a name, `**` for any number of names, `{a,b}` for either. All
 * other characters stand for themselves. Matching takes time proportional to pattern times path, whatever they hold.
 */

/** Says whether the names of a path match. */
export type GlobMatcher = (segments: readonly string[]) => boolean;

const maxAlternatives = 32;
const maxPatternLength = 300;

/** Prepares a pattern; `null` when it is empty, too long or has too many alternatives. */
export function parseGlob(pattern: string): GlobMatcher | null {
  if (pattern.length > maxPatternLength) return null;
  const alternatives = expandBraces(pattern);
  if (alternatives === null) return null;
  const matchers = alternatives.map((text) => text.split("/").filter((name) => name !== "" && name !== "."));
  if (matchers.some((names) => names.length === 0)) return null;
  // a pattern of one name is about names, wherever they are
  return (segments) =>
    matchers.some((names) =>
      names.length === 1 && names[0] !== "**"
        ? matchesName(names[0] ?? "", segments.at(-1) ?? "")
        : matchesPath(names, segments)
    );
}

function matchesPath(names: readonly string[], segments: readonly string[]): boolean {
  return matchSequence(names.length, segments.length, (index) => names[index] === "**", (index, at) => {
    return matchesName(names[index] ?? "", segments[at] ?? "");
  });
}

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
