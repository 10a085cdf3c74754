/**
 * Names as the least strict file systems compare them. Two spellings that any of them takes for one name fold to one
 * text: NTFS, APFS, HFS+, FAT and ext4 with casefold all distinguish at least what differs here.
 */
import { compileName, type NameMatcher } from "./glob.ts";

const plainAscii = /^[\x20-\x7e]*$/;
// HFS+ passes over these when it compares names (CVE-2014-9390)
const ignorable = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Win32 drops dots and blanks at the end; NTFS takes what follows a colon for a stream of the file before it. */
const suffix = /:|[\s.]$/u;

/** The name without case, Unicode form and invisible characters. */
export function foldName(name: string): string {
  if (plainAscii.test(name)) return name.toLowerCase();
  // there and back: U+017F is a small letter that has only "S" in upper case, U+1E9E a capital with only a small one
  const cased = name.replace(ignorable, "").normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return cased.normalize("NFKC").replace(ignorable, "");
}

/** The folded name, and beside it the one that Windows opens where it drops a part. */
export function foldedForms(name: string): readonly string[] {
  const folded = foldName(name);
  if (!suffix.test(folded)) return [folded];
  const opened = folded.replace(/(?<=.):.*$/su, "").replace(/[\s.]+$/u, "");
  return opened === "" || opened === folded ? [folded] : [folded, opened];
}

// * Names that a workspace keeps from its callers: denied ones cannot be reached, protected ones can be read but not
// created, changed, moved or deleted. Names are compared as the least strict file systems do (see name_folding.ts).

/** Which names are kept from callers. Each pattern is a path of names; `*` and `?` stand for any characters of a name. */
export interface AccessPatterns {
  /** Neither reachable nor listed. Default: none. */
  readonly denied?: readonly string[];
  /** Readable only. Default: `.git`, whose hooks and configuration run programs. */
  readonly protected?: readonly string[];
}

/** The patterns, ready to ask. Each takes names below the root; a pattern may match at any depth, with all below it. */
export interface AccessRules {
  isDenied(segments: readonly string[]): boolean;
  isProtected(segments: readonly string[]): boolean;
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
    isDenied: toPredicate(denied),
    isProtected: toPredicate(protectedNames),
    hasDenied: denied.length > 0,
    isPlaceDependent: [...denied, ...protectedNames].some(({ names, isAnchored }) => isAnchored || names.length > 1),
  };
}

interface Pattern {
  readonly names: readonly NameMatcher[];
  readonly isAnchored: boolean;
}

function toPredicate(patterns: readonly Pattern[]): (segments: readonly string[]) => boolean {
  const prepared = patterns.filter(({ names }) => names.length > 0);
  if (prepared.length === 0) return () => false;
  return (segments) => {
    const folded = segments.map(foldedForms);
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
