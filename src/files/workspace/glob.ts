/**
 * Glob patterns over workspace paths: `*` and `?` within a name, `**` for any number of names, `{a,b}` for either, and
 * `[a-z]` for one character, though a name that is spelled so matches too. All other characters stand for themselves.
 * Patterns are bounded as they are compiled; to match takes at most the time of pattern times name.
 */
/** Says whether the names of a path match. */
export type GlobMatcher = (segments: readonly string[]) => boolean;

/** Says whether one name matches. */
export type NameMatcher = (name: string) => boolean;

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

/** In a pattern of names: any number of them. */
export const anyNames: NameMatcher = () => true;

/**
 * Whether the names match a pattern of names, or characters one of characters. Only the last {@link anyNames} is ever
 * tried again: an earlier one could not reach further than the later does, which bounds the work by pattern times path.
 */
export function matchesPath(parts: readonly NameMatcher[], segments: readonly string[]): boolean {
  let index = 0;
  let at = 0;
  let wildcard = -1;
  let wildcardEnd = 0;
  while (at < segments.length) {
    const part = parts[index];
    if (part === anyNames) {
      wildcard = index++;
      wildcardEnd = at;
    } else if (part?.(segments[at] ?? "")) {
      index++;
      at++;
    } else if (wildcard !== -1) {
      index = wildcard + 1;
      at = ++wildcardEnd;
    } else {
      return false;
    }
  }
  while (parts[index] === anyNames) index++;
  return index === parts.length;
}

/** Prepares a pattern of `*` and `?`; `hasClasses`: also `[abc]`, `[a-z]`, `[!a]` and a backslash before what stands for itself. */
export function compileName(
  pattern: string,
  { hasClasses = false }: { readonly hasClasses?: boolean } = {},
): NameMatcher {
  if (!(hasClasses ? /[?[\\]/ : /\?/).test(pattern)) return matchPieces(pattern.split("*"));
  // what is no class, such as `[a`, is a character
  const parts = pattern.match(hasClasses ? /\\[^]|\[[!^]?\]?[^\]]*\]|[^]/g : /[^]/g) ?? [];
  const steps = parts.map(stepOf);
  return (name) => matchesPath(steps, name.split(""));
}

/** What a part of a pattern says of one character. */
function stepOf(part: string): NameMatcher {
  if (part === "*") return anyNames;
  if (part === "?") return () => true;
  if (part.length > 2) return classOf(part.slice(1, -1));
  const meant = part.at(-1);
  return (character) => character === meant;
}

/** Pieces with anything between them. */
function matchPieces(pieces: readonly string[]): NameMatcher {
  const [first = "", ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
    const end = name.length - last.length;
    let from = first.length;
    for (const piece of others) {
      const at = name.indexOf(piece, from);
      if (at === -1) return false;
      from = at + piece.length;
    }
    return from <= end;
  };
}

function classOf(text: string): NameMatcher {
  const isNegated = text.startsWith("!") || text.startsWith("^");
  const ranges = Array.from((isNegated ? text.slice(1) : text).matchAll(/([^])-([^])|([^])/g), (
    [, from, to, single],
  ) => [from ?? single ?? "", to ?? single ?? ""] as const);
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
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
