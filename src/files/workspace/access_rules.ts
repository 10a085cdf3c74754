/**
 * Names that a workspace keeps from its callers, and names that may come into being, the same for every backend: denied
 * names cannot be reached, protected ones can be read but not created, changed, moved or deleted. Names are compared as
 * the least strict file systems do (path.ts).
 */
import { failure, success } from "../../lib/result.ts";
import { compileName, foldedForms, foldName, type NameMatcher, newNameProblem } from "./path.ts";
import { denied, type Outcome } from "./port.ts";

/** Which names are kept from callers. Each pattern is a path of names; `*` and `?` stand for any characters of a name. */
export interface AccessPatterns {
  /** Neither reachable nor listed. Default: none. */
  readonly denied?: readonly string[];
  /** Readable only. Default: `.git`, whose hooks and configuration run programs. */
  readonly protected?: readonly string[];
  /** The name of the workspace's root in the tree that the patterns are of, where it is a directory of a larger one. */
  readonly below?: string;
}

/** The patterns, ready to ask. Each takes names below the root; a pattern may match at any depth, with all below it. */
export interface AccessRules {
  isDenied(segments: readonly string[]): boolean;
  isProtected(segments: readonly string[]): boolean;
  /** Where the root is in the tree that the patterns are of: no name, or one. */
  readonly root: readonly string[];
  /** Whether anything is ever denied. */
  readonly hasDenied: boolean;
  /** Whether moving a directory can change how entries below it are judged. */
  readonly isPlaceDependent: boolean;
}

const defaultProtected = [".git"];

/** Prepares patterns such as `.git/hooks` or `*.pem`; a pattern with a `/` at its start matches in the root only. */
export function createAccessRules(patterns: AccessPatterns = {}): AccessRules {
  const denied = (patterns.denied ?? []).map(toPattern);
  const protectedNames = (patterns.protected ?? defaultProtected).map(toPattern);
  return {
    isDenied: toPredicate(denied, patterns.below),
    isProtected: toPredicate(protectedNames, patterns.below),
    root: patterns.below ? [patterns.below] : [],
    hasDenied: denied.length > 0,
    isPlaceDependent: [...denied, ...protectedNames].some(({ names, isAnchored }) => isAnchored || names.length > 1),
  };
}

interface Pattern {
  readonly names: readonly NameMatcher[];
  readonly isAnchored: boolean;
}

function toPredicate(patterns: readonly Pattern[], below?: string): (segments: readonly string[]) => boolean {
  const root = below ? [foldedForms(below)] : [];
  const prepared = patterns.filter(({ names }) => names.length > 0);
  if (prepared.length === 0) return () => false;
  return (segments) => {
    const folded = root.concat(segments.map(foldedForms));
    return prepared.some(({ names, isAnchored }) => {
      const lastStart = folded.length - names.length;
      for (let start = 0; start <= (isAnchored ? Math.min(0, lastStart) : lastStart); start++) {
        if (names.every((matches, index) => folded[start + index]?.some(matches))) return true;
      }
      return false;
    });
  };
}

function toPattern(text: string): Pattern {
  const names = text.split("/").filter((name) => name !== "").map((name) => compileName(foldName(name)));
  return { names, isAnchored: text.startsWith("/") };
}

/**
 * Refuses to make the entry with these names, of which the first `existing` are there already. `areReturning`: they
 * were there before, so only the rules of access are asked.
 */
export function checkNewNames(
  rules: AccessRules,
  segments: readonly string[],
  existing: number,
  areReturning = false,
): Outcome<null> {
  for (let count = existing + 1; count <= segments.length; count++) {
    if (rules.isDenied(segments.slice(0, count))) return denied("denied_name");
    const rule = areReturning ? null : newNameProblem(segments[count - 1] ?? "");
    if (rule !== null) return failure({ reason: "bad_name", rule });
  }
  return rules.isProtected(segments) ? denied("protected_name") : success(null);
}

/** How long the entries of a directory are judged before it is deleted; on a disk once more after. */
export const maxJudgeMilliseconds = 20_000;

/** Refuses an entry of a tree that is to be deleted or to come back. */
export function checkBelow(rules: AccessRules, segments: readonly string[]): Outcome<null> {
  if (rules.isDenied(segments)) return denied("denied_name");
  return rules.isProtected(segments) ? denied("protected_name") : success(null);
}

/** Refuses a move that would put entries of a directory under other rules: it could undo or forge protection. */
export async function checkMoved(
  rules: AccessRules,
  entries: AsyncIterable<{ readonly segments: readonly string[] }>,
  { from, to, maxEntries }: {
    readonly from: readonly string[];
    readonly to: readonly string[];
    readonly maxEntries: number;
  },
): Promise<Outcome<null>> {
  if (!rules.isPlaceDependent) return success(null);
  let count = 0;
  for await (const { segments } of entries) {
    if (++count > maxEntries) return failure({ reason: "too_many_entries", limit: maxEntries });
    const moved = [...to, ...segments.slice(from.length)];
    if (rules.isDenied(segments) !== rules.isDenied(moved)) return denied("denied_name");
    if (rules.isProtected(segments) !== rules.isProtected(moved)) return denied("protected_name");
  }
  return success(null);
}
